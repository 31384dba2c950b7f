"""Connections that do not send their header are closed; slow answers are not."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
import time

import pytest
import uvicorn

from strapdown.viewer.http_timeout import TimedHttpProtocol

LIMIT_S = 0.4
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


async def answer(scope, receive, send):
    """Answer a request after twice the limit."""
    assert (await receive())["type"] == "http.request"
    assert scope["type"] == "http"
    await asyncio.sleep(2.0 * LIMIT_S)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"y")]})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(scope="module")
def port():
    """A server with the protocol, in a thread."""
    with pytest.MonkeyPatch.context() as patch, socket.socket() as listening:
        patch.setattr("strapdown.viewer.http_timeout.HEADER_S", LIMIT_S)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(answer, http=TimedHttpProtocol, lifespan="off", log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(20)


def seconds_open(port, first, then):
    """Send bytes, and others again and again; return how long the connection stays open."""
    with socket.create_connection(("127.0.0.1", port), timeout=0.05) as client:
        began = time.monotonic()
        client.sendall(first)
        while time.monotonic() - began < 10.0:
            try:
                if then:
                    client.sendall(then)
                if client.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        return time.monotonic() - began


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),
        (b"GET / HT", b""),
        (b"GET / HTTP/1.1\r\nHost: here\r\nX: ", b"y"),
        (b"", b"\r\n"),
    ],
    ids=["nothing", "a part", "byte by byte", "empty lines"],
)
def test_a_connection_without_a_header_is_closed(port, first, then):
    assert LIMIT_S - 0.1 < seconds_open(port, first, then) < 5.0


@pytest.mark.parametrize("begun", [b"\r\n", b"GET / HT"])
def test_a_further_request_has_the_same_limit(port, begun):
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as client:
        client.sendall(REQUEST)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        client.sendall(begun)
        while client.recv(1000):
            pass
        assert LIMIT_S - 0.1 < time.monotonic() - began < 3.0  # an idle one is kept for 5 s


def test_a_slow_answer_and_the_next_request_are_served(port):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    for _ in range(2):
        client.request("GET", "/")
        reply = client.getresponse()
        assert reply.status == 200
        reply.read()
    client.close()
