"""``strapdown view``: recordings and live topics in the browser."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from strapdown.cli._common import Topic, read_losses, working
from strapdown.cli._completion import completed
from strapdown.cli._live import stopped_by_signals
from strapdown.cli._outcome import Outcome, say
from strapdown.cli._reading import input_blocks, open_imu, references, refuse_reading
from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS, SMOOTHERS, OrientationSmoother
from strapdown.messages import Imu, MagneticField
from strapdown.transport.address import await_type, is_address, open_topic, parse_address
from strapdown.viewer import LiveSource, LongRecordingSource, RecordingSource, show_in_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown.estimation import OrientationFilter
    from strapdown.viewer import Source
    from strapdown.viewer.sources import Estimator

_SHORTEST: Final = 16
"""Characters of a token."""
_LARGE_BYTES: Final = 200_000_000
"""Size of a file above which it is shown while it is read, and stays on disk."""


def view(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Recordings, and live topics such as ipc:imu, side by side; "
            "ipc:imu ipc:mag joins a magnetometer to its IMU."
        ),
    ],
    *,
    filter_name: Annotated[
        str | None,
        typer.Option(
            "--filter",
            help=f"Estimate the attitude with one of: {', '.join(FILTERS)}.",
            autocompletion=completed(FILTERS),
        ),
    ] = None,
    smooth: Annotated[
        bool,
        typer.Option("--smooth", help="Of recordings: use the samples after each instant too."),
    ] = False,
    topic: Topic = None,
    host: Annotated[str, typer.Option(help="Address to serve at.")] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help="With --host: a file that holds the secret of the address, 16 letters or more.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", help="Encrypt the page: a file with the certificate (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", help="With --tls-cert: a file with its key (PEM).")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve at.")] = 8800,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show values and bars here instead of a page.")
    ] = False,
) -> Outcome:
    """Show recordings and live topics in the browser: attitude in 3-D, charts, timeline.

    The printed address contains a token of this run; without it nothing is shown. The page is
    served on this machine alone. With --filter the estimate is the solid body, and the attitude
    of the source its ghost. A topic of MagneticField belongs to the IMU before it. Ctrl-C ends it.

    Examples
    --------
    strapdown view flight.ulg

    strapdown view ipc:imu ros2:/imu/data --filter vqf

    strapdown view ros2:/imu/data ros2:/imu/mag --filter eskf

    strapdown view a.mcap b.mcap --filter vqf --smooth
    """
    kinds = _kinds(filter_name, smooth=smooth)
    certificate = _certificate(tls_cert, tls_key)
    token = _token(host, token_file, encrypted=certificate is not None)
    if not terminal:
        Thread(target=_begin_to_import, name="import", daemon=True).start()
    shown: list[Source] = []
    recordings: list[RecordingSource | LongRecordingSource] = []
    with ExitStack() as stack:
        for source, kind, field in _with_fields(sources):
            if kind is not None:
                online = None if filter_name is None else FILTERS[filter_name]()
                shown.append(_received(source, kind, field, online, stack))
            else:
                path, estimator = Path(source), None
                if filter_name is not None:
                    estimator = kinds[filter_name]
                if path.is_file() and path.stat().st_size > _LARGE_BYTES:
                    recordings.append(_begun(path, topic, estimator, stack))
                else:
                    recordings.append(_opened(path, topic, estimator))
                shown.append(recordings[-1])
        if terminal:
            stop, _ = stack.enter_context(stopped_by_signals())
            show_in_terminal(shown, stop=stop)
        else:
            from strapdown.viewer.server import serve  # noqa: PLC0415 (needs an extra)

            serve(
                shown,
                host=host,
                port=port,
                token=token,
                certificate=certificate,
                started=_announce,
            )
    data = {"sources": sources}
    losses = [line for source in recordings for line in read_losses(source.report)]
    return Outcome(data, [], losses)


def _certificate(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Return the files of the encryption, if they fit."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise typer.BadParameter("it needs the other one", param_hint="'--tls-cert', '--tls-key'")
    import ssl  # noqa: PLC0415 (few pages need it)

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (OSError, ssl.SSLError) as error:
        raise typer.BadParameter(
            f"expected a certificate and its key without a password, as PEM files; got {error}",
            param_hint="'--tls-cert', '--tls-key'",
        ) from None
    return cert, key


def _token(host: str, file: Path | None, *, encrypted: bool) -> str:
    """Return the secret of the address; empty means a new one.

    Without encryption it can be read on the way from other machines, so that it has to be chosen
    on purpose for them.
    """
    try:
        address = ip_address(host)
    except ValueError:
        raise typer.BadParameter(
            f"expected an IP address, got {host!r}", param_hint="'--host'"
        ) from None
    if address.is_unspecified:
        raise typer.BadParameter(
            "expected one address of this machine, got all of them", param_hint="'--host'"
        )
    if file is None:
        if not address.is_loopback and not encrypted:
            raise typer.BadParameter(
                "other machines could open the page: it needs --token-file or --tls-cert",
                param_hint="'--host'",
            )
        return ""
    token = file.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST or not token.isascii() or not token.replace("-", "").isalnum():
        raise typer.BadParameter(
            f"expected {_SHORTEST} letters, digits or hyphens or more, got {len(token)} characters",
            param_hint="'--token-file'",
        )
    return token


def _begin_to_import() -> None:
    """Import the framework of the page while the sources are opened."""
    with suppress(ModuleNotFoundError):  # reported once the sources are open
        import_module("nicegui")


def _announce(url: str) -> None:
    say(f"viewer at {url} (Ctrl-C to stop)")


def _kinds(name: str | None, *, smooth: bool) -> Mapping[str, Callable[[], Estimator]]:
    """Return the estimators of recordings; raise unless the name is one of them."""
    if smooth and name is None:
        raise typer.BadParameter("it needs --filter NAME", param_hint="'--smooth'")
    kinds: Mapping[str, Callable[[], Estimator]] = SMOOTHERS if smooth else FILTERS
    if name is not None and name not in kinds:
        raise UnknownNameError("smoother" if smooth else "filter", name, kinds)
    return kinds


def _opened(
    path: Path, topic: str | None, estimator: Callable[[], Estimator] | None
) -> RecordingSource:
    """Read a recording, and estimate its attitude."""
    with working(f"reading {path}"):
        recording = open_imu(path, topic, references)
    with working(f"preparing {path}"):
        return RecordingSource(recording, topic=topic, estimator=estimator)


def _begun(
    path: Path, topic: str | None, estimator: Callable[[], Estimator] | None, stack: ExitStack
) -> LongRecordingSource:
    """Begin to read a long recording."""
    online = None if estimator is None else estimator()
    if isinstance(online, OrientationSmoother):
        raise typer.BadParameter(
            f"a smoother needs all of {path} in memory: leave --smooth out, or shorten the "
            "recording with --from and --until of strapdown convert",
            param_hint="'--smooth'",
        )
    with working(f"reading {path}"):
        source = LongRecordingSource(
            partial(input_blocks, path), name=path.name, topic=topic, estimator=online
        )
    stack.callback(source.close)
    return source


def _with_fields(sources: Sequence[str]) -> list[tuple[str, type[Any] | None, str | None]]:
    """Return each source, its type (None of a file), and the magnetometer that follows it."""
    found: list[tuple[str, type[Any] | None, str | None]] = []
    for source in sources:
        kind = _awaited(source) if is_address(source) else None
        if kind is not MagneticField:
            found.append((source, kind, None))
            continue
        imu, kind, field = found.pop() if found else ("", None, None)
        if kind is not Imu or field is not None:
            raise typer.BadParameter(
                f"{source} carries MagneticField: name it after the live IMU that it belongs to"
            )
        found.append((imu, kind, source))
    return found


def _awaited(text: str) -> type[Any]:
    """Wait for the publisher of a live topic; return the type of its messages."""
    refuse_reading()
    with stopped_by_signals() as (stop, _):
        kind, _ = await_type(
            parse_address(text),
            stop=stop,
            waiting=lambda: say(f"waiting for a publisher of {text}"),
        )
    if kind is None:
        raise KeyboardInterrupt
    return kind


def _received(
    text: str,
    kind: type[Any],
    field: str | None,
    estimator: OrientationFilter | None,
    stack: ExitStack,
) -> LiveSource:
    """Open a live topic, and that of its magnetometer."""
    topic = stack.enter_context(open_topic(text, kind))
    magnetometer = None
    if field is not None:
        magnetometer = stack.enter_context(open_topic(field, MagneticField))
    live = LiveSource(topic, field=magnetometer, estimator=estimator, name=text)
    stack.callback(live.close)
    return live
