"""The users file (`RAG_AUTH`): who may sign in, and whose programs may ask. Read here, changed by `rag.user_command`.

A line is a name, what it has, and the proof of it: `ada password scrypt$…`, `ada token 9f86…`, `ada admin`. Passwords
are hashed with scrypt and a salt each. Tokens are 256 random bits, which nobody guesses, so one SHA-256 hides them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rag.errors import StartError
from rag.files import write_whole

MIN_PASSWORD = 8  # characters
MAX_PASSWORD = 1_000  # bytes

_NAME = re.compile(r"[\w.@+-]{1,64}")
_TOKEN_HASH = re.compile(r"[0-9a-f]{64}")
_HASH = re.compile(r"scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([\w+/=]{1,200})\$([\w+/=]{1,200})", re.ASCII)
# One guess takes 16 MB and, on one core of today, about a quarter of a second: OWASP's advice for this much memory.
_COST, _BLOCK, _PARALLEL = 2**14, 8, 5
_MAX_MEMORY = 2**28
_HEADER = "# Who may use talkcite. 'python -m rag user' changes it; no password or token can be read from it.\n"


@dataclass(frozen=True, slots=True)
class User:
    """One user: `password` and `token` are hashes, "" where there is none."""

    name: str
    password: str = ""
    token: str = ""
    is_admin: bool = False

    @property
    def stamp(self) -> str:
        """Changes with the password, so that what was given out under the old one ends."""
        return hashlib.sha256(self.password.encode()).hexdigest()[:16]


def plain_name(name: str) -> str:
    """The name as the file has it, "" when it can't be one; letters that look the same count as the same."""
    composed = unicodedata.normalize("NFC", name)
    return composed if _NAME.fullmatch(composed) else ""


def hash_password(password: str, salt: bytes = b"", cost: int = _COST) -> str:
    """What the file keeps of a password; a fresh `salt` is made when none is given."""
    salt = salt or secrets.token_bytes(16)
    return _hash(cost, salt, _derived(password, salt, cost, _BLOCK, _PARALLEL))


def is_password(password: str, hashed: str) -> bool:
    """True when `hashed` was made of `password`. Takes as long for a wrong one."""
    match = _HASH.fullmatch(hashed)
    assert match is not None, "only well-formed hashes are read"
    cost, block, parallel = (int(number) for number in match.groups()[:3])
    derived = _derived(password, base64.b64decode(match[4]), cost, block, parallel)
    return hmac.compare_digest(derived, base64.b64decode(match[5]))


def new_token() -> str:
    """A bearer token; its beginning tells people, and programs that look for leaked secrets, what it is."""
    return f"talkcite_{secrets.token_urlsafe(32)}"


def hash_token(token: str) -> str:
    """What the file keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_users(path: Path) -> dict[str, User]:
    """All users by name. Raises `StartError` naming file and line, never what stands there."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise StartError(
            f"RAG_AUTH {path}: can't be read ({reason}); correct the path, or make it with 'python -m rag user NAME'"
        ) from None
    users: dict[str, User] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split()
        user = users.get(words[0], User(words[0]))
        match words:
            case [_, "password", value] if _is_hash(value):
                user = replace(user, password=value)
            case [_, "token", value] if _TOKEN_HASH.fullmatch(value):
                user = replace(user, token=value)
            case [_, "admin"]:
                user = replace(user, is_admin=True)
            case _:
                raise _wrong_line(path, number)
        if plain_name(user.name) != user.name:
            raise _wrong_line(path, number)
        users[user.name] = user
    return users


def write_users(path: Path, users: Mapping[str, User]) -> None:
    """Create or replace the file, for its owner's eyes only. Raises `StoreError` when it can't be written."""
    lines = [_HEADER]
    for user in sorted(users.values(), key=lambda user: user.name):
        lines += [f"{user.name} password {user.password}\n"] if user.password else []
        lines += [f"{user.name} token {user.token}\n"] if user.token else []
        lines += [f"{user.name} admin\n"] if user.is_admin else []
    write_whole(path, lambda file: file.write("".join(lines).encode()))


class Users:
    """The users of a file, read again whenever it changes. Safe to use from many threads.

    While the file can't be read, or holds a wrong line, every question raises `StartError`: whoever was removed from it
    must not stay in because of a slip in another line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] = ()
        self._users: dict[str, User] = {}
        self._nobody = _hash(_COST, secrets.token_bytes(16), secrets.token_bytes(32))

    def all(self) -> Mapping[str, User]:
        """The users by name, as the file has them now."""
        with self._lock:
            try:
                found = self._path.stat()
                now: tuple[int, ...] = (found.st_mtime_ns, found.st_size, found.st_ino)
            except OSError:
                now = ()
            if not now or now != self._seen:
                self._users = read_users(self._path)
                self._seen = now
            return self._users

    def with_password(self, name: str, password: str) -> User | None:
        """The user who signs in so, None for an unknown name and a wrong password alike, after about the same time."""
        user = self.all().get(plain_name(name))
        known = user.password if user is not None else ""
        fits = len(password.encode("utf-8", "replace")) <= MAX_PASSWORD
        matches = is_password(password if fits else "", known or self._nobody)
        return user if matches and fits and known else None

    def with_token(self, token: str) -> User | None:
        """The user whose token it is, None when it is nobody's."""
        hashed = hash_token(token)
        found = None
        for user in self.all().values():  # all of them, so that the time tells nothing
            if hmac.compare_digest(user.token.encode(), hashed.encode()):
                found = user
        return found


def _wrong_line(path: Path, number: int) -> StartError:
    return StartError(
        f"RAG_AUTH {path}:{number}: not a line that 'python -m rag user' writes; delete the line and add its user again"
    )


def _derived(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    composed = unicodedata.normalize("NFC", password).encode("utf-8", "replace")
    return hashlib.scrypt(composed, salt=salt, n=cost, r=block, p=parallel, maxmem=_MAX_MEMORY, dklen=32)


def _is_hash(text: str) -> bool:
    """True for a hash that can be compared with: well-formed, and no dearer than this machine should pay."""
    match = _HASH.fullmatch(text)
    if match is None:
        return False
    cost, block, parallel = (int(number) for number in match.groups()[:3])
    power_of_two = cost >= 2 and cost & (cost - 1) == 0
    if not power_of_two or not block >= 1 or not 1 <= parallel <= 32 or 128 * cost * block > _MAX_MEMORY // 2:
        return False
    try:
        return all(base64.b64decode(part, validate=True) for part in match.groups()[3:])
    except ValueError:
        return False


def _hash(cost: int, salt: bytes, derived: bytes) -> str:
    return f"scrypt${cost}${_BLOCK}${_PARALLEL}${_text(salt)}${_text(derived)}"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
