"""``strapdown mavlink record``: recording of received or logged messages."""

from __future__ import annotations

import math
import time
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

import strapdown.formats as files
from strapdown.bridges.mavlink import Collection, MavlinkLink, RawScale, read_tlog
from strapdown.cli._common import Force, read_losses
from strapdown.cli._outcome import EXIT_OK, Outcome, say
from strapdown.cli._streams import as_file, naming
from strapdown.errors import FormatError, PeerLostError
from strapdown.webots.run.runner import ended_by_signals

if TYPE_CHECKING:
    from strapdown.formats import Recording

LOOK_S = 0.2
"""Longest wait between checks for signals [s]."""


def record(
    target: Annotated[Path, typer.Argument(help="The file to write, such as .mcap.")],
    *,
    listen: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT", help="UDP address to listen at; port 0: any free port."
        ),
    ] = "127.0.0.1:14550",
    duration: Annotated[
        float | None, typer.Option(help="Seconds to listen; by default until Ctrl-C.")
    ] = None,
    tlog: Annotated[
        Path | None,
        typer.Option(help="Read this telemetry log, - for standard input, instead of listening."),
    ] = None,
    raw_scale: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="ACCEL GYRO MAG",
            help="Scale of RAW_IMU per count \\[m/s^2, rad/s, T]; without it only that of "
            "ArduPilot is read.",
        ),
    ] = None,
    force: Force = False,
) -> Outcome:
    """Record HIL_SENSOR, HIGHRES_IMU, SCALED_IMU, RAW_IMU, ATTITUDE and ATTITUDE_QUATERNION.

    Topics are named sys1/comp1/highres_imu, by sender. Without a host,
    --listen receives from this machine only. The first Ctrl-C or SIGTERM ends
    the recording and keeps it.

    Exit codes: 3 messages are missing according to their sequence numbers, or
    bytes belong to no message; 130 Ctrl-C; 143 SIGTERM.

    The fields of --json: output, samples (by topic), skipped (messages of
    other kinds), notes.

    Examples
    --------
    strapdown mavlink record flight.mcap --listen 127.0.0.1:14550 --duration 60

    strapdown mavlink record bench.npz --listen 0.0.0.0:14550

    strapdown mavlink record flight.mcap --tlog flight.tlog --raw-scale 9.80665e-3 1e-3 1e-7
    """
    if duration is not None and not duration > 0.0:
        raise typer.BadParameter(
            f"expected seconds above 0, got {duration}", param_hint="'--duration'"
        )
    scale = None if raw_scale is None else RawScale(*raw_scale)
    code = EXIT_OK
    with files.block_writer(target, force=force) as written:  # fails before listening
        if tlog is not None:
            recording = _logged(tlog, scale)
        else:
            recording, code = _listen(listen, duration, scale)
        written.write(recording)
    topics = {**recording.imu, **recording.trajectories}
    data = {
        "output": str(target),
        "samples": {topic: len(series) for topic, series in topics.items()},
        "skipped": dict(recording.report.skipped),
        "notes": [*recording.report.notes, *written.notes],
    }
    view = [f"wrote {target}: {written.messages} messages", *data["notes"]]
    return Outcome(data, view, [*read_losses(recording.report), *written.lost], code=code)


def _logged(path: Path, scale: RawScale | None) -> Recording:
    """Return the messages of a telemetry log; raise if there are none of an IMU or attitude."""
    file = as_file(path)
    with naming(path):
        recording = read_tlog(file, on_error="salvage", scale=scale)
    if not (recording.imu or recording.trajectories):
        found = ", ".join(f"{name} {count}" for name, count in recording.report.skipped.items())
        what = f"expected messages of an IMU or of attitude, got others: {found}"
        hint = "; pass --raw-scale for RAW_IMU" if "RAW_IMU" in recording.report.skipped else ""
        raise FormatError(what + hint, path=path)
    return recording


def _listen(address: str, duration: float | None, scale: RawScale | None) -> tuple[Recording, int]:
    """Return the messages until the time limit or a signal, and the exit code."""
    collection, stop = Collection(scale=scale), Event()
    with MavlinkLink(listen=address) as link, ended_by_signals(stop.set) as signals:
        host, port = link.address
        say(f"listening at {host}:{port}")
        until = math.inf if duration is None else time.monotonic() + duration
        while not stop.is_set() and (left := until - time.monotonic()) > 0.0:
            message = link.receive(min(left, LOOK_S))
            if message is not None:
                collection.add(message)
    recording = collection.recording(link.decoder, name="mavlink")
    if not collection.messages:
        others = sum(recording.report.skipped.values())
        raise PeerLostError(
            f"expected MAVLink messages of an IMU at {host}:{port}, received "
            f"{f'{others} of other types' if others else 'none'}; check the target of the sender"
        )
    return recording, 128 + signals[0] if signals else EXIT_OK
