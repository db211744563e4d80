"""What `python -m rag user` does: list users, add one, make a token, remove one."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from getpass import getpass
from pathlib import Path
from typing import Any

from rag.errors import UsageError
from rag.users import (
    MAX_PASSWORD,
    MIN_PASSWORD,
    User,
    hash_password,
    hash_token,
    new_token,
    plain_name,
    read_users,
    write_users,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="whose password to set; without: list all")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--token", action="store_true", help="make NAME a token for programs instead, shown once")
    action.add_argument("--admin", action="store_true", help="let NAME choose the language model for all")
    action.add_argument("--remove", action="store_true", help="remove NAME, who is then signed out everywhere")


def change(args: argparse.Namespace, path: Path | None) -> tuple[dict[str, Any], str]:
    """Do what `args` say to the users file at `path`; returns it as a document, and for people.

    Raises `UsageError` for a wrong call, `StartError` for a file that can't be read.
    """
    if path is None:
        raise UsageError("RAG_AUTH is not set, expected the path of a users file; set it, here and for the page")
    users = read_users(path) if path.exists() else {}
    if not args.name:
        if args.token or args.admin or args.remove:
            raise UsageError("NAME: found nothing, expected whose; 'python -m rag user' lists the users")
        listed = [_described(user) for user in users.values()]
        lines = [f"{one['user']}\t{', '.join(one['has'])}" for one in listed]
        return {"users": listed}, "\n".join(lines)
    name = plain_name(args.name)
    if not name:
        raise UsageError(
            f"NAME: found {args.name!r}, expected 1 to 64 letters, digits, '.', '_', '@', '+' or '-'; choose another"
        )
    user = users.get(name, User(name))
    if (args.admin or args.remove) and name not in users:
        raise UsageError(f"user {name!r}: not in {path}; 'python -m rag user' lists the users")
    if args.remove:
        del users[name]
        write_users(path, users)
        return {"removed": name}, f"removed {name}"
    if args.token:
        token = new_token()
        write_users(path, {**users, name: replace(user, token=hash_token(token))})
        return {"user": name, "token": token}, token
    changed = replace(user, is_admin=True) if args.admin else replace(user, password=hash_password(_password(name)))
    write_users(path, {**users, name: changed})
    return _described(changed), f"{name} may choose the model" if args.admin else f"{name} may sign in"


def _described(user: User) -> dict[str, Any]:
    has = {"password": user.password, "token": user.token, "admin": user.is_admin}
    return {"user": user.name, "has": [what for what, there in has.items() if there]}


def _password(name: str) -> str:
    """The new password: asked for twice on a terminal, else one line of stdin."""
    if sys.stdin.isatty():
        password = getpass(f"Password for {name}: ")
        if getpass("Again: ") != password:
            raise UsageError("password: the two are not the same; repeat")
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not len(password) >= MIN_PASSWORD or len(password.encode("utf-8", "replace")) > MAX_PASSWORD:
        raise UsageError(f"password: found {len(password)} characters, expected {MIN_PASSWORD} or more; choose another")
    return password
