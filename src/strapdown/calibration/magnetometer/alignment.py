"""Rotation of a magnetometer relative to the inertial sensors."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar

import numpy as np

from strapdown.calibration.magnetometer.ellipsoid import ellipsoid
from strapdown.calibration.magnetometer.readings import disturbed_rows, read
from strapdown.calibration.magnetometer.result import MagnetometerAlignment
from strapdown.calibration.magnetometer.still_poses import (
    LEAST_POSES,
    ConstantDip,
    fit_constant_dip,
    heading_change,
    mean_poses,
)
from strapdown.calibration.magnetometer.world_field import (
    KNOT_S,
    ConstantField,
    Poses,
    fit_constant_field,
)
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.estimation import OfflineVqf
from strapdown.geometry import quaternion
from strapdown.geometry.frames import WorldFrame
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.calibration.magnetometer.result import MagnetometerFit
    from strapdown.series import ImuSeries

__all__ = ["align_magnetometer"]

INTERVAL_NS: Final = NS_PER_S // 20  # between the readings that are used
LEAST_READINGS: Final = 50
LEAST_INFORMATION: Final = 0.02  # of a reading, relative to one of which all is known
STARTS: Final = 3  # of the 24 rotations by quarter turns, those that are refined
FEW: Final = 500  # readings from which the best start is chosen
LARGE_DELAY_S: Final = 0.02
LARGE_ERROR_DEG: Final = 5.0
MANY: Final = 0.1  # part of the readings
TURN: Final = "turn the device about two axes, one after the other, by half a turn or more"


Found = TypeVar("Found", bound=ConstantField | ConstantDip)


class _Work(NamedTuple):
    """A calibrated series, its field relative to the norm, the calibration, and the norm."""

    series: ImuSeries
    field: FloatArray
    calibration: ImuCalibration
    fit: MagnetometerFit | None
    size: float
    hemisphere: str | None


def align_magnetometer(
    series: ImuSeries,
    *,
    calibration: ImuCalibration | None = None,
    norm: float | None = None,
    method: Literal["gyro", "poses"] = "gyro",
    hemisphere: Literal["north", "south"] | None = None,
) -> MagnetometerAlignment:
    """Rotate a magnetometer to the axes of the inertial sensors.

    The norm of the field determines its calibration up to a rotation: the heading of a sensor
    that is rotated on its board is wrong by about that angle. With ``gyro`` the rotation, the
    bias and the delay are those for which the field is constant in the world, with the attitude
    by gyro and accelerometer over the whole recording (:class:`~strapdown.estimation.OfflineVqf`,
    whose slow heading drift is estimated too). With ``poses`` the dip of the field is the same in
    all poses at rest; a gyro is not needed. Neither needs the dip or the declination of the place.

    Parameters
    ----------
    series : ImuSeries
        As it was read. The device turns about two axes at least, in one place.
    calibration : ImuCalibration, optional
        With a magnetometer, as from :func:`ellipsoid`, which is used by default.
    norm : float, optional
        Of the local field [T], for :func:`ellipsoid`.
    method : {"gyro", "poses"}
        Turning by hand, or at least 6 poses at rest.
    hemisphere : {"north", "south"}, optional
        Of the magnetic Earth. In the north the field points down, which shows whether the axes
        of the magnetometer are left-handed; by default they are taken as right-handed.

    Returns
    -------
    MagnetometerAlignment

    Raises
    ------
    ValueRangeError
        There is no magnetic field, too few readings or poses, or rotation about one axis only;
        :func:`ellipsoid` raises more.
    UnknownNameError
        There is no such method or hemisphere.
    TypeError
        ``series`` is no series.

    References
    ----------
    M. Kok, T. Schoen: Magnetometer calibration using inertial sensors, IEEE Sensors Journal 16,
    2016.
    """
    require_series(series)
    if method not in {"gyro", "poses"}:
        raise UnknownNameError("method", str(method), ["gyro", "poses"])
    if hemisphere not in {None, "north", "south"}:
        raise UnknownNameError("hemisphere", str(hemisphere), ["north", "south"])
    fit = None
    if calibration is None:
        fit = ellipsoid(series, norm=norm)
        calibration = fit.calibration
    if calibration.magnetometer is None:
        raise ValueRangeError(
            "expected a calibration of the magnetometer, got none in calibration: pass "
            "ellipsoid(series).calibration, or nothing"
        )
    calibration = calibration.in_frame(series.body)
    calibrated = calibration.apply(series)
    field = calibrated.magnetic_field
    if field is None:
        raise ValueRangeError(
            "expected a series with a magnetic field, got none: record the magnetometer too"
        )
    size = float(np.nanmedian(np.linalg.norm(field, axis=1)))
    work = _Work(calibrated, field / size, calibration, fit, size, hemisphere)
    return _from_poses(work) if method == "poses" else _from_gyro(work, _good_rows(work))


def _good_rows(work: _Work) -> IntArray:
    """Return the rows of undisturbed, new readings with a rate, at most 20 a second."""
    series = work.series
    readings = read(series)
    strength = np.linalg.norm(work.field[readings.rows], axis=1)
    rows = readings.rows[~disturbed_rows(readings, strength)]
    rows = rows[np.isfinite((series.angular_velocity + series.specific_force)[rows].sum(axis=1))]
    first = np.unique(series.t_ns[rows] // INTERVAL_NS, return_index=True)[1]
    kept: IntArray = rows[first]
    if len(kept) < LEAST_READINGS:
        raise ValueRangeError(
            f"expected at least {LEAST_READINGS} readings {INTERVAL_NS / NS_PER_S:g} s apart, got "
            f"{len(kept)}; record for 30 s or more while turning the device"
        )
    return kept


def _from_gyro(work: _Work, rows: IntArray) -> MagnetometerAlignment:
    world = work.series.in_frames(world=WorldFrame.ENU, body=work.series.body)
    q = OfflineVqf().run(world, use_magnetic_field=False).q_world_from_body
    poses = Poses(
        (world.t_ns[rows] - world.t_ns[rows[0]]) / NS_PER_S,
        quaternion.to_matrix(q[rows]),
        world.angular_velocity[rows],
        work.field[rows],
    )
    found = _best_constant_field(poses)
    _require_two_axes(found, len(rows))
    before = fit_constant_field(poses, np.eye(3), fixed_delay_s=found.delay_s)
    heading, heading_before = (x.heading_error / RAD_PER_DEG for x in (found, before))
    findings = []
    if abs(found.delay_s) > LARGE_DELAY_S:
        findings.append(
            f"the magnetometer is {1e3 * found.delay_s:.0f} ms late: shift its stamps, or turn "
            "slowly while its heading counts"
        )
    if found.outliers > MANY * len(rows):
        findings.append(
            f"{found.outliers} of {len(rows)} readings contradict a constant field: repeat it "
            "away from steel, magnets and cables"
        )
    if heading > LARGE_ERROR_DEG:
        findings.append(
            f"the heading varies by {heading:.1f} deg after the alignment: the field is not the "
            "same everywhere; repeat it in the open, turning the sensor about one point"
        )
    return _result(work, found, (heading_before, heading), len(rows) - found.outliers, findings)


def _from_poses(work: _Work) -> MagnetometerAlignment:
    up, field = mean_poses(work.series, work.field)
    if len(up) < LEAST_POSES:
        raise ValueRangeError(
            f"expected at least {LEAST_POSES} poses at rest, got {len(up)}; put the device down "
            "in other attitudes for 2 s each, or turn it and use method='gyro'"
        )
    starts = sorted(_quarter_turns(), key=lambda R: float(np.var((up * (field @ R.T)).sum(axis=1))))
    found = min(
        (fit_constant_dip(up, field, R) for R in starts[: 2 * STARTS]), key=lambda f: f.scale
    )
    _require_two_axes(found, len(up))
    values, axes = np.linalg.eigh(found.covariance)
    turns = [
        quaternion.to_matrix(quaternion.from_rotation_vector(np.sqrt(max(value, 0.0)) * axis))
        for value, axis in zip(values, axes.T, strict=True)
    ]
    R = found.rotation
    after = float(np.sqrt(sum(heading_change(up, field, R, R @ turn) ** 2 for turn in turns)))
    errors = heading_change(up, field, np.eye(3), R) / RAD_PER_DEG, after / RAD_PER_DEG
    return _result(work, found, errors, len(up), [])


def _best_constant_field(poses: Poses) -> ConstantField:
    """Return the best fit from several starts."""
    few = poses.every(max(len(poses.t_s) // FEW, 1))
    starts = sorted(_quarter_turns(), key=lambda R: _unsteadiness(few, R))[:STARTS]
    start = min((fit_constant_field(few, R) for R in starts), key=lambda f: f.scale)
    return fit_constant_field(poses, start.rotation)


def _quarter_turns() -> list[FloatArray]:
    """Return the 24 rotations that permute the axes and change their signs, identity first."""
    every = [
        np.array(signs)[:, None] * np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return [R for R in every if np.linalg.det(R) > 0.0]


def _unsteadiness(poses: Poses, rotation: FloatArray) -> float:
    """Return how far the field in the world is from its means over the knots' intervals."""
    field = poses.field @ rotation.T
    world = (poses.R_world_from_body @ field[:, :, None])[:, :, 0]
    block = (poses.t_s // KNOT_S).astype(np.int64)
    counts = np.maximum(np.bincount(block), 1)[:, None]
    means = np.column_stack([np.bincount(block, column) for column in world.T]) / counts
    means[:, 2] = world[:, 2].mean()
    return float(np.sum((world - means[block]) ** 2))


def _require_two_axes(found: ConstantField | ConstantDip, count: int) -> None:
    """Raise where the rotation about an axis is not determined, and name the axis."""
    axes, information = found.observed
    if count and information[0] >= LEAST_INFORMATION:
        return
    axis = ", ".join(f"{value:.2f}" for value in found.rotation @ axes[:, 0])
    raise ValueRangeError(
        "expected rotation about two axes, got rotation about one: the alignment about the axis "
        f"({axis}) of the body is not observable; {TURN}"
    )


def _result(
    work: _Work,
    found: ConstantField | ConstantDip,
    heading_deg: tuple[float, float],
    samples: int,
    findings: list[str],
) -> MagnetometerAlignment:
    found, mirrored, more = _right_handed(found, work.hemisphere)
    findings = [*findings, *more]
    delay_s, horizontal = None, float(np.sqrt(max(1.0 - found.vertical**2, 0.0)))
    if isinstance(found, ConstantField):
        delay_s, horizontal = found.delay_s, found.horizontal
    result = MagnetometerAlignment(
        calibration=_turned(work.calibration, found, work.size),
        method="poses" if delay_s is None else "gyro",
        rotation=found.rotation,
        rotation_sigma_deg=np.sqrt(np.diag(found.covariance)[:3]) / RAD_PER_DEG,
        is_mirrored=mirrored,
        dip_deg=float(np.arctan2(-found.vertical, horizontal)) / RAD_PER_DEG,
        heading_error_before_deg=heading_deg[0],
        heading_error_deg=heading_deg[1],
        delay_s=delay_s,
        samples=samples,
        outliers=found.outliers if isinstance(found, ConstantField) else 0,
        fit=work.fit,
        warnings=(*(work.fit.warnings if work.fit else ()), *findings),
    )
    names = ("rotation_deg", "dip_deg", "heading_error_before_deg", "heading_error_deg")
    old = work.calibration.provenance
    provenance = replace(
        old,
        method=", ".join(filter(None, (old.method, f"aligned by {result.method}"))),
        residuals={**old.residuals, **{name: getattr(result, name) for name in names}},
        notes=(*old.notes, *findings),
    )
    return replace(result, calibration=replace(result.calibration, provenance=provenance))


def _right_handed(found: Found, hemisphere: str | None) -> tuple[Found, bool, list[str]]:
    """Return the fit in the hemisphere, whether the axes are left-handed, and findings.

    ``-R`` and the reversed field fit as well as ``R`` and the field.
    """
    expected = {"north": -1.0, "south": 1.0}.get(hemisphere or "", 0.0)
    if found.vertical * expected < 0.0:
        text = "the axes of the magnetometer are left-handed: the calibration corrects it; check "
        turned = replace(found, rotation=-found.rotation, vertical=-found.vertical)
        return turned, True, [text + "the signs of the axes in the driver"]
    if not expected and found.vertical > 0.0:
        text = "the field points up, as in the southern hemisphere; in the north the axes of the "
        remedy = "magnetometer are left-handed, and the heading is opposite: pass the hemisphere"
        return found, False, [text + remedy]
    return found, False, []


def _turned(
    calibration: ImuCalibration, found: ConstantField | ConstantDip, size: float
) -> ImuCalibration:
    """Return the calibration with the rotation and the rest of the bias.

    ``R (A (s - b) - F c) = R A (s - (b + F A^-1 c))``. The covariance of the new bias is that of
    c, whose residuals contain the error of b.
    """
    triad = calibration.magnetometer
    assert triad is not None  # noqa: S101 (checked by the caller)
    R, A, bias = found.rotation, triad.matrix, triad.bias
    inverse = size * triad.inverse_matrix
    covariance = np.zeros((12, 12)) if triad.covariance is None else triad.covariance
    moved = np.eye(12)
    moved[3:, 3:] = np.kron(R, np.eye(3))
    if isinstance(found, ConstantField):
        bias = bias + inverse @ found.offset
        moved[:3] = 0.0
    covariance = moved @ covariance @ moved.T
    change = np.zeros((12, len(found.covariance)))  # by a rotation vector, c, and the delay
    for k, axis in enumerate(np.eye(3)):
        change[3:, k] = (R @ np.cross(axis, A.T).T).ravel()
    if isinstance(found, ConstantField):
        change[:3, 3:6] = inverse
    return replace(
        calibration,
        magnetometer=replace(
            triad,
            matrix=R @ A,
            bias=bias,
            covariance=covariance + change @ found.covariance @ change.T,
        ),
    )
