"""Orientation live: IMU messages of one topic in, poses on another out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.estimation import poses_of_orientation
from strapdown.messages import Pose3D, conversion

if TYPE_CHECKING:
    from threading import Event

    from strapdown.estimation import FilterReport, OrientationFilter
    from strapdown.messages import Imu
    from strapdown.transport import Topic

__all__ = ["LOOK_S", "fuse_topic"]

LOOK_S: Final = 0.2
"""How long the end waits for an answer at most [s]."""


def fuse_topic(
    source: Topic[Imu], target: Topic[Pose3D], orientation: OrientationFilter, *, stop: Event
) -> FilterReport:
    """Estimate orientation from the messages of a topic until told to stop.

    Each message is answered by a pose with its stamp, position 0, as soon as it comes; what
    has piled up is taken as one block, so a slow moment does not put the estimate behind.

    Parameters
    ----------
    source : Topic of Imu
        Angular velocity and specific force, FLU.
    target : Topic of Pose3D
        ENU from FLU.
    orientation : OrientationFilter
        Goes on from its state; it holds the last estimate afterwards.
    stop : Event
        Ends it, within 0.2 s.

    Returns
    -------
    FilterReport
        An account of the samples.
    """
    while not stop.is_set():
        message = source.recv(timeout=LOOK_S)
        if message is None:
            continue
        messages = [message]
        while (message := source.try_recv()) is not None:
            messages.append(message)
        result = orientation.run(conversion.series_from_imu(messages))
        for record in poses_of_orientation(result):
            target.send(Pose3D.from_record(record))
    return orientation.report
