"""Serving the page, on this machine alone unless asked otherwise."""

from __future__ import annotations

import asyncio
import secrets
import socket
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from strapdown.errors import BackendMissingError
from strapdown.viewer.guard import MAX_MESSAGE_BYTES, Guard

try:
    from nicegui import app, background_tasks, ui
except ModuleNotFoundError:
    raise BackendMissingError("the viewer", extra="viewer") from None

from strapdown.viewer.http_timeout import TimedHttpProtocol
from strapdown.viewer.page import PATIENCE_S, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from strapdown.viewer.sources import Source

__all__ = ["serve"]

_LOOK_S: Final = 0.02
"""Time between two looks at the port [s]."""


def serve(  # noqa: PLR0913 (each names one property of the server)
    sources: Sequence[Source],
    *,
    host: str = "127.0.0.1",
    port: int = 8800,
    token: str = "",
    certificate: tuple[Path, Path] | None = None,
    started: Callable[[str], object] = print,
) -> None:
    """Serve a page of sources until the process is interrupted.

    Parameters
    ----------
    sources : sequence of Source
        Shown side by side.
    host, port : str, int
        Address to listen on.
    token : str, optional
        Secret that admits a browser; by default a new one.
    certificate : tuple of (path, path), optional
        Files with the certificate and its private key, in PEM form: the page is then encrypted.
    started : callable
        Called with the address to open, which contains the token.

    Raises
    ------
    OSError
        The address is not of this machine, or the port is in use.
    ssl.SSLError
        The certificate and the key do not fit.
    """
    _check_free(host, port)
    token = token or secrets.token_urlsafe(16)
    scheme = "http" if certificate is None else "https"
    cert, key = certificate or (None, None)
    names = {host, "localhost"} if host == "127.0.0.1" else {host}
    hosts = [f"{name}:{port}" for name in names]
    app.add_middleware(Guard, hosts=hosts, token=token, scheme=scheme)
    style = files("strapdown.viewer").joinpath("page.css").read_text()

    @ui.page("/", title="strapdown", response_timeout=PATIENCE_S, reconnect_timeout=PATIENCE_S)
    async def index() -> None:
        ui.add_css(style)
        await Page(sources).run()

    async def announce() -> None:
        """Report the address once it answers: start-up ends before that."""
        while True:
            try:
                _, writer = await asyncio.open_connection(host, port)
            except OSError:
                await asyncio.sleep(_LOOK_S)
                continue
            writer.close()
            started(f"{scheme}://{host}:{port}/?token={token}")
            return

    app.on_startup(lambda: background_tasks.create(announce()))
    ui.run(
        host=host,
        port=port,
        reload=False,
        show=False,
        show_welcome_message=False,
        tailwind=False,  # its classes are not used, and it delays the first chart
        access_log=False,
        http=TimedHttpProtocol,
        ws_max_size=MAX_MESSAGE_BYTES,
        # On one machine compression costs more than it saves.
        gzip_middleware_factory=None,
        ws_per_message_deflate=False,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )


def _check_free(host: str, port: int) -> None:
    """Raise where the server could not listen: its own message comes late, and not in one line."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror}; --port chooses another", f"{host}:{port}"
            ) from None
