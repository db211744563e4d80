"""Who gets in when there are users, by which way, and how the others are told."""

from __future__ import annotations

import base64
import re
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import pytest
from fastapi import FastAPI, Request
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient, WebSocketDenialResponse

from rag.settings import Settings
from rag.users import User, Users, hash_password, hash_token, write_users
from rag.web import sessions, sign_in
from rag.web.gate import Gate
from rag.web.page import create_app
from rag.web.paths import Access, access_to, is_for_programs
from rag.web.sign_in import own_path, sign_in_routes
from tests.web.conftest import as_engine
from tests.web.fake_engine import FakeEngine, talk_of

HERE = "http://127.0.0.1:7860"
PASSWORD = "correct horse"
ADA = User("ada", hash_password(PASSWORD, cost=2), hash_token("ada's token"))
EVE = User("eve", hash_password("eve's horse", cost=2), is_admin=True)
ROBOT = User("robot", token=hash_token("robot's token"))
BEARER = {"Authorization": "Bearer robot's token"}
OPENING = {"Accept": "text/html,*/*", "Sec-Fetch-Mode": "navigate"}
ENGINE = FakeEngine([talk_of("One.", talk_id="one", title="Title", source="/home/ada/one.vtt")])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_users(tmp_path / "users", {user.name: user for user in (ADA, EVE, ROBOT)})
    return tmp_path


def client(home: Path) -> TestClient:
    """A browser, or a program, that talks to a small app behind the gate."""
    users = Users(home / "users")
    kept = sessions.Sessions(sessions.session_key(home), users)
    app = FastAPI()
    app.include_router(sign_in_routes(users, kept, secure=False))
    for path in ("/", "/desk/about", "/api/talks", "/healthz"):

        @app.get(path)
        def show(request: Request) -> Any:
            user = request.scope.get("user")
            return {"user": user.name if user else None}

    app.add_middleware(Gate, users=users, sessions=kept)
    return TestClient(app, base_url=HERE, follow_redirects=False)


@pytest.fixture
def visitor(home: Path) -> TestClient:
    return client(home)


