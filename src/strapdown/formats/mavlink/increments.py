"""Mean rates that an autopilot sends, from its increments and back to increments.

References
----------
``mavlink/streams/HIGHRES_IMU.hpp`` and ``SCALED_IMU.hpp`` of PX4-Autopilot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._checks import as_floats, as_member
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.formats._coverage import LEAST_COVERAGE, Coverage
from strapdown.formats.mavlink.conversion import (
    COUNT_KINDS,
    NO_AMBIENT,
    coarseness,
    records_from_series,
    series_from_records,
)
from strapdown.formats.mavlink.messages import ATTITUDE_KINDS, Kind
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages._by_column import as_records, stamps_from_unsigned
from strapdown.messages.conversion.px4 import increments_from_mean_rates
from strapdown.messages.px4 import VehicleImu
from strapdown.series import ImuSeries, Increments
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from strapdown._typing import FloatArray
    from strapdown.formats.mavlink.conversion import Ambient, RawScale
    from strapdown.messages._by_column import Messages

__all__ = [
    "CoveredIncrements",
    "increments_from_records",
    "records_from_vehicle_imu",
]


class CoveredIncrements(NamedTuple):
    """Increments, and how much of the time they account for."""

    increments: Increments
    coverage: Coverage
    """Their ``share`` is the sum of the intervals over the time."""
    dropped: int
    """Messages without measurement, or not later than all before."""


def records_from_vehicle_imu(  # noqa: PLR0913 (what the autopilot puts beside it is all named)
    kind: Kind | str,
    messages: Messages,
    *,
    gyro_bias: ArrayLike = 0.0,
    accel_bias: ArrayLike = 0.0,
    magnetic_field: ArrayLike | None = None,
    ambient: Ambient = NO_AMBIENT,
) -> NDArray[np.void]:
    """Convert messages of PX4 to what its MAVLink streams send of them.

    Mean rates ``delta * (1e6 / dt)`` less the bias that the estimator knows, in float32; stamped
    with ``timestamp_sample``, the end of the window (SCALED_IMU: with ``timestamp``).

    Parameters
    ----------
    kind : {HIGHRES_IMU, SCALED_IMU, SCALED_IMU2, SCALED_IMU3}
        Which message.
    messages : VehicleImu, iterable of VehicleImu, or array of VehicleImu.dtype
        N messages.
    gyro_bias, accel_bias : (3,) or (N, 3) array_like, optional
        [rad/s, m/s^2, body FRD].
    magnetic_field : (N, 3) array_like, optional
        [T, body FRD].
    ambient : Ambient, optional
        The other measurements.

    Returns
    -------
    (N,) array of DTYPES[kind]

    Raises
    ------
    UnknownNameError
        Another message is asked for.
    ValueRangeError, ShapeError, TypeError
        As :func:`records_from_series`, or the messages are of another type.
    """
    kind = as_member(Kind, kind, "MAVLink message")
    known = (Kind.HIGHRES_IMU, *COUNT_KINDS[:3])
    if kind not in known:
        raise UnknownNameError("message of increments", kind, known)
    imu = as_records(messages, VehicleImu)
    mag = None if magnetic_field is None else as_floats(magnetic_field, "magnetic_field", (3,))
    stamp = "timestamp_sample" if kind is Kind.HIGHRES_IMU else "timestamp"
    series = ImuSeries(
        stamps_from_unsigned(imu[stamp], stamp, NS_PER_US),
        _mean_rate(imu, "delta_angle", gyro_bias),
        _mean_rate(imu, "delta_velocity", accel_bias),
        magnetic_field=mag,
        body=BodyFrame.FRD,
        world=WorldFrame.NED,
    )
    return records_from_series(kind, series, ambient=ambient)


def _mean_rate(imu: NDArray[np.void], name: str, bias: ArrayLike) -> FloatArray:
    """Return increments over their intervals, in the arithmetic of the autopilot.

    Not finite where an interval is 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        per_second = np.float32(1e6) / imu[f"{name}_dt"].astype(np.float32)
        rate = imu[name] * per_second[:, None] - np.asarray(bias, np.float32)
    return np.asarray(rate, np.float64)


def increments_from_records(
    kind: Kind | str,
    records: NDArray[np.void],
    *,
    window_ns: int | None = None,
    scale: RawScale | None = None,
    force: bool = False,
) -> CoveredIncrements:
    """Convert mean rates of an autopilot to increments, where they account for the time.

    The messages do not say how long their intervals are. Each is taken to last since the message
    before, and no longer than ``window_ns``; without ``window_ns``, one that lasts over 1.5
    median intervals follows a loss and lasts the median. HIGHRES_IMU comes without the biases
    that the autopilot's estimator knows: they are not in the increments either.

    Parameters
    ----------
    kind : Kind or its name
        HIGHRES_IMU; SCALED_IMU and RAW_IMU, whose resolution is too coarse, by force.
    records : (N,) array of DTYPES[kind]
        Of one sender and one sensor.
    window_ns : int, optional
        The integration interval of the autopilot, where it is known [ns].
    scale : RawScale, optional
        Of RAW_IMU, which needs it.
    force : bool
        Convert coarse messages, and those that account for less than 0.99 of the time.

    Returns
    -------
    CoveredIncrements
        At most N - 1 rows, FRD, with their coverage.

    Raises
    ------
    ValueRangeError
        The messages are refused (see ``force``), fewer than two can be used, or a stamp does
        not fit.
    UnknownNameError
        The message holds no means over intervals.
    """
    kind = as_member(Kind, kind, "MAVLink message")
    if kind in {Kind.HIL_SENSOR, *ATTITUDE_KINDS}:
        means = [Kind.HIGHRES_IMU, *COUNT_KINDS]
        raise UnknownNameError("message of mean rates (integrate samples instead)", kind, means)
    if kind in COUNT_KINDS and not force:
        raise ValueRangeError(
            f"expected HIGHRES_IMU to integrate, got {kind.name}, which is too coarse: "
            f"{coarseness(kind)}; pass force=True to integrate it all the same"
        )
    series = series_from_records(kind, records, scale=scale)
    usable = np.isfinite(series.angular_velocity) & np.isfinite(series.specific_force)
    series = series[np.flatnonzero(usable.all(axis=1))]
    series = series[np.diff(np.maximum.accumulate(series.t_ns), prepend=-1) > 0]
    if len(series) < 2:
        raise ValueRangeError(f"expected two or more usable {kind.name}, got {len(series)}")
    steps = np.diff(series.t_ns)
    if window_ns is None:
        usual = int(np.median(steps))
        intervals = np.where(2 * steps > 3 * usual, usual, steps)
    else:
        intervals = np.minimum(steps, window_ns)
    ends = series[1:]
    coverage = Coverage.of(ends.t_ns, intervals)
    if coverage.share < LEAST_COVERAGE and not force:
        raise ValueRangeError(
            f"expected {kind.name} for at least {LEAST_COVERAGE} of the time, got "
            f"{coverage.share:.3f}; have it sent at every window, or pass force=True"
        )
    centred = ends.replace(t_ns=ends.t_ns - intervals // 2)
    increments = increments_from_mean_rates(centred, intervals)
    return CoveredIncrements(increments, coverage, len(records) - len(series))
