"""Aiding from the series of a GNSS receiver and of a barometer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.estimation.navigation.aiding import Aiding
from strapdown.geometry import quaternion, wgs84
from strapdown.geometry.frames import WorldFrame
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.series import BarometerSeries, GnssSeries

__all__ = ["BAROMETER_SIGMA", "barometer_aiding", "gnss_aiding", "with_accuracy"]

BAROMETER_SIGMA: Final = 3.5
"""Standard deviation of a barometer [m]: the default of PX4's EKF2_BARO_NOISE."""
_PLANE_SIGMA: Final = 3.3
_UP_SIGMA: Final = 6.6
"""Standard deviations of GPS [m]: 95 % are within 8 m in the plane and 13 m up, by the GPS Standard
Positioning Service Performance Standard of 2020."""


def gnss_aiding(
    fixes: GnssSeries,
    origin: ArrayLike | None = None,
    *,
    lever_arm: ArrayLike = (0.0, 0.0, 0.0),
    latency: float = 0.0,
    velocity_latency: float | None = None,
    heading_axis: ArrayLike = (1.0, 0.0, 0.0),
) -> list[Aiding]:
    """Return the positions, velocities and headings of a receiver as aiding.

    A row without a fix, and a value that is NaN or of unknown covariance, give no aiding.

    Parameters
    ----------
    fixes : GnssSeries
        With covariances.
    origin : (3,), optional
        Of the world: latitude, longitude [rad], height above the ellipsoid [m]; by default that
        of the first fix. The same latitude and height define the
        :class:`~strapdown.inertial.navigation.Place`.
    lever_arm : (3,), optional
        From the inertial sensor to the antenna [m, body, FLU].
    latency : float, optional
        By how much the stamps of the fixes are late [s].
    velocity_latency : float, optional
        The same for their velocities, by default ``latency``: a velocity that is the mean since the
        last fix is later by half their interval.
    heading_axis : (3,), optional
        Direction in the body (FLU) whose heading two antennas measure.

    Returns
    -------
    list of Aiding
        In the order of the stamps.

    Examples
    --------
    >>> import numpy as np
    >>> from strapdown.series import GnssSeries
    >>> variances = np.tile(0.02**2 * np.eye(3), (2, 1, 1))
    >>> fixes = GnssSeries([0, 10**9], [0.7, 0.7], [0.1, 0.1], [300.0, 301.0], variances)
    >>> [aiding.value.round(3).tolist() for aiding in gnss_aiding(fixes, latency=-0.1)]
    [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    fixes = fixes.in_frames(world=WorldFrame.ENU)
    fixes = fixes[fixes.has_fix]
    place = fixes.origin if origin is None else as_finite(origin, "origin", (3,))
    velocity_latency = latency if velocity_latency is None else velocity_latency
    stamps = fixes.t_ns - round(latency * NS_PER_S)
    moving = fixes.t_ns - round(velocity_latency * NS_PER_S)
    q_ecef_from_world = wgs84.q_ecef_from_enu(place[0], place[1])
    q_ecef_from_local = wgs84.q_ecef_from_enu(fixes.latitude, fixes.longitude)
    q = quaternion.multiply(quaternion.conjugate(q_ecef_from_world), q_ecef_from_local)
    R, found = quaternion.to_matrix(q), list[Aiding]()
    for of, t_ns, values, covariance in (
        (Aiding.position, stamps, fixes.local_enu(place), fixes.position_covariance),
        (Aiding.velocity, moving, _turned(q, fixes.velocity_world), fixes.velocity_covariance),
    ):
        if values is None or covariance is None:
            continue
        inside = R @ covariance @ R.transpose(0, 2, 1)
        for k in _measured(values, covariance):
            found.append(of(int(t_ns[k]), values[k], inside[k], lever_arm=lever_arm))
    if fixes.heading is not None and fixes.heading_sigma is not None:
        for k in np.flatnonzero(np.isfinite(fixes.heading) & (fixes.heading_sigma > 0.0)):
            heading, sigma = float(fixes.heading[k]), float(fixes.heading_sigma[k])
            found.append(Aiding.heading(int(stamps[k]), heading, sigma, axis=heading_axis))
    return sorted(found, key=lambda each: each.t_ns)


def with_accuracy(fixes: GnssSeries) -> tuple[GnssSeries, str]:
    """Return fixes with that of GPS where they state no accuracy, and a note if any does not."""
    unknown = ~fixes.position_covariance.any(axis=(1, 2))
    if not unknown.any():
        return fixes, ""
    covariance = fixes.position_covariance.copy()
    covariance[unknown] = np.diag(np.square([_PLANE_SIGMA, _PLANE_SIGMA, _UP_SIGMA]))
    note = (
        f"{int(unknown.sum())} of {len(fixes)} fixes state no accuracy: {_PLANE_SIGMA} m along "
        f"east and north and {_UP_SIGMA} m up are taken"
    )
    return fixes.replace(position_covariance=covariance), note


def barometer_aiding(
    readings: BarometerSeries, sigma: float, *, origin: float | None = None, latency: float = 0.0
) -> list[Aiding]:
    """Return the altitudes of a barometer as aiding; readings that are NaN give none.

    Parameters
    ----------
    readings : BarometerSeries
    sigma : float
        Standard deviation of their noise [m].
    origin : float, optional
        Altitude of the origin on the scale of the barometer [m]; by default the first reading.
        The navigator estimates the bias that remains.
    latency : float, optional
        By how much the stamps of the readings are late [s].

    Returns
    -------
    list of Aiding
    """
    rows = np.flatnonzero(np.isfinite(readings.altitude))
    altitude = readings.altitude[rows]
    stamps = readings.t_ns[rows] - round(latency * NS_PER_S)
    above = altitude - (altitude[:1] if origin is None else origin)
    return [Aiding.altitude(*at, sigma) for at in zip(stamps.tolist(), above.tolist(), strict=True)]


def _turned(q: FloatArray, vectors: FloatArray | None) -> FloatArray | None:
    return None if vectors is None else quaternion.rotate(q, vectors)


def _measured(values: FloatArray, covariance: FloatArray) -> IntArray:
    """Return the rows that are finite and of known covariance."""
    finite = np.isfinite(values).all(axis=1) & np.isfinite(covariance).all(axis=(1, 2))
    return np.flatnonzero(finite & (np.diagonal(covariance, axis1=1, axis2=2) > 0.0).all(axis=1))
