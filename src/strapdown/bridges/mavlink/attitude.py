"""Attitude in ATTITUDE_QUATERNION: NED from body FRD, in the order w x y z."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.bridges.mavlink.messages import DTYPES, Kind, put_stamps, stamps_of
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["attitude_records_from_trajectory", "trajectory_from_attitude_records"]

_ATTITUDE: Final = ("q1", "q2", "q3", "q4")
_RATES: Final = ("rollspeed", "pitchspeed", "yawspeed")


def attitude_records_from_trajectory(
    trajectory: Trajectory, *, angular_velocity: ArrayLike | None = None
) -> NDArray[np.void]:
    """Convert attitude to ATTITUDE_QUATERNION, without an offset for display.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    angular_velocity : (N, 3) array_like, optional
        [rad/s, body FRD]; by default NaN.

    Returns
    -------
    (N,) array of DTYPES[Kind.ATTITUDE_QUATERNION]
        Stamps are whole milliseconds, rounded down.

    Raises
    ------
    ValueRangeError
        A stamp does not fit.
    ShapeError
        The angular velocity has another shape.
    """
    trajectory = trajectory.in_frames(world=WorldFrame.NED, body=BodyFrame.FRD)
    records = np.zeros(len(trajectory), DTYPES[Kind.ATTITUDE_QUATERNION])
    put_stamps(records, trajectory.t_ns)
    for name, column in zip(_ATTITUDE, np.roll(trajectory.q_world_from_body, 1, 1).T, strict=True):
        records[name] = column
    rates = np.full((len(trajectory), 3), np.nan)
    if angular_velocity is not None:
        rates[:] = as_floats(angular_velocity, "angular_velocity", (len(trajectory), 3))
    for name, column in zip(_RATES, rates.T, strict=True):
        records[name] = column
    return records


def trajectory_from_attitude_records(records: NDArray[np.void]) -> Trajectory:
    """Convert ATTITUDE_QUATERNION to attitude, NED from FRD.

    Parameters
    ----------
    records : (N,) array of DTYPES[Kind.ATTITUDE_QUATERNION]
        Records of one sender. ``repr_offset_q`` rotates displays only, and is ignored.

    Returns
    -------
    Trajectory
        N rows.
    """
    wxyz = np.stack([records[name] for name in _ATTITUDE], axis=1)
    return Trajectory(
        stamps_of(records),
        np.roll(wxyz, -1, 1),
        world=WorldFrame.NED,
        body=BodyFrame.FRD,
        name=Kind.ATTITUDE_QUATERNION.name,
    )
