"""Access to the viewer: who is admitted, what answers carry, and how much a client may send."""

from __future__ import annotations

import asyncio

import pytest

from strapdown.viewer.guard import MAX_CLIENTS, MAX_MESSAGES_PER_S, Guard

HOST = b"127.0.0.1:8800"
TOKEN = "secret-token"  # noqa: S105 (of this test)


async def inner(scope, receive, send):
    """Answer requests, and take messages of a web socket until it ends."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
        await send({"type": "test.ended", "code": message.get("code")})
        return
    headers = [(b"content-type", b"text/html"), (b"cache-control", b"public")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"page"})


def guarded(app=inner):
    return Guard(app, hosts=[HOST.decode(), "localhost:8800"], token=TOKEN)


def ask(guard, headers=(), messages=(), **scope):
    """Return everything that the guarded application sends."""
    sent = []
    waiting = [*messages, {"type": "websocket.disconnect", "code": 1000}]

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    if b"host" not in dict(headers):
        headers = [(b"host", HOST), *headers]
    usual = {"type": "http", "path": "/", "query_string": b"", "headers": list(headers)}
    asyncio.run(guard({**usual, **scope}, receive, send))
    return sent


def cookie_of(guard):
    start = ask(guard, query_string=b"token=secret-token")[0]
    return dict(start["headers"])[b"set-cookie"].split(b";")[0]


def test_the_token_is_exchanged_once_for_a_cookie():
    start = ask(guarded(), query_string=b"token=secret-token&x=1", path="/")[0]
    headers = dict(start["headers"])
    assert start["status"] == 303
    assert headers[b"location"] == b"/"
    cookie = headers[b"set-cookie"]
    assert b"HttpOnly; SameSite=Strict; Path=/" in cookie
    assert b"secret-token" not in cookie


def test_a_redirect_stays_on_this_host():
    start = ask(guarded(), query_string=b"token=secret-token", path="//evil.example/")[0]
    assert dict(start["headers"])[b"location"] == b"/evil.example/"


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ([], b"", 401),
        ([], b"token=", 401),
        ([], b"token=other", 401),
        ([(b"cookie", b"strapdown_view=guess")], b"", 401),
        ([(b"cookie", b"\xff;=;;")], b"", 401),
        ([(b"host", b"evil.example")], b"token=secret-token", 421),
        ([(b"host", b"127.0.0.1:8801")], b"token=secret-token", 421),
        ([(b"origin", b"http://evil.example")], b"token=secret-token", 403),
        ([(b"origin", b"null")], b"token=secret-token", 403),
    ],
)
def test_others_are_refused(headers, query, status):
    assert ask(guarded(), headers, query_string=query)[0]["status"] == status


def test_a_page_comes_with_its_policy_and_is_not_stored():
    guard = guarded()
    start = ask(guard, [(b"cookie", cookie_of(guard))])[0]
    headers = [name for name, _ in start["headers"]]
    values = dict(start["headers"])
    assert start["status"] == 200
    assert headers.count(b"cache-control") == 1
    assert values[b"cache-control"] == b"no-store"
    assert values[b"referrer-policy"] == b"no-referrer"
    assert values[b"x-content-type-options"] == b"nosniff"
    assert b"connect-src 'self'" in values[b"content-security-policy"]
    assert b"frame-ancestors 'none'" in values[b"content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [[], [(b"host", b"evil.example")], [(b"origin", b"http://evil.example")]],
)
def test_a_web_socket_of_others_is_refused_before_it_opens(headers):
    guard = guarded()
    if headers:
        headers = [*headers, (b"cookie", cookie_of(guard))]
    sent = ask(guard, headers, type="websocket")
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_client_that_sends_too_much_waits(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr("strapdown.viewer.guard.asyncio.sleep", sleep)
    monkeypatch.setattr("strapdown.viewer.guard.monotonic", lambda: 5.0 + sum(waits))
    guard = guarded()
    text = {"type": "websocket.receive", "text": "x"}
    messages = [text] * (2 * MAX_MESSAGES_PER_S + 1)
    sent = ask(guard, [(b"cookie", cookie_of(guard))], type="websocket", messages=messages)
    echoed = [each for each in sent if each["type"] == "websocket.send"]
    assert len(echoed) == len(messages)
    assert sum(waits) == 2.0


def test_the_number_of_clients_is_bounded_and_a_place_becomes_free():
    guard = guarded()
    headers = [(b"host", HOST), (b"cookie", cookie_of(guard))]
    scope = {"type": "websocket", "path": "/", "query_string": b"", "headers": headers}

    async def crowd():
        leaving = asyncio.Event()
        opened, refused = [], []

        async def receive():
            await leaving.wait()
            return {"type": "websocket.disconnect", "code": 1000}

        async def send(message):
            if message["type"] in {"websocket.accept", "websocket.close"}:
                (opened if message["type"] == "websocket.accept" else refused).append(message)

        tasks = [asyncio.create_task(guard(scope, receive, send)) for _ in range(MAX_CLIENTS + 1)]
        await asyncio.sleep(0.05)
        first = len(opened), len(refused)
        leaving.set()
        await asyncio.gather(*tasks)
        await guard(scope, receive, send)
        return first, len(opened)

    assert asyncio.run(crowd()) == ((MAX_CLIENTS, 1), MAX_CLIENTS + 1)
