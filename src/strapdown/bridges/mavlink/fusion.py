"""Orientation live: IMU messages of an autopilot in, its ATTITUDE_QUATERNION out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.bridges.live.fusion import LOOK_S
from strapdown.formats.mavlink.attitude import attitude_records_from_trajectory
from strapdown.formats.mavlink.conversion import series_from_records
from strapdown.formats.mavlink.messages import Kind, records_from_messages
from strapdown.geometry import BodyFrame, WorldFrame
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown.bridges.mavlink.link import MavlinkLink
    from strapdown.estimation import OrientationFilter
    from strapdown.formats.mavlink.messages import WireMessage

__all__ = ["IMU_KINDS", "fuse_link"]

IMU_KINDS: Final = (Kind.HIL_SENSOR, Kind.HIGHRES_IMU)
"""Messages that are fine enough to integrate."""


def fuse_link(
    source: MavlinkLink,
    target: MavlinkLink | None,
    orientation: OrientationFilter,
    *,
    goes_on: Callable[[], bool],
    use_magnetic_field: bool = True,
) -> Trajectory:
    """Estimate orientation from HIGHRES_IMU or HIL_SENSOR until stopped.

    The first sender and kind that is heard is followed; others are left alone.

    Parameters
    ----------
    source : MavlinkLink
        Where IMU messages come from.
    target : MavlinkLink, optional
        Where an ATTITUDE_QUATERNION is sent for each of them.
    orientation : OrientationFilter
        Goes on from its state.
    goes_on : callable
        Asked before each wait, which lasts at most 0.2 s.
    use_magnetic_field : bool
        False leaves the magnetometer out.

    Returns
    -------
    Trajectory
        Everything that was estimated, NED from FRD; its stamps are those of the messages. If
        there is a magnetic field, rows before the first one are NaN. What was sent until then
        had a heading relative to the start.
    """
    tracks: list[Trajectory] = []
    followed, is_relative = None, True
    while goes_on():
        message = source.receive(LOOK_S)
        if message is None:
            continue
        messages: list[WireMessage] = []
        while message is not None:
            who = (message.get_srcSystem(), message.get_srcComponent(), message.get_type())
            followed = followed or (who if _is_imu(message) else None)
            if who == followed:
                messages.append(message)
            message = source.receive(0.0)
        if messages:
            kind = Kind[messages[0].get_type()]
            series = series_from_records(kind, records_from_messages(kind, messages))
            result = orientation.run(
                series.in_frames(world=WorldFrame.NED), use_magnetic_field=use_magnetic_field
            )
            if is_relative and result.uses_magnetic_field:
                tracks, is_relative = [_without_heading(track) for track in tracks], False
            tracks.append(result.trajectory())
            if target is not None:
                records = attitude_records_from_trajectory(
                    tracks[-1], angular_velocity=series.angular_velocity - result.gyro_bias
                )
                target.send(Kind.ATTITUDE_QUATERNION, records)
    return Trajectory.concatenate(tracks or [_nothing()])


def _is_imu(message: WireMessage) -> bool:
    return message.get_type() in {kind.name for kind in IMU_KINDS}


def _without_heading(track: Trajectory) -> Trajectory:
    """Return a track of unknown attitudes: its heading was relative to the start."""
    return track.replace(q_world_from_body=np.full_like(track.q_world_from_body, np.nan))


def _nothing() -> Trajectory:
    """Return a track without rows."""
    rows = np.empty(0, np.int64)
    return Trajectory(rows, np.empty((0, 4)), world=WorldFrame.NED, body=BodyFrame.FRD)
