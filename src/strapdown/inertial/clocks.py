"""Gyroscope and accelerometer that are sampled at different times.

Coning needs the angles only, but sculling needs angle and velocity over the same intervals.
The gyroscope is the master: the integral of the accelerometer is interpolated at its stamps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FrameError
from strapdown.inertial.increments import WindowRule, as_integrable, integrate
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.inertial.increments import Integration
    from strapdown.series import ImuSeries

__all__ = ["SAME_CLOCK", "integrate_pair", "on_gyro_clock"]

SAME_CLOCK: Final = 0.005
"""Largest difference of stamps of one clock, as a part of the sampling interval."""


def integrate_pair(
    gyro: ImuSeries,
    accel: ImuSeries,
    *,
    gyro_kind: SampleKind = SampleKind.POINT,
    accel_kind: SampleKind = SampleKind.POINT,
    window: WindowRule | IntArray,
    max_gap_ns: int | None = None,
) -> Integration:
    """Integrate the samples of a gyroscope and an accelerometer in two series.

    Stamps that differ by up to 0.5 % of the sampling interval are taken as the same; otherwise
    the accelerometer is interpolated by :func:`on_gyro_clock`.

    Parameters
    ----------
    gyro, accel : ImuSeries
        ``angular_velocity`` of the first, ``specific_force`` of the second, and their clipping.
    gyro_kind, accel_kind, window, max_gap_ns
        As in :func:`~strapdown.inertial.integrate`.

    Returns
    -------
    Integration

    Raises
    ------
    FrameError
        The two have different axes.
    ValueRangeError, TimeOrderError, ShapeError, UnknownNameError
        As :func:`~strapdown.inertial.integrate`.
    """
    if _is_same_clock(gyro.t_ns, accel.t_ns):
        series = _joined(gyro, accel, accel.specific_force, accel.accel_clipping)
    else:
        series = on_gyro_clock(gyro, accel, accel_kind=accel_kind)
        accel_kind = SampleKind.INTEGRAL
    result = integrate(
        series, gyro_kind=gyro_kind, accel_kind=accel_kind, window=window, max_gap_ns=max_gap_ns
    )
    left_out = len(gyro) - len(series)
    report = replace(
        result.report,
        samples=result.report.samples + left_out,
        not_finite=result.report.not_finite + left_out,
    )
    return replace(result, report=report)


def on_gyro_clock(gyro: ImuSeries, accel: ImuSeries, *, accel_kind: SampleKind) -> ImuSeries:
    """Return velocity increments between the stamps of a gyroscope.

    The integral of specific force is interpolated between the stamps of the accelerometer: by
    a cubic Hermite polynomial where point samples give its slopes, else by straight lines.

    Parameters
    ----------
    gyro : ImuSeries
        All its columns but the specific force are kept.
    accel : ImuSeries
        Its ``specific_force`` and ``accel_clipping`` are used.
    accel_kind : SampleKind
        Kind of the specific force.

    Returns
    -------
    ImuSeries
        The samples of ``gyro`` whose angular velocity is finite. ``specific_force`` holds
        velocity increments between them [m/s], to be integrated as ``SampleKind.INTEGRAL``; NaN
        in gaps of the accelerometer, before its start and after its end. ``accel_clipping`` is
        that of the samples after the stamp before, up to the first at or after the same stamp.

    Raises
    ------
    FrameError
        The two have different axes.
    UnknownNameError
        There is no such kind.
    """
    gyro = gyro[np.flatnonzero(np.isfinite(gyro.angular_velocity).all(axis=1))]
    accel = accel[np.argsort(accel.t_ns, kind="stable")]
    velocity, stretch = _gathered(accel, as_integrable(accel_kind), gyro.t_ns)
    increments = np.diff(velocity, axis=0, prepend=velocity[:1])
    before = np.append(stretch[:1], stretch[:-1])
    increments[before != stretch] = np.nan
    increments[before < 0] = 0.0  # at the start of a stretch no increment is needed
    increments[stretch < 0] = np.nan
    return _joined(gyro, accel, increments, _clipping_between(accel, gyro.t_ns))


def _gathered(
    accel: ImuSeries, kind: SampleKind | None, t_ns: IntArray
) -> tuple[FloatArray, IntArray]:
    """Return the integral of specific force, and the number of the gap-free stretch (-1: none)."""
    steps = integrate(
        accel.replace(angular_velocity=np.zeros_like(accel.specific_force)),
        gyro_kind=None,
        accel_kind=kind,
        window=WindowRule(1),
    ).increments
    velocity, stretch = np.zeros((len(t_ns), 3)), np.full(len(t_ns), -1)
    if not len(steps):
        return velocity, stretch
    ends, lengths = steps.t_ns, steps.delta_velocity_dt_ns
    starts = ends - lengths
    row = np.minimum(np.searchsorted(ends, t_ns), len(ends) - 1)
    known = (starts[row] <= t_ns) & (t_ns <= ends[row])
    row, t_ns = row[known], t_ns[known]
    before = np.cumsum(steps.delta_velocity, axis=0) - steps.delta_velocity
    u = ((t_ns - starts[row]) / lengths[row])[:, None]
    part = steps.delta_velocity[row] * u
    if kind == SampleKind.POINT:
        part = _hermite(u, steps.delta_velocity[row], *_slopes(accel, starts[row], ends[row]))
    velocity[known] = before[row] + part
    stretch[known] = np.cumsum(np.append(False, starts[1:] != ends[:-1]))[row]
    return velocity, stretch


def _slopes(accel: ImuSeries, starts: IntArray, ends: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the slopes at both ends of each step, as increments over the step."""
    whole = np.isfinite(accel.specific_force).all(axis=1)
    t_ns, values = accel.t_ns[whole], accel.specific_force[whole]
    h_s = ((ends - starts) * 1e-9)[:, None]
    return (h_s * values[np.searchsorted(t_ns, starts)], h_s * values[np.searchsorted(t_ns, ends)])