@pytest.fixture(scope="module")
def whole_app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The app as it is served."""
    home = tmp_path_factory.mktemp("home")
    write_users(home / "users", {user.name: user for user in (ADA, EVE, ROBOT)})
    settings = Settings(home=home, auth=home / "users", asks_per_minute=2)
    return create_app(as_engine(ENGINE), settings, is_owners=True)


@pytest.fixture
def whole(whole_app: FastAPI) -> TestClient:
    return TestClient(whole_app, base_url=HERE, follow_redirects=False)


def sign_in_as(visitor: TestClient, name: str = "ada", password: str = PASSWORD, **query: str) -> httpx.Response:
    return visitor.post("/sign-in", params=query, data={"name": name, "password": password})


def cookie_of(visitor: TestClient) -> tuple[str, str]:
    ((name, value),) = visitor.cookies.items()
    return name, value


@pytest.mark.parametrize(
    ("path", "access"),
    [
        ("/healthz", Access.OPEN),
        ("/readyz", Access.OPEN),
        ("/sign-in", Access.OPEN),
        ("/sign-out", Access.OPEN),
        ("/desk/static/sign-in.css", Access.OPEN),
        ("/desk/static/icon.svg", Access.OPEN),
        ("/api", Access.EITHER),
        ("/api/ask", Access.EITHER),
        ("/v1/chat/completions", Access.TOKEN),
        ("/mcp", Access.TOKEN),
        ("/metrics", Access.TOKEN),
        ("/", Access.SESSION),
        ("/desk/talks", Access.SESSION),
        ("/gradio_api/queue/join", Access.SESSION),
        ("/sign-in/", Access.SESSION),
        ("/healthz/../api/talks", Access.SESSION),
        ("/desk/static/sign-in.css/..", Access.SESSION),
        ("/Sign-In", Access.SESSION),
        ("//api/talks", Access.SESSION),
        ("/apis", Access.SESSION),
        ("/v1.1", Access.SESSION),
        ("", Access.SESSION),
    ],
)
def test_what_opens_a_path(path: str, access: Access) -> None:
    assert access_to(path) is access
    assert is_for_programs(path) == path.startswith(("/api/", "/v1/")) or path in ("/api", "/mcp", "/metrics")


@given(st.text(alphabet="/.%abdehilnrstuvyz-", max_size=30))
def test_a_path_that_nobody_thought_of_is_closed(path: str) -> None:
    if access_to(path) is Access.OPEN:
        assert path in ("/healthz", "/readyz", "/sign-in", "/sign-out") or path.startswith("/desk/static/")


CLOSED = [
    "/", "/?talk=one", "/config", "/desk/about", "/desk/talks", "/desk/talks/one", "/desk/examples", "/desk/model",
    "/desk/media/one", "/desk/static/desk.js", "/gradio_api/info", "/gradio_api/queue/data?session_hash=x",
    "/gradio_api/heartbeat/x", "/gradio_api/startup-events", "/theme.css", "/api/talks", "/api/talks/one",
    "/api/jobs/x", "/api/openapi.json", "/metrics", "/mcp", "/v1/models", "/nowhere", "/assets/x.js",
]  # fmt: skip


@pytest.mark.parametrize("path", CLOSED)
def test_nothing_is_told_without_signing_in(whole: TestClient, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YWRhOngK"}, {"Cookie": "a=b; c"}):
        answer = whole.get(path, headers={"Accept": "*/*", **headers})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="talkcite"'
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == 401
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")
        assert "Title" not in answer.text


@pytest.mark.parametrize(
    "path", ["/api/ask", "/api/search", "/api/ingest", "/desk/model", "/gradio_api/queue/join", "/gradio_api/cancel",
             "/gradio_api/reset", "/v1/chat/completions", "/mcp"],
)  # fmt: skip
def test_nothing_can_be_done_without_signing_in(whole: TestClient, path: str) -> None:
    asked = len(ENGINE.asked)
    assert whole.post(path, json={"question": "x", "query": "x", "kind": "off"}, headers=OPENING).status_code == 401
    assert len(ENGINE.asked) == asked


def test_a_refusal_does_not_wait_for_the_body(whole_app: FastAPI) -> None:

    sent: list[Any] = []

    async def receive() -> Any:
        pytest.fail("the body was asked for")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/ingest", "root_path": "", "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"1000")], "client": None,
        "scheme": "http",
    }  # fmt: skip
    anyio.run(whole_app, scope, receive, send)
    assert sent[0]["status"] == 401
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/sign-in", "/desk/static/sign-in.css", "/desk/static/icon.svg"]
)
def test_what_is_open(whole: TestClient, path: str) -> None:
    assert whole.get(path).status_code == 200


def test_sockets_are_closed_too(whole: TestClient) -> None:
    with pytest.raises(WebSocketDenialResponse) as denial, whole.websocket_connect(f"ws{HERE[4:]}/gradio_api/ws"):
        pass
    assert denial.value.status_code == 401


@pytest.mark.parametrize("path", ["/api/talks", "/api/openapi.json"])
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_programs_come_in_by_token(whole: TestClient, path: str, scheme: str) -> None:
    assert whole.get(path, headers={"Authorization": f"{scheme} robot's token"}).status_code == 200
    assert whole.get(path, headers={"Authorization": f"{scheme} robot's token2"}).status_code == 401


@pytest.mark.parametrize("path", ["/v1/models", "/mcp", "/metrics"])
def test_what_is_for_programs_alone_takes_no_session(whole: TestClient, path: str) -> None:
    sign_in_as(whole)
    assert whole.get(path).status_code == 401
    assert whole.get(path, headers=BEARER).status_code in (200, 404, 405)  # let through, to whatever is there


def test_the_page_takes_no_token(whole: TestClient) -> None:
    assert whole.get("/desk/talks", headers=BEARER).status_code == 401


def test_a_wrong_token_is_not_made_good_by_a_session(visitor: TestClient) -> None:
    sign_in_as(visitor)
    assert visitor.get("/api/talks").status_code == 200
    assert visitor.get("/api/talks", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_a_browser_is_led_to_sign_in_and_back(visitor: TestClient) -> None:
    refused = visitor.get("/?talk=one&t=3&q=a%20b", headers=OPENING)
    assert refused.status_code == 303
    assert refused.headers["cache-control"] == "no-store"
    to = urlsplit(refused.headers["location"])
    assert (to.scheme, to.netloc, to.path) == ("", "", "/sign-in")
    (back,) = parse_qs(to.query)["next"]
    signed_in = sign_in_as(visitor, next=back)
    assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/?talk=one&t=3&q=a%20b")
    opened = visitor.get(signed_in.headers["location"], headers=OPENING)
    assert opened.status_code == 200
    assert visitor.get("/desk/about").json()["user"] == "ada"


def test_the_cookie(whole: TestClient) -> None:
    cookie = sign_in_as(whole).headers["set-cookie"]
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert parts == {"httponly", "samesite=lax", "path=/", "max-age=1209600"}
    assert PASSWORD not in cookie


def test_the_cookie_of_an_https_page(home: Path) -> None:
    settings = Settings(home=home, auth=home / "users", public_url="https://example.org/talks")
    app = create_app(as_engine(ENGINE), settings)
    visitor = TestClient(app, base_url="https://example.org", follow_redirects=False)
    signed_in = sign_in_as(visitor)
    assert {"Secure", "Path=/talks/"} <= {part.strip() for part in signed_in.headers["set-cookie"].split(";")}
    assert signed_in.headers["location"] == "/talks/"
    assert visitor.post("/sign-out").headers["location"] == "/talks/sign-in"


def test_signing_out(whole: TestClient) -> None:
    sign_in_as(whole)
    out = whole.post("/sign-out")
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert not whole.cookies
    assert whole.get("/desk/about").status_code == 401
    assert whole.get("/sign-out").status_code == 404  # a picture's address must not sign anybody out


@pytest.mark.parametrize(
    ("name", "password"),
    [("ada", "wrong horse"), ("bob", PASSWORD), ("robot", ""), ("robot", "robot's token"), ("", ""),
     ("ada\0", PASSWORD), ("ada", "x" * 100_000), ("<script>alert(1)</script>", "x")],
)  # fmt: skip
def test_a_wrong_guess_looks_the_same_whatever_is_wrong(visitor: TestClient, name: str, password: str) -> None:
    answer = sign_in_as(visitor, name, password)
    usual = sign_in_as(visitor, "nobody", "nothing at all")
    assert answer.status_code == 403
    assert answer.text == usual.text
    assert answer.headers == usual.headers
    assert "No user has this name and password." in answer.text
    assert 'id="wrong" role="alert"' in answer.text
    assert not visitor.cookies


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", ""),
        (b"{}", "application/json"),
        (b"name=ada", "application/x-www-form-urlencoded"),
        (b"\xff\xfe=%", "application/x-www-form-urlencoded"),
        (b"name=ada&password=a&a=1&b=2&c=3", "application/x-www-form-urlencoded"),
        (b"nonsense", "multipart/form-data"),
        (
            b"--x\r\nContent-Disposition: form-data; name=name; filename=f\r\n\r\nada\r\n--x--",
            "multipart/form-data; boundary=x",
        ),
    ],
)
def test_other_bodies_than_the_form_sign_nobody_in(visitor: TestClient, content: bytes, kind: str) -> None:
    answer = visitor.post("/sign-in", content=content, headers={"Content-Type": kind} if kind else {})
    assert answer.status_code in (400, 403)
    assert not visitor.cookies


def test_the_form_has_a_limit(whole: TestClient) -> None:
    assert sign_in_as(whole, password="x" * 20_000).status_code == 413


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
     "evil.example", "javascript:alert(1)", "/\tevil", "/ /evil", "http:evil.example", "", "/\x00", "/é",
     "https:/evil.example"],
)  # fmt: skip
def test_after_signing_in_nobody_is_sent_elsewhere(visitor: TestClient, elsewhere: str) -> None:
    assert own_path(elsewhere) == "/"
    assert sign_in_as(visitor, next=elsewhere).headers["location"] == "/"


@given(st.text(max_size=30))
def test_the_way_back_is_always_on_this_server(address: str) -> None:
    parts = urlsplit(f"http://here.example{own_path(address)}")
    assert parts.netloc == "here.example"
    assert own_path(address).startswith("/")
    assert not own_path(address).startswith("//")


def test_wrong_guesses_of_one_address_are_slowed_down(visitor: TestClient) -> None:
    statuses = [sign_in_as(visitor, password="wrong horse").status_code for _ in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    refused = sign_in_as(visitor)  # the right password does not help either: it would tell which guess was right
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert 'id="often" role="alert"' in refused.text


def test_wrong_guesses_for_one_name_are_slowed_down_wherever_they_come_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = iter(f"192.0.2.{n}" for n in range(100))
    monkeypatch.setattr(sign_in, "address_of", lambda _: next(addresses))
    with client(home) as visitor:
        assert [sign_in_as(visitor, password="wrong horse").status_code for _ in range(31)] == [403] * 30 + [429]
        assert sign_in_as(visitor, "eve", "eve's horse").status_code == 303
        assert sign_in_as(visitor, "nobody", "x").status_code == 403


def test_right_ones_are_not_counted(visitor: TestClient) -> None:
    for _ in range(30):
        assert sign_in_as(visitor).status_code == 303


def test_the_sign_in_page_holds_nothing_of_ours_and_nothing_of_theirs(visitor: TestClient) -> None:
    asked = visitor.get("/sign-in", params={"next": '/"><script>alert(1)</script>', "name": "<b>"})
    assert asked.headers["cache-control"] == "no-store"
    assert "script" not in asked.text
    assert asked.text.count("hidden role=") == 3
    assert asked.text == visitor.get("/sign-in").text
    assert re.findall(r'(?:href|src)="([^"]+)"', asked.text) == ["desk/static/icon.svg", "desk/static/sign-in.css"]


def test_another_site_can_neither_sign_in_nor_out(whole: TestClient) -> None:
    for path in ("/sign-in", "/sign-out"):
        assert whole.post(path, headers={"Origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/desk/about", "/desk/talks/one", "/api/talks", "/config"])
def test_what_a_user_gets_is_kept_by_no_cache(whole: TestClient, path: str) -> None:
    sign_in_as(whole)
    kept = whole.get(path)
    assert kept.status_code == 200
    assert kept.headers["cache-control"] in ("no-store", "no-cache")
    assert whole.get("/desk/talks").headers["cache-control"] == "no-cache"  # what a route says itself stays


# Sessions


def test_a_removed_user_is_out_at_once_and_so_are_sessions_of_an_old_password(home: Path, visitor: TestClient) -> None:
    sign_in_as(visitor)
    assert visitor.get("/desk/about").status_code == 200
    write_users(home / "users", {"ada": User("ada", hash_password("new horse", cost=2)), "robot": ROBOT})
    assert visitor.get("/desk/about").status_code == 401
    write_users(home / "users", {"ada": ADA})
    assert visitor.get("/desk/about").status_code == 200
    assert visitor.get("/api/talks", headers=BEARER).status_code == 401
    write_users(home / "users", {"robot": ROBOT})
    assert visitor.get("/desk/about").status_code == 401
    write_users(home / "users", {"ada": User("ada", token="0" * 64)})  # has lost the password
    assert visitor.get("/desk/about").status_code == 401


def test_while_the_users_file_is_damaged_nobody_gets_in(
    home: Path, visitor: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    sign_in_as(visitor)
    (home / "users").write_text(f"ada password {PASSWORD}\n")
    for path in ("/desk/about", "/api/talks"):
        answer = visitor.get(path, headers=BEARER)
        assert answer.status_code == 503
        assert str(home) not in answer.text
        assert PASSWORD not in answer.text
    assert f"RAG_AUTH {home / 'users'}:1: not a line" in caplog.text
    assert PASSWORD not in caplog.text
    answer = sign_in_as(visitor)
    assert answer.status_code == 503
    assert 'id="unread" role="alert"' in answer.text
    assert str(home) not in answer.text
    assert visitor.get("/healthz").status_code == 200


def test_a_session_ends_after_two_weeks(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in_as(visitor)
    now = time.time()
    for later_s, status in ((14 * 86_400 - 60, 200), (14 * 86_400 + 60, 401), (-60, 401)):
        monkeypatch.setattr(sessions.time, "time", lambda later_s=later_s: now + later_s)
        assert visitor.get("/desk/about").status_code == status


def test_processes_on_one_library_share_sessions_and_a_restart_ends_none(home: Path, visitor: TestClient) -> None:
    sign_in_as(visitor)
    name, value = cookie_of(visitor)
    other = client(home)
    assert other.get("/desk/about", headers={"Cookie": f"{name}={value}"}).json()["user"] == "ada"
    assert (home / "session_key").stat().st_mode & 0o777 == 0o600
    assert (home / "session_key").stat().st_size == 32


def test_another_librarys_sessions_are_not_taken(home: Path, visitor: TestClient) -> None:
    sign_in_as(visitor)
    name, value = cookie_of(visitor)
    (home / "session_key").unlink()
    other = client(home)
    sign_in_as(other)
    assert cookie_of(other)[0] != name
    for cookie in (f"{name}={value}", f"{cookie_of(other)[0]}={value}"):
        assert client(home).get("/desk/about", headers={"Cookie": cookie}).status_code == 401


def test_a_changed_cookie_is_no_session(visitor: TestClient) -> None:
    sign_in_as(visitor)
    name, value = cookie_of(visitor)
    said, _, seal = value.partition(".")
    as_eve = base64.urlsafe_b64encode(b'["eve", "", 1]').rstrip(b"=").decode()
    forged = [
        "", ".", said, f"{said}.", f".{seal}", f"{said}.{seal[:-4]}", f"{as_eve}.{seal}", f"{said}.{seal}.{seal}",
        f"{said}.{'A' * 43}", f"{seal}.{said}", "é.é", "x" * 5000,
    ]  # fmt: skip
    for cookie in forged:
        headers = [(b"cookie", f"{name}={cookie}".encode())]
        assert TestClient(visitor.app, base_url=HERE).get("/desk/about", headers=headers).status_code == 401


@given(st.binary(max_size=120))
def test_no_bytes_are_a_session_by_chance(data: bytes) -> None:
    kept = sessions.Sessions(b"k" * 32, users=None)  # type: ignore[arg-type]  # never asked
    assert kept.user(data.decode("latin-1")) is None
    assert kept.user(base64.urlsafe_b64encode(data).decode() + "." + "A" * 43) is None


def test_of_two_who_make_the_key_at_once_one_wins(tmp_path: Path) -> None:
    for n in range(20):
        home = tmp_path / str(n)
        start = threading.Barrier(4)
        keys: list[bytes] = []

        def make(home: Path = home, start: threading.Barrier = start, keys: list[bytes] = keys) -> None:
            start.wait()
            keys.append(sessions.session_key(home))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(keys) == 4
        assert len(set(keys)) == 1
        assert [path.name for path in home.iterdir()] == ["session_key"]


def test_a_key_that_was_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "session_key").write_bytes(b"short")
    with pytest.raises(
        sessions.StoreError, match="session_key: 5 bytes, expected 32; delete it, which signs everybody out"
    ):
        sessions.session_key(tmp_path)


# What users may do


def test_the_model_is_chosen_by_admins_alone(whole_app: FastAPI) -> None:
    for name, password, may in (("ada", PASSWORD, False), ("eve", "eve's horse", True)):
        visitor = TestClient(whole_app, base_url=HERE)
        sign_in_as(visitor, name, password)
        assert (visitor.get("/desk/model").json()["local"] is not None) == may
        assert visitor.post("/desk/model", json={"kind": "off"}).status_code == (200 if may else 403)


def test_without_users_nobody_is_asked(tmp_path: Path) -> None:
    app = create_app(as_engine(ENGINE), Settings(home=tmp_path))
    visitor = TestClient(app, base_url=HERE)
    assert visitor.get("/desk/about").json()["user"] is None
    assert visitor.get("/api/talks").status_code == 200
    assert visitor.get("/sign-in").status_code == 404
    assert not (tmp_path / "session_key").exists()


def test_users_have_limits_of_their_own(whole_app: FastAPI) -> None:
    ada, robot = TestClient(whole_app, base_url=HERE), TestClient(whole_app, base_url=HERE, headers=BEARER)
    sign_in_as(ada)
    ask = {"question": "What?"}
    assert [ada.post("/api/ask", json=ask).status_code for _ in range(3)] == [200, 200, 429]
    assert [robot.post("/api/ask", json=ask).status_code for _ in range(3)] == [200, 200, 429]
    by_token = {"Authorization": "Bearer ada's token"}
    assert TestClient(whole_app, base_url=HERE).post("/api/ask", json=ask, headers=by_token).status_code == 429
