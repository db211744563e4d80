"""Which parts of the address space there are, and how one gets in: the one table that the gate and the guard read."""

from __future__ import annotations

from enum import Enum, auto

from starlette.types import Scope


class Access(Enum):
    """What opens a path when there are users (`RAG_AUTH`)."""

    OPEN = auto()
    SESSION = auto()  # of the page: who has signed in
    TOKEN = auto()  # of a program
    EITHER = auto()


SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"

# Whatever is not named here wants a session, so that a path that is forgotten is closed.
_EXACT = {
    "/healthz": Access.OPEN,
    "/readyz": Access.OPEN,
    SIGN_IN: Access.OPEN,
    SIGN_OUT: Access.OPEN,
    "/desk/static/sign-in.css": Access.OPEN,
    "/desk/static/icon.svg": Access.OPEN,
}
_PROGRAMS = {
    "/api": Access.EITHER,  # the page uploads through it
    "/v1": Access.TOKEN,
    "/mcp": Access.TOKEN,
    "/metrics": Access.TOKEN,
}


def route_path(scope: Scope) -> str:
    """The path that routes see: without the part that the app is served below."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def access_to(path: str) -> Access:
    """What opens a route's path."""
    return _EXACT.get(path) or next((way for part, way in _PROGRAMS.items() if _is_below(path, part)), Access.SESSION)


def is_for_programs(path: str) -> bool:
    """True where answers, refusals included, are read by programs."""
    return any(_is_below(path, part) for part in _PROGRAMS)


def _is_below(path: str, part: str) -> bool:
    return path == part or path.startswith(f"{part}/")