def _hermite(u: FloatArray, whole: FloatArray, first: FloatArray, last: FloatArray) -> FloatArray:
    """Return the cubic from 0 at 0 to ``whole`` at 1 with the slopes ``first`` and ``last``."""
    return u * (first * (1.0 - u) ** 2 + u * (whole * (3.0 - 2.0 * u) + last * (u - 1.0)))


def _clipping_between(accel: ImuSeries, t_ns: IntArray) -> ByteArray | None:
    """Return the axes that clipped in the accelerometer steps since the stamp before."""
    if accel.accel_clipping is None:
        return None
    if not len(t_ns):
        return np.zeros(0, np.uint8)
    bits = np.append(accel.accel_clipping, [0, 0])
    after = np.searchsorted(accel.t_ns, np.append(t_ns[:1], t_ns[:-1]), "right")
    upto = np.searchsorted(accel.t_ns, t_ns) + 1
    return np.bitwise_or.reduceat(bits, np.stack([after, upto], axis=-1).ravel())[::2]


def _is_same_clock(gyro_ns: IntArray, accel_ns: IntArray) -> bool:
    if len(gyro_ns) != len(accel_ns) or len(gyro_ns) < 2:
        return False
    interval = np.median(np.diff(gyro_ns))
    return bool((np.abs(gyro_ns - accel_ns) <= SAME_CLOCK * interval).all())


def _joined(
    gyro: ImuSeries, accel: ImuSeries, specific_force: FloatArray, clipping: ByteArray | None
) -> ImuSeries:
    if gyro.body != accel.body:
        raise FrameError(
            f"expected gyro and accel in the same axes, got {gyro.body} and {accel.body}; "
            "convert one of them"
        )
    return gyro.replace(specific_force=specific_force, accel_clipping=clipping)
