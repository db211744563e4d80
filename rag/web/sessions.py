"""Who has signed in to the page, as a signed cookie: nothing is kept on the server, so that processes share sessions.

The key lies in `RAG_HOME`: all processes on one library take each other's sessions, and a restart ends none. A session
ends after two weeks, with its user, and with the password that it was opened with.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from pathlib import Path

from rag.errors import StoreError
from rag.files import create_once
from rag.users import User, Users

LIFETIME_S = 14 * 24 * 3600
_KEY_BYTES = 32


def session_key(home: Path) -> bytes:
    """The key of a library, made when there is none yet. Raises `StoreError` when it can't be."""
    path = home / "session_key"
    key = create_once(path, secrets.token_bytes(_KEY_BYTES))
    if len(key) != _KEY_BYTES:
        raise StoreError(f"{path}: {len(key)} bytes, expected {_KEY_BYTES}; delete it, which signs everybody out")
    return key


class Sessions:
    """Opens sessions for the users of a file, and tells whose a cookie is."""

    def __init__(self, key: bytes, users: Users) -> None:
        self._key = key
        self._users = users
        # Browsers send cookies to every port of a host: another library's must not be taken for ours, nor overwritten.
        self.cookie = f"talkcite_{hashlib.sha256(key).hexdigest()[:8]}"

    def open(self, user: User) -> str:
        """The cookie of a new session."""
        said = json.dumps([user.name, user.stamp, int(time.time())]).encode()
        return f"{_text(said)}.{_text(self._seal(said))}"

    def user(self, cookie: str) -> User | None:
        """Whose session it is, None when it has ended or never was one. Raises `StartError` like `Users`."""
        try:
            said, seal = (base64.urlsafe_b64decode(part + b"==") for part in cookie.encode("ascii").split(b"."))
        except ValueError:
            return None
        if not hmac.compare_digest(seal, self._seal(said)):
            return None
        name, stamp, opened = json.loads(said)
        user = self._users.all().get(name)
        lives = user is not None and user.password and hmac.compare_digest(user.stamp, stamp)
        return user if lives and 0 <= time.time() - opened < LIFETIME_S else None

    def _seal(self, said: bytes) -> bytes:
        return hmac.digest(self._key, b"talkcite session\n" + said, "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
