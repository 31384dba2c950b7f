"""``strapdown fuse`` on a live topic: attitude of each message, and a line every second."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import strapdown.formats as files
from strapdown._words import counted
from strapdown.bridges.live.fusion import BLOCK, LOOK_S, FieldTopic, poses
from strapdown.bridges.live.recorder import Recorder
from strapdown.bridges.live.relay import steps_between
from strapdown.cli._live import exit_code, losses, positive, stopped_by_signals
from strapdown.cli._outcome import Outcome, say
from strapdown.cli._params import changed_lines
from strapdown.errors import PeerLostError
from strapdown.formats import Recording
from strapdown.geometry import EulerConvention, euler
from strapdown.messages import Imu, MagneticField, Pose3D, conversion
from strapdown.transport.address import await_type, is_address, open_topic, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from threading import Event

    from strapdown._typing import FloatArray
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.estimation.result import OrientationEstimate
    from strapdown.transport.topic import Topic

    Write = Callable[[Sequence[Pose3D]], object]

__all__ = ["angles_and_sigmas", "fuse_live_topic"]

TOPIC: Final = "attitude"
"""Topic of the attitude in a file."""
LINE_S: Final = 1.0
"""Interval of the lines [s]."""


def fuse_live_topic(
    source: str,
    orientation: RecursiveFilter[Any],
    *,
    magnetometer: str | None = None,
    output: Path | None,
    duration: float | None,
    force: bool,
) -> Outcome:
    """Fuse the IMU messages of a live topic until the time limit or a signal.

    Parameters
    ----------
    source : str
        Address of the topic.
    orientation : RecursiveFilter
        Continues from its state.
    magnetometer : str, optional
        Address of the topic of the magnetometer of that IMU; nothing waits for its publisher.
    output : Path, optional
        A file, or the address of a topic that takes poses.
    duration : float, optional
        Seconds, including the wait for a publisher but not the compiler; by default without limit.
    force : bool
        Replace a file that exists.

    Raises
    ------
    PeerLostError
        There was no message.
    TransportError
        The topic carries something that cannot be converted to samples of an IMU.
    """
    until_s = time.monotonic() + positive(duration, "'--duration'")
    address = parse_address(source)
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        kind, waited = await_type(
            address, stop=stop, waiting=lambda: say(f"waiting for {address}"), until_s=until_s
        )
        live = _Live(orientation)
        field: FieldTopic | None = None
        if kind is not None:
            steps = [convert for _, convert in steps_between(kind, Imu)]
            until_s += _compile(orientation)
            history = None if waited else 0
            if magnetometer is not None:
                opened = open_topic(magnetometer, MagneticField, history=history)
                field = FieldTopic(stack.enter_context(opened))
            handle = stack.enter_context(open_topic(address, kind, history=history))
            write = stack.enter_context(_written(output, force=force))
            say(f"fusing {address} ({kind.__name__})")
            live.run(_arriving(handle, stop, until_s), steps, write, field)
            stats = handle.stats()
            lost = losses(stats.lost_overwritten + stats.lost_transport, stats.malformed)
            if field is not None:
                lost += field.losses()
        if not live.count:
            raise PeerLostError(
                f"expected IMU messages on {address}, received none; strapdown cat {address} shows "
                "whether anyone sends"
            )
    report = orientation.report
    data: dict[str, Any] = {
        "attitudes": live.count,
        "seconds": live.seconds,
        "rate_hz": live.rate_hz,
        "output": None if output is None else str(output),
        "report": report.to_dict(),
    }
    view = [*changed_lines(orientation), str(report)]
    if field is not None:
        data["magnetometer"] = {"input": magnetometer, **field.join.to_dict()}
        view += field.join.notes()
    if output is not None:
        view.append(f"wrote {output}: {counted(live.count, 'attitude')}")
    return Outcome(data, view, [*lost, *report.losses()], code=exit_code(signals))


class _Live:
    """Fusion of messages as they arrive, with a line every second."""

    def __init__(self, orientation: RecursiveFilter[Any]) -> None:
        self.count = 0
        self.seconds = 0.0
        self._orientation = orientation

    @property
    def rate_hz(self) -> float:
        """Messages per second."""
        return self.count / self.seconds if self.seconds else float("nan")

    def run(
        self,
        arriving: Iterator[list[Any]],
        steps: Sequence[Callable[[Any], Any]],
        write: Write,
        field: FieldTopic | None = None,
    ) -> None:
        """Estimate and write until there are no more blocks of messages."""
        began_s = line_s = time.monotonic()
        shown = 0
        for messages in arriving:
            for convert in steps:
                messages = [each for m in messages if (each := convert(m)) is not None]  # noqa: PLW2901 (a chain)
            if messages:
                vectors = None if field is None else field.of(messages)
                write(list(poses(self._orientation, messages, vectors)))
                self.count += len(messages)
            now_s = time.monotonic()
            self.seconds = now_s - began_s
            if now_s - line_s >= LINE_S:
                rate_hz = (self.count - shown) / (now_s - line_s)
                say(_line(rate_hz, self._orientation.estimate))
                line_s, shown = now_s, self.count


def _line(rate_hz: float, estimate: OrientationEstimate) -> str:
    """Return rate, angles and their standard deviations as a line."""
    if not rate_hz:
        return "no message for 1 s"
    angles, sigmas = angles_and_sigmas(estimate.q_world_from_body, estimate.orientation_covariance)
    parts = [
        f"{name} {angle:.2f}" + (f" +- {sigma:.2f}" if np.isfinite(sigma) else "")
        for name, angle, sigma in zip(
            ("roll", "pitch", "yaw"), np.degrees(angles), np.degrees(sigmas), strict=True
        )
    ]
    rest = ", at rest" if estimate.rest else ""
    return f"{rate_hz:.1f} Hz: {', '.join(parts)} deg{rest}"


def angles_and_sigmas(
    q_world_from_body: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return roll, pitch and yaw (ZYX), and their standard deviations.

    A small rotation about the world axes is the sum of small turns about the axes of roll, pitch
    and yaw, ``delta = J d(roll, pitch, yaw)``, so that their covariance is ``J^-1 P J^-T``.

    Parameters
    ----------
    q_world_from_body : (4,)
        Attitude, x y z w.
    covariance : (3, 3)
        Of a rotation about the world axes [rad^2].

    Returns
    -------
    angles : (3,)
        [rad].
    sigmas : (3,)
        [rad]; NaN without a covariance, and where the nose points up or down.
    """
    angles = euler.from_quaternion(q_world_from_body, EulerConvention.ZYX)
    _, pitch, yaw = angles
    axes = np.array(
        [
            [np.cos(pitch) * np.cos(yaw), -np.sin(yaw), 0.0],
            [np.cos(pitch) * np.sin(yaw), np.cos(yaw), 0.0],
            [-np.sin(pitch), 0.0, 1.0],
        ]
    )
    if not np.isfinite(covariance).all() or covariance[0, 0] <= 0.0 or np.cos(pitch) < 1e-3:
        return angles, np.full(3, np.nan)
    inverse = np.linalg.inv(axes)
    return angles, np.sqrt(np.diagonal(inverse @ covariance @ inverse.T))


