"""Orientation live: IMU messages of one topic in, poses on another out."""

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

__all__ = ["BLOCK", "LOOK_S", "fuse_topic", "incoming", "poses"]

LOOK_S: Final = 0.2
"""How long the end waits for an answer at most [s]."""
BLOCK: Final = 25
"""So many messages are answered sooner as a series than one by one."""
_SLICE_S: Final = 0.05
"""The same where parts that end wait for each other, one after another [s]."""


def incoming(source: Topic[Message], *, stop: Event) -> Iterator[list[Message]]:
    """Yield the messages of a topic as they come, until told to stop.

    What has piled up is one block, so a slow moment does not put its receiver behind.

    Parameters
    ----------
    source : Topic
        Where they come from.
    stop : Event
        Ends it, within 0.05 s; what waits then is the last block.
    """
    while True:
        is_last = stop.is_set()
        message = source.recv(timeout=0.0 if is_last else _SLICE_S)
        if message is not None:
            yield [message, *source.recv_all()]
        if is_last:
            return


def poses(orientation: OrientationFilter, messages: Sequence[Imu]) -> Iterator[Pose3D]:
    """Yield the pose at each message, with its stamp and position 0; a lone one costs 15 us."""
    if len(messages) < BLOCK:
        for each in messages:
            sample = ImuSample(each.timestamp_ns, each.angular_velocity, each.linear_acceleration)
            qx, qy, qz, qw = orientation.update(sample).tolist()
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
    """Estimate orientation from the messages of a topic until told to stop.

    Each message is answered by a pose with its stamp, position 0, as soon as it comes.

    Parameters
    ----------
    source : Topic of Imu
        Angular velocity and specific force, FLU.
    target : Topic of Pose3D
        ENU from FLU.
    orientation : OrientationFilter
        Goes on from its state; it holds the last estimate afterwards.
    stop : Event
        Ends it, within 0.05 s; what waits then is answered.
    answered : callable, optional
        Told after each block of messages how many it answered, and how long that took [s].

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
