"""Closed form of Ferraris: six faces and three turns.

References
----------
F. Ferraris, U. Grimaldi, M. Parvis: Procedure for effortless in-field calibration of three-axial
rate gyro and accelerometers, Sensors and Materials 7, 1995.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.calibration.imu import ImuCalibration
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
    missing_faces,
)
from strapdown.calibration.poses.stills import session
from strapdown.calibration.triad import TriadCalibration
from strapdown.errors import ValueRangeError
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

__all__ = ["ferraris"]


def ferraris(  # noqa: PLR0913 (what the session does not contain)
    series: ImuSeries,
    sections: Mapping[str, Any] | None = None,
    *,
    gravity: float | None = None,
    latitude: float | None = None,
    height: float | None = None,
    turn_deg: float = 360.0,
) -> PoseCalibration:
    """Calibrate accelerometer and gyro from six faces and three turns, in closed form.

    With the means U of the faces, ``D = (U_p - U_n) / (2 g) = K_a R_a`` (norms of rows, rows),
    ``b_a = diag(U_p + U_n) / 2``, ``K_ga = (G_p - G_n) / (2 g)`` of the means of the gyro, b_g the
    mean of all samples at rest, and the integrals over the turns divided by their angle
    ``K_g R_g``. :func:`six_position` is more tolerant, and gives standard deviations.

    Parameters
    ----------
    series : ImuSeries
        Session of N samples.
    sections : mapping, optional
        Rows of the faces ``x_p`` (+x up), ``x_a`` (-x up), ... and of the turns ``x_rot``, ...:
        name to start and stop, exclusive. By default they are found by stillness.
    gravity : float, optional
        Local gravity [m/s^2]; by default 9.80665, with a warning.
    latitude, height : float, optional
        Place instead of gravity [rad], [m above the ellipsoid].
    turn_deg : float, optional
        Angle of each turn [deg]; its sign is that of the gyro.

    Returns
    -------
    PoseCalibration
        Without standard deviations.

    Raises
    ------
    ValueRangeError
        A face or turn is missing, or shows something else; see :func:`six_position`.
    UnknownNameError
        A section has another name.
    """
    gravity, warnings = gravity_of(gravity, latitude, height)
    series, rows = session(series, "calibrate from faces and turns")
    found = find_sections(series) if sections is None else given_sections(series, rows, sections)
    _require_all(found)
    up, down = (
        np.column_stack([_mean(series.specific_force, found, k, sign) for k in range(3)])
        for sign in (1, -1)
    )
    gyro_up, gyro_down = (
        np.column_stack([_mean(series.angular_velocity, found, k, sign) for k in range(3)])
        for sign in (1, -1)
    )
    accel = TriadCalibration(
        matrix=np.asarray(np.linalg.inv((up - down) / (2.0 * gravity)), np.float64),
        bias=np.diag(up + down) / 2.0,
    )
    K = (gyro_up - gyro_down) / (2.0 * gravity)
    spans = zip(found.stills.start, found.stills.stop, strict=True)
    bias = np.concatenate([series.angular_velocity[a:b] for a, b in spans]).mean(axis=0)
    rate = series.angular_velocity - accel.calibrated(series.specific_force) @ K.T - bias
    step_s = (series.t_ns[-1] - series.t_ns[0]) / (len(series) - 1) / NS_PER_S
    turned = np.zeros((3, 3))
    for axis, a, b in zip(found.turn_axis, found.turn_start, found.turn_stop, strict=True):
        turned[:, axis] = rate[a:b].sum(axis=0) * step_s
    angle = np.sign(np.diag(turned)) * turn_deg * RAD_PER_DEG
    matrix = np.asarray(np.linalg.inv(turned / angle), np.float64)
    accel_unit, accel_line = unit_of_readings(accel.matrix, gravity)
    gyro_unit, gyro_line = unit_of_gyro(matrix)
    warnings += [line for line in (accel_line, gyro_line) if line]
    calibration = ImuCalibration(
        accel=TriadCalibration(matrix=accel.matrix, bias=accel.bias, unit_in=accel_unit),
        gyro=TriadCalibration(matrix=matrix, bias=bias, unit_in=gyro_unit),
        g_sensitivity=K,
        body=series.body,
    )
    return result_of_faces(
        "ferraris",
        series,
        found,
        calibration,
        gravity=gravity,
        warnings=warnings,
        turn_error=np.zeros(len(found.turn_axis)),
    )


def _require_all(sections: Sections) -> None:
    """Raise unless there are six faces, and one turn about each axis."""
    if missing := missing_faces(sections):
        raise ValueRangeError(
            f"expected six faces, got none with {', '.join(missing)}; record them, or use "
            "six_position, which needs four"
        )
    count = np.bincount(sections.turn_axis, minlength=3)
    if np.any(count != 1):
        shown = ", ".join(f"{c} about {a}" for c, a in zip(count, "xyz", strict=True))
        raise ValueRangeError(
            f"expected one turn about each axis, got {shown}; pass sections, or use six_position"
        )


def _mean(values: FloatArray, sections: Sections, axis: int, sign: int) -> FloatArray:
    """Return the mean of all samples on a face."""
    spans = sections.of_face(axis, sign)
    start, stop = sections.stills.start[spans], sections.stills.stop[spans]
    parts = [values[a:b] for a, b in zip(start, stop, strict=True)]
    return np.asarray(np.concatenate(parts).mean(axis=0))
