"""Calibration by many attitudes, without equipment.

References
----------
D. Tedaldi, A. Pretto, E. Menegatti: A robust and easy to implement method for IMU calibration
without external equipments, ICRA 2014.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.imu import ImuCalibration
from strapdown.calibration.poses.delay import delay_of_gyro
from strapdown.calibration.poses.force import ForceFit, fit_force
from strapdown.calibration.poses.rate import (
    BiasFit,
    Directions,
    RateFit,
    directions,
    fit_bias,
    fit_rate,
    left_out_errors,
    noise_density,
    rate_start,
)
from strapdown.calibration.poses.result import (
    WIDEST_CONE,
    PoseCalibration,
    empty_cone,
    gravity_of,
    mean_scale,
    rms,
    unit_of_gyro,
    unit_of_readings,
    with_report,
)
from strapdown.calibration.poses.stills import (
    WINDOW_S,
    Stills,
    restlessness,
    session,
    still_rows,
)
from strapdown.calibration.poses.turns import Turns
from strapdown.errors import ValueRangeError
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["multi_position"]

FEWEST: Final = 12
"""Attitudes that a calibration needs."""
_THRESHOLDS: Final = range(1, 11)  # in variances of the initial rest
_PARAMETERS: Final = 9
_POOR_DIRECTION: Final = 3.0 * RAD_PER_DEG
_POOR_NORM: Final = 0.03  # [m/s^2]
_MISALIGNED: Final = 0.25  # element off the diagonal, in scales
_ONE_ATTITUDE: Final = 150.0 * RAD_PER_DEG  # empty cone of a device that hardly turned
_DRIFT: Final = 0.005 * RAD_PER_DEG  # standard deviation of a bias that is not constant [rad/s]


def multi_position(  # noqa: PLR0913 (one option a choice of the session)
    series: ImuSeries,
    *,
    gravity: float | None = None,
    latitude: float | None = None,
    height: float | None = None,
    initial_still_s: float = 30.0,
    g_sensitivity: bool = False,
    progress: Callable[[float], object] | None = None,
) -> PoseCalibration:
    """Calibrate accelerometer and gyro from a session of many attitudes.

    Leave the device alone for 30 to 50 s, then put it down in 30 to 50 attitudes for 1 to 4 s
    each, and turn it by hand between them. Its readings may have any unit: the calibration
    contains the conversion.

    The accelerometer has nine parameters, fitted to ``|f| = g`` in the still intervals; it defines
    the body axes. The gyro has its bias from rest, and nine that turn gravity from each
    interval to the next. Of the thresholds of stillness 1 to 10, in variances of the initial
    rest, the one with the smallest residual is used.

    Parameters
    ----------
    series : ImuSeries
        Session of N samples, of which those that are not finite are left out.
    gravity : float, optional
        Local gravity [m/s^2]; by default 9.80665, with a warning.
    latitude, height : float, optional
        Place instead of gravity [rad], [m above the ellipsoid].
    initial_still_s : float, optional
        Length of the initial rest, or less [s].
    g_sensitivity : bool, optional
        Fit the dependence of the gyro on specific force too.
    progress : callable, optional
        Called with the fraction done.

    Returns
    -------
    PoseCalibration
        Calibration, warnings, and report.

    Raises
    ------
    ValueRangeError
        The session does not begin with a rest, has fewer than 12 attitudes, or only nearly equal
        ones, or lacks a sensor.
    """
    gravity, warnings = gravity_of(gravity, latitude, height)
    series, _ = session(series, "calibrate from many attitudes")
    told = progress or (lambda _fraction: None)
    threshold, stills, force, dropped = _best_stills(series, initial_still_s, gravity, told)
    A = force.triad
    toward = directions(force, stills)
    if (cone := empty_cone(toward.up)) > _ONE_ATTITUDE:
        raise ValueRangeError(
            f"expected attitudes on all sides, got all within {180.0 - cone / RAD_PER_DEG:.0f} deg "
            "of one direction; put the device down in 30 to 50 attitudes, also upside down"
        )
    at_s = (stills.centre_ns(series) - series.t_ns[0]) / NS_PER_S
    bias = fit_bias(stills, (stills.force - A.bias) @ A.matrix.T, at_s, g_sensitivity=g_sensitivity)
    all_force = (series.specific_force - A.bias) @ A.matrix.T
    rate = bias.remove(series, stills, all_force)
    turns = Turns.of(series, rate, stills.start, stills.stop)
    if not len(turns):
        raise ValueRangeError(
            "expected turns of 30 s or less without gaps between still intervals, got none"
        )
    density = noise_density(series, stills)
    scale = rate_start(turns, toward.up)
    gyro = fit_rate(turns, toward, bias, density, scale)
    told(0.7)
    found = _Session(gravity, series, stills, force, bias, turns, toward, gyro)
    offset = delay_of_gyro(series.t_ns, all_force, rate @ gyro.triad.matrix.T)
    left_out = left_out_errors(turns, toward, bias, density, scale)
    told(0.9)
    warnings += dropped + found.warnings(offset)
    still_ns = stills.span_ns(series)
    result = PoseCalibration(
        calibration=found.calibration(g_sensitivity=g_sensitivity),
        warnings=tuple(warnings + found.unit_warnings()),
        gravity=gravity,
        still_ns=still_ns,
        directions=toward.up,
        norm_error=force.residuals,
        norm_error_left_out=_left_out(stills, gravity),
        turn_ns=np.column_stack([still_ns[turns.before, 1], still_ns[turns.after, 0]]),
        turn_error=gyro.errors,
        turn_error_left_out=left_out,
        condition=(force.condition, gyro.condition),
        not_observable=(*force.not_observable, *gyro.not_observable),
        threshold=threshold,
        time_offset_s=offset,
    )
    told(1.0)
    return with_report(result, "multi_position")


def _best_stills(
    series: ImuSeries, initial_still_s: float, gravity: float, told: Callable[[float], object]
) -> tuple[float, Stills, ForceFit, list[str]]:
    """Return threshold, intervals without outliers, their fit, and warnings.

    Raises
    ------
    ValueRangeError
        No threshold gives enough intervals.
    """
    windows = restlessness(series, initial_still_s)
    best: tuple[float, float, Stills, ForceFit] | None = None
    most, before = 0, -1
    for k in _THRESHOLDS:
        start, stop = still_rows(series, windows, float(k))
        told(0.05 * k)
        stills = Stills.of(series, start, stop)
        most = max(most, count := stills.attitudes)
        if count < FEWEST or hash(start.tobytes() + stop.tobytes()) == before:
            continue
        before = hash(start.tobytes() + stop.tobytes())
        fit = fit_force(stills.force, stills.force_noise, gravity)
        count = int(fit.used.sum())
        score = rms(fit.residuals[fit.used]) * count / max(count - _PARAMETERS, 1)
        if best is None or score < best[0]:
            best = score, float(k), stills, fit
    if best is None:
        raise ValueRangeError(
            f"expected {FEWEST} attitudes at rest for {WINDOW_S:g} s or more, got {most}; put the "
            "device down in 30 to 50 attitudes, for 1 to 4 s each"
        )
    _, threshold, stills, fit = best
    if fit.used.all():
        return threshold, stills, fit, []
    starts_s = (series.t_ns[stills.start[~fit.used]] - series.t_ns[0]) / NS_PER_S
    shown = ", ".join(f"{at:.1f}" for at in starts_s)
    warning = (
        f"left out {len(starts_s)} still intervals that do not fit the others, at {shown} s: the "
        "device moved, or was pushed"
    )
    stills = Stills.of(series, stills.start[fit.used], stills.stop[fit.used])
    return threshold, stills, fit_force(stills.force, stills.force_noise, gravity), [warning]


def _left_out(stills: Stills, gravity: float) -> FloatArray:
    """Return ``|f| - g`` of every interval with the fit to every second other one."""
    errors = np.full(len(stills), np.nan)
    odd = np.arange(len(stills)) % 2 == 1
    for fitted in (odd, ~odd):
        if fitted.sum() > _PARAMETERS:
            triad = fit_force(stills.force[fitted], stills.force_noise[fitted], gravity).triad
            away = stills.force[~fitted] - triad.bias
            errors[~fitted] = np.linalg.norm(away @ triad.matrix.T, axis=1) - gravity
    return errors


@dataclass(frozen=True, eq=False)
class _Session:
    """Parts of a calibration."""

    gravity: float
    series: ImuSeries
    stills: Stills
    force: ForceFit
    bias: BiasFit
    turns: Turns
    toward: Directions
    gyro: RateFit

    def calibration(self, *, g_sensitivity: bool) -> ImuCalibration:
        accel_unit = unit_of_readings(self.force.triad.matrix, self.gravity)[0]
        gyro_unit = unit_of_gyro(self.gyro.triad.matrix)[0]
        return ImuCalibration(
            accel=replace(self.force.triad, unit_in=accel_unit),
            gyro=replace(self.gyro.triad, unit_in=gyro_unit),
            g_sensitivity=self.bias.g_sensitivity if g_sensitivity else np.zeros((3, 3)),
            body=self.series.body,
        )

    def unit_warnings(self) -> list[str]:
        accel = unit_of_readings(self.force.triad.matrix, self.gravity)[1]
        return [line for line in (accel, unit_of_gyro(self.gyro.triad.matrix)[1]) if line]

    def warnings(self, offset_s: float) -> list[str]:
        """Return findings about the session."""
        lines = []
        cone = empty_cone(self.toward.up)
        if cone > WIDEST_CONE:
            lines.append(
                f"the attitudes leave a cone of {cone / RAD_PER_DEG:.0f} deg empty: put the device "
                "down on its other sides too, at least on all six"
            )
        if (size := rms(self.force.residuals)) > _POOR_NORM:
            lines.append(
                f"|f| at rest differs from gravity by {size * 1e3:.0f} mm/s^2: put the device on a "
                "firm base, and hold still for 1 s or more"
            )
        if (error := rms(self.gyro.errors[self.gyro.used])) > _POOR_DIRECTION:
            lines.append(
                f"turns miss their ends by {error / RAD_PER_DEG:.1f} deg: axes of the gyro in "
                "another order or sign than those of the accelerometer, clipping, or stamps that "
                "do not fit the samples"
            )
        scale = mean_scale(self.gyro.triad.matrix)
        off = self.gyro.triad.matrix / scale
        if np.abs(off - np.diag(np.diag(off))).max() > _MISALIGNED:
            lines.append(
                "axes of the gyro are far from those of the accelerometer: their order or signs "
                "differ, or the sensors are mounted apart; give both the same axes first"
            )
        if (lost := int((~self.gyro.used).sum())) > 0:
            lines.append(f"left out {lost} turns that do not fit the others: turn more slowly")
        drift = self.bias.changes * scale
        if drift > _DRIFT:
            lines.append(
                f"the bias of the gyro moved by {drift / RAD_PER_DEG:.3f} deg/s during the session "
                "(standard deviation): let the device warm up for some minutes before"
            )
        step_s = float(np.median(np.diff(self.series.t_ns))) / NS_PER_S
        if abs(offset_s) > 1.5 * step_s:
            where = "behind" if offset_s > 0.0 else "ahead of"
            lines.append(
                f"the gyro is {abs(offset_s) * 1e3:.0f} ms {where} the accelerometer: shift its "
                "stamps"
            )
        return lines
