"""How often one client may do something: buckets that fill slowly, and are emptied by asking."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address

from fastapi import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

_asked_by: ContextVar[Scope | None] = ContextVar("asked_by", default=None)


class Buckets:
    """A bucket of `size` tokens for each key, filled by `per_second`. Safe to use from many threads.

    At most `most` keys are remembered; the one that was used longest ago is forgotten first.
    """

    def __init__(self, size: int, per_second: float, most: int = 10_000) -> None:
        self._size = size
        self._per_second = per_second
        self._most = most
        self._lock = threading.Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when there were so many

    def take(self, key: str) -> float:
        """Take a token: 0 when there was one, else the seconds until there will be."""
        with self._lock:
            level = self._level(key)
            taken = level >= 1
            self._keep(key, level - taken)
            return 0.0 if taken else (1 - level) / self._per_second

    def give_back(self, key: str) -> None:
        """Put a token back that should not have counted."""
        with self._lock:
            self._keep(key, self._level(key) + 1)

    def _level(self, key: str) -> float:
        level, then = self._levels.get(key, (float(self._size), 0.0))
        return min(float(self._size), level + (time.monotonic() - then) * self._per_second)

    def _keep(self, key: str, level: float) -> None:
        self._levels[key] = (min(level, float(self._size)), time.monotonic())
        self._levels.move_to_end(key)
        while len(self._levels) > self._most:
            self._levels.popitem(last=False)


class Asking:
    """The limit on questions, the same for page, API and whatever else asks: one client, one bucket.

    `per_minute` questions may come at once; then as many a minute. Where it `spares_this_machine`, questions that come
    from there are not counted: without a proxy they are its user's own.
    """

    def __init__(self, per_minute: int, *, spares_this_machine: bool) -> None:
        self._buckets = Buckets(per_minute, per_minute / 60)
        self._spares_this_machine = spares_this_machine

    def wait_s(self, scope: Scope | None = None) -> int:
        """Count a question of the client behind `scope`: 0 when it may be asked, else the seconds to wait.

        Without `scope` it is that of the running request, see `AskedBy`; what no request asks is not counted.
        """
        scope = scope or _asked_by.get()
        if scope is None:
            return 0
        if self._spares_this_machine and "user" not in scope and _is_this_machine(address_of(scope)):
            return 0
        return math.ceil(self._buckets.take(client_of(scope)))

    def check(self) -> None:
        """Count a question of the running request. Raises 429 with `Retry-After` when there were too many."""
        if wait_s := self.wait_s():
            raise HTTPException(429, too_many(wait_s), {"Retry-After": str(wait_s)})


class AskedBy:
    """ASGI middleware: lets `Asking` know whose request is running, wherever a question is asked in it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""
        token = _asked_by.set(scope if scope["type"] == "http" else None)
        try:
            await self._app(scope, receive, send)
        finally:
            _asked_by.reset(token)


def too_many(wait_s: int) -> str:
    """What somebody is told who has to wait."""
    return f"That were many questions in a short time; please ask again in {wait_s} s."


def client_of(scope: Scope) -> str:
    """Who counts as one client: a user, else an address."""
    user = scope.get("user")
    return f"user {user.name}" if user is not None else f"address {address_of(scope)}"


def address_of(scope: Scope) -> str:
    """The address that a request comes from; of IPv6 the network of 64 bits, all of which one client has."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        if not address.is_loopback:
            return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)


def _is_this_machine(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
