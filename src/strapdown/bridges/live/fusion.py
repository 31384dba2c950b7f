"""Live orientation: IMU messages of one topic in, poses on another out."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from strapdown._words import counted
from strapdown.bridges.live.field_join import FieldJoin
from strapdown.estimation import poses_of_orientation
from strapdown.messages import MagneticField, Pose3D, conversion
from strapdown.samples import ImuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from threading import Event

    from strapdown._typing import FloatArray
    from strapdown.estimation import FilterReport, OrientationFilter
    from strapdown.messages import Imu
    from strapdown.series import ImuSeries
    from strapdown.transport import Topic

Message = TypeVar("Message")

__all__ = [
    "BLOCK",
    "LOOK_S",
    "FieldTopic",
    "check_type",
    "fuse_topic",
    "incoming",
    "poses",
    "poses_of_series",
    "sample_of",
]

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


def sample_of(message: Imu, field: Iterable[float] | None = None) -> ImuSample:
    """Return the sample of a message, with a magnetic field."""
    return ImuSample(
        message.timestamp_ns, message.angular_velocity, message.linear_acceleration, field
    )


def poses(
    orientation: OrientationFilter, messages: Sequence[Imu], field: FloatArray | None = None
) -> Iterator[Pose3D]:
    """Yield the pose at each message, with its stamp and position 0; one takes 15 us.

    ``field`` has a row for each message, NaN where there is none; until the first one heading is
    relative to the start.
    """
    if len(messages) < BLOCK:
        for each, vector in zip(messages, repeat(None) if field is None else field, strict=False):
            qx, qy, qz, qw = orientation.update(sample_of(each, vector)).tolist()
            yield Pose3D(0.0, 0.0, 0.0, qx, qy, qz, qw, each.timestamp_ns)
        return
    series = conversion.series_from_imu(messages).replace(magnetic_field=field)
    yield from poses_of_series(orientation, series)


def poses_of_series(orientation: OrientationFilter, series: ImuSeries) -> Iterator[Pose3D]:
    """Yield the pose at each row, also where heading is still relative to the start."""
    result = replace(orientation.run(series), heading_known=None)
    for record in poses_of_orientation(result):
        yield Pose3D.from_record(record)


class FieldTopic:
    """Topic of a magnetometer that belongs to an IMU, whose messages it does not delay.

    Parameters
    ----------
    topic : Topic of MagneticField
        Handle from which only this object receives.

    Raises
    ------
    TypeError
        The topic carries other messages.
    """

    def __init__(self, topic: Topic[MagneticField]) -> None:
        check_type(topic, MagneticField)
        self._topic = topic
        self.join = FieldJoin()

    def of(self, messages: Sequence[Imu]) -> FloatArray | None:
        """Return the field at messages, NaN where a message has none; None where all have none."""
        stamps = np.array([each.timestamp_ns for each in messages], np.int64)
        return self.join.at_once(stamps, self._topic.recv_all())

    def losses(self) -> list[str]:
        """Return one line for each kind of loss, on the topic and after it."""
        stats = self._topic.stats()
        kinds = {
            "overwritten or not received": stats.lost_overwritten + stats.lost_transport,
            "could not be read": stats.malformed,
        }
        lines = [
            f"{counted(count, 'sample')} of the magnetometer {kind}"
            for kind, count in kinds.items()
            if count
        ]
        return [*lines, *self.join.losses()]


def check_type(topic: Topic[Any], kind: type[Any]) -> None:
    """Raise unless a topic carries messages of a type."""
    if topic.msg_type is not kind:
        raise TypeError(
            f"expected a topic of {kind.__name__}, got {topic.msg_type.__name__} on {topic.name}"
        )


def fuse_topic(  # noqa: PLR0913 (options of a live run)
    source: Topic[Imu],
    target: Topic[Pose3D],
    orientation: OrientationFilter,
    *,
    stop: Event,
    field: Topic[MagneticField] | None = None,
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
    field : Topic of MagneticField, optional
        Magnetometer in the axes of the IMU. Each sample joins the nearest message that is not
        answered yet, within 20 ms; until the first one heading is relative to the start.
    answered : callable, optional
        Called after each block with the number of messages and the time taken [s].

    Returns
    -------
    FilterReport
        An account of the samples.

    Raises
    ------
    TypeError
        ``field`` carries other messages.
    """
    magnetometer = None if field is None else FieldTopic(field)
    for messages in incoming(source, stop=stop):
        began_s = perf_counter()
        vectors = None if magnetometer is None else magnetometer.of(messages)
        for pose in poses(orientation, messages, vectors):
            target.send(pose)
        if answered is not None:
            answered(len(messages), perf_counter() - began_s)
    return orientation.report
