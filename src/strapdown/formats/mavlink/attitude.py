"""Attitude of NED from body FRD: ATTITUDE_QUATERNION in the order w x y z, ATTITUDE in angles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_floats
from strapdown.formats.mavlink.messages import DTYPES, Kind, put_stamps, stamps_of
from strapdown.geometry import euler
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["attitude_records_from_trajectory", "trajectory_from_attitude_records"]

_QUATERNION: Final = ("q1", "q2", "q3", "q4")
_ANGLES: Final = ("roll", "pitch", "yaw")
_RATES: Final = ("rollspeed", "pitchspeed", "yawspeed")


def attitude_records_from_trajectory(
    trajectory: Trajectory,
    *,
    angular_velocity: ArrayLike | None = None,
    kind: Kind = Kind.ATTITUDE_QUATERNION,
) -> NDArray[np.void]:
    """Convert attitude to ATTITUDE_QUATERNION, without an offset for display, or to ATTITUDE.

    Parameters
    ----------
    trajectory : Trajectory
        N rows, in any frames.
    angular_velocity : (N, 3) array_like, optional
        [rad/s, body FRD]; by default NaN.
    kind : Kind
        ATTITUDE_QUATERNION or ATTITUDE.

    Returns
    -------
    (N,) array of DTYPES[kind]
        Stamps are whole milliseconds, rounded down.

    Raises
    ------
    ValueRangeError
        A stamp does not fit.
    ShapeError
        The angular velocity has another shape.
    """
    trajectory = trajectory.in_frames(world=WorldFrame.NED, body=BodyFrame.FRD)
    records = np.zeros(len(trajectory), DTYPES[kind])
    put_stamps(records, trajectory.t_ns)
    q = trajectory.q_world_from_body
    is_angles = kind is Kind.ATTITUDE
    columns = euler.from_quaternion(q, "zyx") if is_angles else np.roll(q, 1, 1)
    for name, column in zip(_ANGLES if is_angles else _QUATERNION, columns.T, strict=True):
        records[name] = column
    rates = np.full((len(trajectory), 3), np.nan)
    if angular_velocity is not None:
        rates[:] = as_floats(angular_velocity, "angular_velocity", (len(trajectory), 3))
    for name, column in zip(_RATES, rates.T, strict=True):
        records[name] = column
    return records


def trajectory_from_attitude_records(records: NDArray[np.void]) -> Trajectory:
    """Convert ATTITUDE_QUATERNION or ATTITUDE to attitude, NED from FRD.

    Parameters
    ----------
    records : (N,) array of DTYPES[Kind.ATTITUDE_QUATERNION] or DTYPES[Kind.ATTITUDE]
        Records of one sender. ``repr_offset_q`` rotates displays only, and is ignored.

    Returns
    -------
    Trajectory
        N rows.
    """
    kind = Kind.ATTITUDE if "roll" in (records.dtype.names or ()) else Kind.ATTITUDE_QUATERNION
    names = _ANGLES if kind is Kind.ATTITUDE else _QUATERNION
    columns = np.stack([records[name] for name in names], axis=1)
    q = euler.to_quaternion(columns, "zyx") if kind is Kind.ATTITUDE else np.roll(columns, -1, 1)
    return Trajectory(
        stamps_of(records),
        q,
        world=WorldFrame.NED,
        body=BodyFrame.FRD,
        name=kind.name,
    )
