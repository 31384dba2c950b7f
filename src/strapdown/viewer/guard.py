"""Access control of the viewer: token, host, origin, limits and headers.

One ASGI middleware sees every request and every web socket before the framework does.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import deque
from http.cookies import CookieError, SimpleCookie
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["MAX_CLIENTS", "MAX_MESSAGES_PER_S", "MAX_MESSAGE_BYTES", "Guard"]

MAX_CLIENTS: Final = 32
"""Number of web sockets at one time."""
MAX_MESSAGES_PER_S: Final = 64
"""Messages that are taken from one web socket in a second; further ones wait."""
MAX_MESSAGE_BYTES: Final = 65_536
"""Size of the largest message from a client."""
_COOKIE: Final = "strapdown_view"
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_CLOSE_POLICY: Final = 1008


class Guard:
    """Middleware that admits the holder of the token, from the page's own address, alone.

    Parameters
    ----------
    app : ASGI application
        Application behind it.
    hosts : iterable of str
        Accepted values of the header ``Host``, with port.
    token : str
        Secret of the printed address. A request with it gets a cookie and is redirected to an
        address without it.
    scheme : {"http", "https"}
        Of the page; accepted origins are this scheme with the accepted hosts.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Iterable[str], token: str, scheme: str = "http"
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"{scheme}://{host}" for host in self._hosts)
        self._token = token
        self._session = secrets.token_urlsafe(16)
        self._flags = "; Secure" if scheme == "https" else ""
        self._clients = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request itself, or pass it on."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if headers.get("host") not in self._hosts:
            await _refuse(scope, send, 421)
        elif headers.get("origin", next(iter(self._origins))) not in self._origins:
            await _refuse(scope, send, 403)
        elif self._presents_token(scope):
            await self._exchange(scope, send)
        elif not self._has_session(headers.get("cookie", "")):
            await _refuse(scope, send, 401)
        elif scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        else:
            await self._app(scope, receive, _with_headers(send))

    def _presents_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return scope["type"] == "http" and bool(given) and _same(given, self._token)

    def _has_session(self, cookies: str) -> bool:
        try:
            cookie = SimpleCookie(cookies).get(_COOKIE)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self._session)

    async def _exchange(self, scope: Scope, send: Send) -> None:
        """Redirect to the same page without the token, with a cookie in its place."""
        cookie = f"{_COOKIE}={self._session}; HttpOnly; SameSite=Strict; Path=/{self._flags}"
        # A path of two slashes would name another host.
        place = "/" + scope["path"].lstrip("/")
        headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode()), *_HEADERS]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._clients >= MAX_CLIENTS:
            await _refuse(scope, send, 403)
            return
        self._clients += 1
        try:
            await self._app(scope, _limited(receive), send)
        finally:
            self._clients -= 1


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _limited(receive: Receive) -> Receive:
    """Return a receiver that takes only so many messages a second, and lets the rest wait."""
    times: deque[float] = deque(maxlen=MAX_MESSAGES_PER_S)

    async def take() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive":
            if len(times) == MAX_MESSAGES_PER_S:
                await asyncio.sleep(times[0] + 1.0 - monotonic())
            times.append(monotonic())
        return message

    return take


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in _HEADERS}
            others = [each for each in message.get("headers", ()) if each[0].lower() not in ours]
            message = {**message, "headers": [*others, *_HEADERS]}
        await send(message)

    return answer


async def _refuse(scope: Scope, send: Send, status: int) -> None:
    if scope["type"] == "websocket":  # refused before it is accepted: the server answers 403
        await send({"type": "websocket.close", "code": _CLOSE_POLICY})
        return
    headers = [(b"content-type", b"text/plain"), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": _REASONS[status]})


_REASONS: Final = {
    401: b"Open the address that strapdown view printed: it contains the token.\n",
    403: b"This page is not served to other sites.\n",
    421: b"This page is not served under that host name.\n",
}