def _compile(orientation: RecursiveFilter[Any]) -> float:
    """Compile a filter before the first message, so that none is lost; return the time [s]."""
    began_s = time.monotonic()
    at_rest = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0)
    for messages in ([at_rest], [at_rest] * BLOCK):
        for _ in poses(orientation, messages):
            pass
    orientation.reset()
    return time.monotonic() - began_s


def _arriving(handle: Topic[Any], stop: Event, until_s: float) -> Iterator[list[Any]]:
    """Yield received messages, or none after a while, until stopped; the last are those queued."""
    is_last = False
    while not is_last:
        left_s = until_s - time.monotonic()
        is_last = stop.is_set() or left_s <= 0.0
        message = handle.recv(timeout=0.0 if is_last else min(LOOK_S, left_s))
        yield [] if message is None else [message, *handle.recv_all()]


@contextmanager
def _written(output: Path | None, *, force: bool) -> Iterator[Write]:
    """Yield a function that writes poses: to a topic, an MCAP file, another file, or nowhere."""
    if output is None:
        yield lambda _poses: None
    elif is_address(str(output)):
        with open_topic(str(output), Pose3D) as target:
            yield lambda poses: [target.send(pose) for pose in poses]
    elif output.suffix.lower() == ".mcap":
        with Recorder(output, force=force) as recorder:
            recorder.add(TOPIC, Pose3D)
            yield lambda poses: [recorder.write(TOPIC, pose) for pose in poses]
    else:
        with files.block_writer(output, force=force) as writer:

            def write(poses: Sequence[Pose3D]) -> None:
                track = conversion.trajectory_from_pose(poses).replace(position_world=None)
                writer.write(Recording(trajectories={TOPIC: track}))

            yield write
