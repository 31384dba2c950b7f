"""Calibration from faces and turns by least squares.

The faces of the device define the body axes, unless only nine parameters are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration.imu import ImuCalibration
from strapdown.calibration.poses.fit import excess_noise, minimise, unobserved
from strapdown.calibration.poses.force import UPPER, force_start
from strapdown.calibration.poses.rate import BiasFit, fit_bias, noise_density
from strapdown.calibration.poses.result import (
    PoseCalibration,
    gravity_of,
    result_of_faces,
    unit_of_gyro,
    unit_of_readings,
)
from strapdown.calibration.poses.sections import (
    Sections,
    find_sections,
    given_sections,
    repeated_faces,
)
from strapdown.calibration.poses.stills import session
from strapdown.calibration.poses.turns import Turns
from strapdown.calibration.triad import TriadCalibration
from strapdown.errors import ValueRangeError
from strapdown.geometry.rotations import skew
from strapdown.inertial import WindowRule, integrate
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import BoolArray, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["six_position"]

SLOPE: Final = 0.5 * RAD_PER_DEG
"""Error of a face or an axis of a turn where the session does not show it [rad]."""
ANGLE: Final = 0.5 * RAD_PER_DEG
"""Error of the angle of a turn by hand [rad]."""
_CROOKED: Final = 1.0 * RAD_PER_DEG
_INCOMPLETE: Final = 0.01  # part of a turn that may be missing unnoticed
_KNOWN: Final = 0.01  # standard deviation of a scale that the moves determine
_UNLIKE: Final = 0.05  # miss of the moves [rad] above which they are of another unit
_UNKNOWN: Final = 0.01  # misalignment that these moves do not determine, and its effect on them
_OTHER_UNIT: Final = 0.3  # error of a scale that is one of units
_PRIOR: Final = np.concatenate([np.full(3, 2.0), np.full(9, 0.2)])  # bias [m/s^2], matrix
_LARGE: Final = 45.0 * RAD_PER_DEG  # a move between faces


def six_position(  # noqa: PLR0913 (what the session does not contain)
    series: ImuSeries,
    sections: Mapping[str, Any] | None = None,
    *,
    gravity: float | None = None,
    latitude: float | None = None,
    height: float | None = None,
    turn_deg: float = 360.0,
    parameters: int = 12,
    g_sensitivity: bool = True,
) -> PoseCalibration:
    """Calibrate accelerometer and gyro from faces at rest and whole turns, by least squares.

    Faces and turns may come in any order, and some may be missing or repeated. Put the device on
    its faces for 5 s or more each, and turn it once about each axis while it stays on a face.
    Readings in other units are converted.

    Parameters
    ----------
    series : ImuSeries
        Session of N samples, of which those that are not finite are left out.
    sections : mapping, optional
        As for :func:`ferraris`; by default they are found by stillness and the largest axis.
    gravity : float, optional
        Local gravity [m/s^2]; by default 9.80665, with a warning.
    latitude, height : float, optional
        Place instead of gravity [rad], [m above the ellipsoid].
    turn_deg : float, optional
        Angle of each turn [deg]; its sign is that of the gyro.
    parameters : {12, 9}, optional
        Of the accelerometer: bias and a full matrix, so that the faces are the body axes, or a
        triangular one, so that its x axis and x-y plane are.
    g_sensitivity : bool, optional
        Fit the dependence of the gyro on specific force, where all six faces are there.

    Returns
    -------
    PoseCalibration
        With standard deviations: from the disagreement of the faces, and 0.5 deg of a turn.

    Raises
    ------
    ValueRangeError
        There is no rest, a listed section shows another face or a movement, or the number of
        parameters is neither 9 nor 12.
    UnknownNameError
        A section has another name.
    """
    if parameters not in {9, 12}:
        raise ValueRangeError(f"expected 9 or 12 parameters, got {parameters}")
    gravity, warnings = gravity_of(gravity, latitude, height)
    series, rows = session(series, "calibrate from faces and turns")
    found = find_sections(series) if sections is None else given_sections(series, rows, sections)
    force = _fit_faces(found, gravity, triangular=parameters == 9)
    accel_unit, accel_line = unit_of_readings(force.triad.matrix, gravity)
    f = force.triad.calibrated(found.stills.force)
    at_s = (found.stills.centre_ns(series) - series.t_ns[0]) / NS_PER_S
    complete = len({*zip(found.axis.tolist(), found.sign.tolist(), strict=True)}) == 6
    bias = fit_bias(found.stills, f, at_s, g_sensitivity=g_sensitivity and complete)
    all_force = force.triad.calibrated(series.specific_force)
    rate = bias.remove(series, found.stills, all_force)
    gyro = _fit_turns(series, found, rate, bias, turn_deg * RAD_PER_DEG, force.tilt)
    warnings += [line for line in (accel_line, unit_of_gyro(gyro.triad.matrix)[1]) if line]
    excess, sigma = _scales_by_moves(series, found, rate, gyro, f)
    gyro = _completed(gyro, excess, sigma)
    warnings += _turn_warnings(found, gyro, excess, sigma, turn_deg)
    warnings += _face_warnings(found, force.tilt)
    calibration = ImuCalibration(
        accel=replace(force.triad, unit_in=accel_unit),
        gyro=replace(gyro.triad, unit_in=unit_of_gyro(gyro.triad.matrix)[0]),
        g_sensitivity=bias.g_sensitivity,
        body=series.body,
    )
    return result_of_faces(
        "six_position",
        series,
        found,
        calibration,
        gravity=gravity,
        warnings=warnings,
        turn_error=gyro.errors,
        condition=(force.condition, np.nan),
        not_observable=(*force.not_observable, *gyro.not_observable),
    )


def _face_warnings(found: Sections, tilt: float) -> list[str]:
    """Return findings about the faces."""
    lines = []
    if found.slanted:
        lines.append(
            f"left out {found.slanted} rests that are on no face: calibrate from many attitudes "
            "(multi_position) where there are more of them"
        )
    if tilt > _CROOKED:
        lines.append(
            f"the faces disagree by {tilt / RAD_PER_DEG:.1f} deg: put the device on a level base, "
            "against a square, or calibrate from many attitudes (multi_position)"
        )
    return lines


@dataclass(frozen=True, eq=False)
class _Faces:
    """Calibration of the accelerometer, error of a face [rad], and what is not observable."""

    triad: TriadCalibration
    tilt: float
    condition: float
    not_observable: tuple[str, ...]


def _fit_faces(found: Sections, gravity: float, *, triangular: bool) -> _Faces:
    """Fit ``s = M f + b`` to the means of the faces, where f is gravity along an axis."""
    s = found.stills.force
    A0, b0 = force_start(s, gravity)
    values = (s - b0) @ A0.T
    f = np.zeros_like(s)
    f[np.arange(len(s)), found.axis] = found.sign * gravity
    jacobian = np.zeros((len(s), 3, 12))
    jacobian[:, :, :3] = np.eye(3)
    jacobian[:, :, 3:] = np.einsum("ij,kl->kijl", np.eye(3), f).reshape(len(s), 3, 9)
    prior = _PRIOR.copy()
    if triangular:
        prior[3 + np.setdiff1d(np.arange(9), UPPER)] = 0.0
    start = np.concatenate([np.zeros(3), np.eye(3).ravel()])
    noise = np.sqrt(np.trace(A0 @ found.stills.force_noise @ A0.T, axis1=1, axis2=2) / 3.0)
    noise = np.maximum(noise, 1e-9)

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return jacobian @ x - values, jacobian

    fit = minimise(model, start, np.hypot(noise, SLOPE * gravity), prior=prior)
    lacking = unobserved(fit, prior, _names("accelerometer"))
    freedom = 3 * len(s) - (int(np.sum(prior > 0.0)) - len(lacking))
    excess = excess_noise(fit.residuals, noise, freedom) if freedom > 0 else SLOPE * gravity
    fit = minimise(model, start, np.hypot(noise, excess), prior=prior)
    M = fit.parameters[3:].reshape(3, 3)
    inverse = np.linalg.inv(M)
    whole = np.zeros((12, 12))
    whole[:3, :3] = np.linalg.inv(A0)
    whole[3:, 3:] = -np.kron(inverse, (inverse @ A0).T)  # dA = -M^-1 dM M^-1 A0
    triad = TriadCalibration(
        matrix=inverse @ A0,
        bias=b0 + whole[:3, :3] @ fit.parameters[:3],
        covariance=whole @ fit.covariance @ whole.T,
    )
    return _Faces(triad, excess / gravity, fit.condition, lacking)


def _names(sensor: str) -> list[str]:
    axes = "xyz"
    return [f"{sensor} bias {a}" for a in axes] + [
        f"{sensor} scale {a}" if a == b else f"{sensor} misalignment {a}{b}"
        for a in axes for b in axes
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Turned:
    """Calibration of the gyro, misses of the turns [rad], axes with turns."""

    triad: TriadCalibration
    errors: FloatArray
    known: BoolArray
    not_observable: tuple[str, ...]


def _fit_turns(  # noqa: PLR0913, PLR0917 (the session and the steps before)
    series: ImuSeries, found: Sections, rate: FloatArray, bias: BiasFit, angle: float, tilt: float
) -> _Turned:  # fmt: skip
    """Fit ``W = M w`` to the integrals over the turns: each is a column of M times its angle.

    A column without a turn has the mean scale of the others, on its axis.
    """
    turned = _integrals(series, found, rate)
    axes = found.turn_axis
    signs = np.sign(turned[np.arange(len(turned)), axes])
    count = np.bincount(axes, minlength=3)
    known = count > 0
    M = np.zeros((3, 3))
    for axis, one in zip(axes, turned * signs[:, None] / angle, strict=True):
        M[:, axis] += one / count[axis]
    usual = float(np.mean(np.diag(M)[known])) if known.any() else 1.0
    M[~known, ~known] = usual
    duration_s = np.array(
        [series.t_ns[b - 1] - series.t_ns[a] for a, b in zip(found.turn_start, found.turn_stop,
         strict=True)]
    ) / NS_PER_S  # fmt: skip
    covariance_M = np.zeros((9, 9))
    density = noise_density(series, found.stills)
    for axis in range(3):
        if not known[axis]:
            spread = 0.2 * abs(usual) * np.ones(3)
        else:
            time_s = float(duration_s[axes == axis].mean())
            white = density**2 * time_s + bias.covariance.trace() / 3.0 * time_s**2
            spread = np.where(np.arange(3) == axis, ANGLE / angle, max(tilt, SLOPE)) * abs(usual)
            spread = np.sqrt((spread**2 + white / angle**2) / count[axis])
        covariance_M[axis::3, axis::3] = np.diag(spread**2)
    A = np.asarray(np.linalg.inv(M), np.float64)
    whole = np.zeros((12, 12))
    whole[:3, :3] = bias.covariance
    change = np.kron(A, A.T)
    whole[3:, 3:] = change @ covariance_M @ change.T
    expected = angle * signs[:, None] * np.eye(3)[axes]
    lacking = tuple(
        f"gyro scale {row}" if row == column else f"gyro misalignment {row}{column}"
        for column, whole_turn in zip("xyz", known, strict=True) if not whole_turn
        for row in "xyz"
    )  # fmt: skip
    return _Turned(
        TriadCalibration(matrix=A, bias=bias.bias, covariance=whole),
        np.linalg.norm(turned @ A.T - expected, axis=1), known, lacking,
    )  # fmt: skip


def _integrals(series: ImuSeries, found: Sections, rate: FloatArray) -> FloatArray:
    """Return the integrals (T, 3) of the gyro over the turns."""
    zero = np.zeros_like(rate)
    plain = series.replace(angular_velocity=rate, specific_force=zero)
    result = integrate(plain, window=WindowRule(1))
    steps = result.increments.delta_angle - result.coning
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    begin = series.t_ns[found.turn_start]
    end = series.t_ns[found.turn_stop - 1]
    first, last = (np.searchsorted(result.increments.t_ns, t, "right") for t in (begin, end))
    return np.asarray(total[last] - total[first])


def _completed(gyro: _Turned, excess: FloatArray, sigma: FloatArray) -> _Turned:
    """Return a calibration with the scales by moves, about axes that have no turn."""
    by_moves = ~gyro.known & (sigma < _KNOWN) & (np.abs(excess) < _OTHER_UNIT / 2.0)
    A = (1.0 + np.where(by_moves, excess, 0.0))[:, None] * gyro.triad.matrix
    covariance = np.array(gyro.triad.covariance)
    for axis in np.flatnonzero(by_moves):
        element = 3 + 4 * axis  # on the diagonal
        covariance[element, :] = covariance[:, element] = 0.0
        spread = np.hypot(sigma[axis], _UNKNOWN)
        covariance[element, element] = (spread * A[axis, axis]) ** 2
    found = {f"gyro scale {'xyz'[axis]}" for axis in np.flatnonzero(by_moves)}
    return replace(
        gyro,
        triad=replace(gyro.triad, matrix=A, covariance=covariance),
        not_observable=tuple(name for name in gyro.not_observable if name not in found),
    )


def _turn_warnings(
    found: Sections, gyro: _Turned, excess: FloatArray, sigma: FloatArray, turn_deg: float
) -> list[str]:
    """Return findings about the turns: incomplete by the moves between faces, or by themselves.

    The moves between the faces know the scale of the gyro from gravity. A turn that disagrees
    was not whole.
    """
    lines = []
    if repeated := [] if len(found.turn_axis) else repeated_faces(found):
        lines.append(
            f"no turn was found between rests on the same face ({', '.join(repeated)}): turn by "
            f"{turn_deg:g} deg about each axis, with 2 s of rest before and after"
        )
    nominal = np.diag(gyro.triad.matrix)
    for axis in np.flatnonzero(gyro.known):
        off = nominal[axis] - 1.0
        if abs(excess[axis]) > max(_INCOMPLETE, 3.0 * sigma[axis]):
            lines.append(
                f"the turn about {'xyz'[axis]} was {turn_deg * (1.0 + excess[axis]):.1f} deg by "
                f"the moves between the faces, not {turn_deg:g}: repeat it against a stop, or pass "
                "its angle"
            )
        elif _INCOMPLETE < abs(off) < _OTHER_UNIT and 3.0 * sigma[axis] > abs(off):
            lines.append(
                f"the turn about {'xyz'[axis]} integrates to {turn_deg / nominal[axis]:.1f} deg "
                f"instead of {turn_deg:g}: the scale is {100.0 * off:+.1f} % off, or the turn was "
                "not whole; repeat it against a stop to be sure"
            )
    return lines


def _scales_by_moves(
    series: ImuSeries, found: Sections, rate: FloatArray, gyro: _Turned, force: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the excess of the true rotation about each axis, and its standard deviation.

    Three factors that turn gravity from face to face; unknown where none do.
    """
    up = force / np.linalg.norm(force, axis=1, keepdims=True)
    turns = Turns.of(series, rate, found.stills.start, found.stills.stop)
    turns = turns[np.sum(up[turns.before] * up[turns.after], axis=1) < np.cos(_LARGE)]
    if len(turns) < 3:
        return np.zeros(3), np.full(3, np.inf)
    A = gyro.triad.matrix
    elements = np.zeros((9, 3))
    for axis in range(3):
        elements[3 * axis : 3 * axis + 3, axis] = A[axis]

    def model(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        R, J = turns.rotation_and_jacobian((1.0 + x)[:, None] * A)
        there = np.einsum("tji,tj->ti", R, up[turns.before])
        return there - up[turns.after], skew(there) @ J @ elements

    sigma, prior = np.full(len(turns), 1e-3), np.full(3, 0.2)
    fit = minimise(model, np.zeros(3), sigma, prior=prior, robust=0.05)
    excess = excess_noise(fit.residuals, sigma, 2 * len(turns) - 3)
    if excess > _UNLIKE:
        return np.zeros(3), np.full(3, np.inf)
    fit = minimise(model, np.zeros(3), np.hypot(sigma, excess), prior=prior, robust=0.05)
    return fit.parameters, np.sqrt(np.diag(fit.covariance))
