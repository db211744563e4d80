"""The users file: written by the command, read by the app, never telling what it holds."""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import __main__ as command
from rag import user_command
from rag.errors import StartError
from rag.settings import settings
from rag.users import User, Users, hash_password, hash_token, is_password, plain_name, read_users, write_users

# A salt that stays: what stands in names of tests must be the same in all the processes that run them.
CHEAP = hash_password("correct horse", salt=b"salt" * 4, cost=2)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAG_AUTH", str(tmp_path / "users"))
    settings.cache_clear()
    yield tmp_path / "users"
    settings.cache_clear()


@pytest.fixture
def run(users_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("ada", stdin="…")`: the command, its exit code and what it said."""

    def once(*args: str, stdin: str = "") -> tuple[int, str, str]:
        from io import StringIO

        monkeypatch.setattr("sys.stdin", StringIO(stdin))
        code = command.main(["user", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return once


def test_a_password_is_set_and_kept_as_a_hash(run: Run, users_file: Path) -> None:
    assert run("ada", stdin="correct horse\n") == (0, "ada may sign in\n", "")
    text = users_file.read_text()
    assert "correct horse" not in text
    assert stat.S_IMODE(users_file.stat().st_mode) == 0o600
    users = Users(users_file)
    assert users.with_password("ada", "correct horse") == read_users(users_file)["ada"]
    assert users.with_password("ada", "correct horse ") is None
    assert users.with_password("bob", "correct horse") is None
    assert users.with_password("ada", "") is None


def test_two_users_of_one_password_have_nothing_in_common(run: Run, users_file: Path) -> None:
    run("ada", stdin="correct horse")
    run("bob", stdin="correct horse")
    ada, bob = read_users(users_file).values()
    assert ada.password.split("$")[:4] == bob.password.split("$")[:4] == ["scrypt", "16384", "8", "5"]
    assert set(ada.password.split("$")[4:]).isdisjoint(bob.password.split("$")[4:])
    assert ada.stamp != bob.stamp


def test_a_token_is_shown_once_and_kept_as_a_hash(run: Run, users_file: Path) -> None:
    run("ada", stdin="correct horse")
    code, token, _ = run("ada", "--token")
    token = token.strip()
    assert (code, len(token)) == (0, len("talkcite_") + 43)
    assert token not in users_file.read_text()
    assert hashlib.sha256(token.encode()).hexdigest() in users_file.read_text()
    users = Users(users_file)
    assert users.with_token(token) == users.all()["ada"]
    assert users.with_token(token[:-1]) is None
    assert users.with_token("") is None
    assert users.with_password("ada", "correct horse") is not None
    _, newer, _ = run("ada", "--token", "--json")
    assert users.with_token(token) is None
    assert users.with_token(json.loads(newer)["token"]) == users.all()["ada"]


def test_a_user_with_a_token_alone_can_not_sign_in(run: Run, users_file: Path) -> None:
    run("robot", "--token")
    users = Users(users_file)
    assert users.with_password("robot", "") is None
    assert users.with_password("robot", "correct horse") is None


def test_listing_marking_and_removing(run: Run, users_file: Path) -> None:
    assert run() == (0, "", "")
    run("ada", stdin="correct horse")
    run("robot", "--token")
    assert run("ada", "--admin") == (0, "ada may choose the model\n", "")
    assert run() == (0, "ada\tpassword, admin\nrobot\ttoken\n", "")
    assert json.loads(run("--json")[1]) == {
        "users": [{"user": "ada", "has": ["password", "admin"]}, {"user": "robot", "has": ["token"]}]
    }
    before = read_users(users_file)["ada"]
    run("ada", stdin="another horse")
    after = read_users(users_file)["ada"]
    assert after.is_admin
    assert after.stamp != before.stamp
    assert run("ada", "--remove") == (0, "removed ada\n", "")
    assert list(read_users(users_file)) == ["robot"]


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["ada"], "", "password: found 0 characters, expected 8 or more; choose another"),
        (["ada"], "seven77\n", "password: found 7 characters, expected 8 or more; choose another"),
        (["a b"], "correct horse", "NAME: found 'a b', expected 1 to 64 letters, digits"),
        (["#ada"], "correct horse", "NAME: found '#ada', expected"),
        (["x" * 65], "correct horse", "expected 1 to 64 letters, digits, '.', '_', '@', '+' or '-'; choose another"),
        (["ada\n"], "correct horse", "NAME: found 'ada\\n', expected"),
        (["nobody", "--remove"], "", "user 'nobody': not in "),
        (["nobody", "--admin"], "", "user 'nobody': not in "),
        (["--token"], "", "NAME: found nothing, expected whose; 'python -m rag user' lists the users"),
    ],
)
def test_what_is_refused_changes_nothing(run: Run, users_file: Path, args: list[str], stdin: str, said: str) -> None:
    code, out, err = run(*args, stdin=stdin)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not users_file.exists()


def test_without_a_file_named_the_way_out_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_AUTH")
    settings.cache_clear()
    assert run("ada") == (
        2, "", "error: RAG_AUTH is not set, expected the path of a users file; set it, here and for the page\n",
    )  # fmt: skip


def test_on_a_terminal_the_password_is_asked_for_twice(
    run: Run, users_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    typed = iter(["correct horse", "correct mouse", "correct horse", "correct horse"])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(user_command, "getpass", lambda _: next(typed))
    assert command.main(["user", "ada"]) == 2
    assert capsys.readouterr().err == "error: password: the two are not the same; repeat\n"
    assert command.main(["user", "ada"]) == 0
    assert Users(users_file).with_password("ada", "correct horse") is not None


@pytest.mark.parametrize(
    "line",
    [
        "ada",
        "ada password",
        "ada password hunter2",
        "ada password scrypt$16384$8$5$c2FsdA==",
        "ada password scrypt$16385$8$5$c2FsdA==$aGFzaA==",  # no power of two
        "ada password scrypt$1048576$99$5$c2FsdA==$aGFzaA==",  # would take gigabytes
        "ada password scrypt$2$8$5$c2FsdA=$aGFzaA==",
        f"ada password {CHEAP} more",
        "ada token 1234",
        f"ada token {'A' * 64}",
        "ada admin yes",
        "ada owner",
        f"a\u0000b password {CHEAP}",
        "e\u0301ve admin",  # not the composed form that people who sign in are compared with
    ],
)
def test_a_wrong_line_is_named_and_not_shown(tmp_path: Path, line: str) -> None:
    path = tmp_path / "users"
    path.write_text(f"# comment\n\nbob password {CHEAP}\n{line}\n", encoding="utf-8")
    with pytest.raises(StartError) as error:
        read_users(path)
    assert str(error.value) == (
        f"RAG_AUTH {path}:4: not a line that 'python -m rag user' writes; delete the line and add its user again"
    )


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_can_not_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "users"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StartError, match=r"RAG_AUTH .*users: can't be read \(.+\); correct the path, or make it with"):
        read_users(path)


def test_a_change_of_the_file_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "users"
    ada, bob = User("ada", CHEAP), User("bob", token=hash_token("t"))
    write_users(path, {"ada": ada, "bob": bob})
    users = Users(path)
    assert dict(users.all()) == {"ada": ada, "bob": bob}
    write_users(path, {"ada": ada})
    assert users.with_token("t") is None
    path.write_text(path.read_text() + "nonsense\n")
    for _ in range(2):  # nobody is let in by what was read before
        with pytest.raises(StartError, match=":3: not a line"):
            users.all()
    path.unlink()
    with pytest.raises(StartError, match="can't be read"):
        users.all()
    write_users(path, {"bob": bob})
    assert dict(users.all()) == {"bob": bob}


def test_an_unchanged_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "users"
    write_users(path, {"ada": User("ada", CHEAP)})
    users = Users(path)
    first = users.all()
    monkeypatch.setattr("rag.users.read_users", lambda _: pytest.fail("read again"))
    assert users.all() is first


def test_an_unknown_name_takes_as_long_as_a_wrong_password(tmp_path: Path) -> None:
    path = tmp_path / "users"
    write_users(path, {"ada": User("ada", hash_password("correct horse")), "robot": User("robot", token="0" * 64)})
    users = Users(path)

    def seconds(name: str) -> float:
        best = 9e9
        for _ in range(2):
            before = time.process_time()
            assert users.with_password(name, "wrong") is None
            best = min(best, time.process_time() - before)
        return best

    known = seconds("ada")
    for name in ("bob", "robot"):
        assert 0.5 < seconds(name) / known < 2


@given(st.text(max_size=30))
def test_any_password_is_that_password_alone(password: str) -> None:
    hashed = hash_password(password, cost=2)
    assert is_password(password, hashed)
    assert not is_password(password + "x", hashed)


def test_the_same_letters_are_the_same_however_they_are_typed(tmp_path: Path) -> None:
    path = tmp_path / "users"
    composed, apart = "\u00e9ve", "e\u0301ve"
    write_users(path, {composed: User(composed, hash_password(composed * 3, cost=2))})
    assert plain_name(apart) == composed
    assert Users(path).with_password(apart, apart * 3) is not None


@given(st.text(max_size=40))
def test_names_are_one_plain_word_or_none(name: str) -> None:
    plain = plain_name(name)
    assert plain == "" or (plain.split() == [plain] and not plain.startswith("#") and plain_name(plain) == plain)


def test_what_others_may_read_is_closed_by_the_next_change(users_file: Path, run: Run) -> None:
    run("ada", stdin="correct horse")
    users_file.chmod(0o644)
    run("bob", stdin="correct horse")
    assert stat.S_IMODE(users_file.stat().st_mode) == 0o600
