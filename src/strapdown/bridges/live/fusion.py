"""Live orientation: IMU messages of one topic in, poses on another out."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from strapdown.estimation import poses_of_orientation
from strapdown.messages import Pose3D, conversion
from strapdown.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event

    from strapdown.estimation import FilterReport, OrientationFilter
    from strapdown.messages import Imu
    from strapdown.transport import Topic

Message = TypeVar("Message")

__all__ = ["BLOCK", "LOOK_S", "fuse_topic", "incoming", "poses", "sample_of"]

LOOK_S: Final = 0.2
"""Longest wait for an answer at the end [s]."""
BLOCK: Final = 25
"""Number of messages from which a series is faster than single updates."""
_SLICE_S: Final = 0.05
"""The same in a pipeline, whose stages end one after another [s]."""


def incoming(source: Topic[Message], *, stop: Event) -> Iterator[list[Message]]:
    """Yield the messages of a topic as they arrive, until stopped.

    Messages that have queued up form one block, so that a slow receiver catches up.

    Parameters
    ----------
    source : Topic
        Topic to receive from.
    stop : Event
        Ends the iteration within 0.05 s; queued messages are the last block.
    """
    while True:
        is_last = stop.is_set()
        message = source.recv(timeout=0.0 if is_last else _SLICE_S)
        if message is not None:
            yield [message, *source.recv_all()]
        if is_last:
            return


def sample_of(message: Imu) -> ImuSample:
    """Return the sample of a message."""
    return ImuSample(message.timestamp_ns, message.angular_velocity, message.linear_acceleration)


def poses(orientation: OrientationFilter, messages: Sequence[Imu]) -> Iterator[Pose3D]:
    """Yield the pose at each message, with its stamp and position 0; one takes 15 us."""
    if len(messages) < BLOCK:
        for each in messages:
            qx, qy, qz, qw = orientation.update(sample_of(each)).tolist()
            yield Pose3D(0.0, 0.0, 0.0, qx, qy, qz, qw, each.timestamp_ns)
        return
    result = orientation.run(conversion.series_from_imu(messages))
    for record in poses_of_orientation(result):
        yield Pose3D.from_record(record)


def fuse_topic(
    source: Topic[Imu],
    target: Topic[Pose3D],
    orientation: OrientationFilter,
    *,
    stop: Event,
    answered: Callable[[int, float], object] | None = None,
) -> FilterReport:
    """Estimate orientation from the messages of a topic until stopped.

    Each message is answered at once by a pose with its stamp and position 0.

    Parameters
    ----------
    source : Topic of Imu
        Angular velocity and specific force, FLU.
    target : Topic of Pose3D
        ENU from FLU.
    orientation : OrientationFilter
        Continues from its state; it holds the last estimate afterwards.
    stop : Event
        Ends the estimation within 0.05 s; queued messages are answered.
    answered : callable, optional
        Called after each block with the number of messages and the time taken [s].

    Returns
    -------
    FilterReport
        An account of the samples.
    """
    for messages in incoming(source, stop=stop):
        began_s = perf_counter()
        for pose in poses(orientation, messages):
            target.send(pose)
        if answered is not None:
            answered(len(messages), perf_counter() - began_s)
    return orientation.report
