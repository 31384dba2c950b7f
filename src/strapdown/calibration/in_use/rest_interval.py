"""Gyro bias of one interval at rest: mean, variance, and the guards that it has to pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.calibration.in_use.bias_track import BiasTrackParams
from strapdown.detection import DetectorParams
from strapdown.geometry.wgs84 import EARTH_RATE
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.detection import Event

__all__ = ["Place", "Refusal", "RestBlock", "RestInterval", "RestParams", "measured"]

_FLICKER: Final = 0.664  # floor of the Allan deviation of flicker noise, in units of B
_LEAST_M_S2: Final = 1.0  # specific force below which there is no direction
_LEVEL: Final = 0.1  # horizontal part below which a direction is taken as vertical


@dataclass(frozen=True)
class RestParams(DetectorParams):
    """Parameters of the gyro bias at rest; the defaults are those of a consumer MEMS sensor.

    Parameters
    ----------
    bias_max_rad_s : float
        Larger mean rates are motion.
    direction_rad : float
        Change of the direction of the specific force, or of the heading by the magnetic field,
        within an interval that is motion.
    unseen_rate_rad_s : float
        Standard deviation of the rate about the vertical without a magnetometer: the sensor may
        turn slowly and evenly.
    bias_instability_rad_s : float
        B: no mean is better than 0.664 B.
    resolution_rad_s : float
        Step of the readings.
    shock_m_s2 : float
        Specific force that counts as a shock.
    track : BiasTrackParams
        Random walk and floor of the running estimate, limits of jump and drift.

    Raises
    ------
    ValueRangeError
        A value is not positive or not finite.
    """

    bias_max_rad_s: float = 3.0 * RAD_PER_DEG
    direction_rad: float = 0.5 * RAD_PER_DEG
    unseen_rate_rad_s: float = field(default=0.05 * RAD_PER_DEG, metadata=MAY_BE_ZERO)
    bias_instability_rad_s: float = 5e-5
    resolution_rad_s: float = field(default=0.0, metadata=MAY_BE_ZERO)
    shock_m_s2: float = 50.0
    track: BiasTrackParams = field(default_factory=BiasTrackParams)


class Refusal(StrEnum):
    """Reason not to use an interval at rest."""

    RATE = "rate"  # the mean rate is too large for a bias
    TILT = "tilt"  # the direction of the specific force changes
    HEADING = "heading"  # the magnetic field turns about the vertical


class RestBlock(NamedTuple):
    """Means of half a second at rest, in FLU.

    Parameters
    ----------
    first_ns, last_ns : int
        First and last stamp [ns].
    samples : int
        Number of samples.
    angular_velocity, specific_force, magnetic_field : (3,)
        Means; NaN without a magnetic field.
    variance : (6,)
        Of angular velocity and specific force within the block.
    """

    first_ns: int
    last_ns: int
    samples: int
    angular_velocity: FloatArray
    specific_force: FloatArray
    magnetic_field: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class RestInterval:
    """Gyro bias of an interval at rest.

    Parameters
    ----------
    t_start_ns, t_end_ns : int
        First and last stamp [ns].
    gyro_bias, gyro_bias_sigma : (3,)
        Mean without the Earth's rate where that is known, and its standard deviation
        [rad/s, FLU].
    common_sigma : (3,)
        Part of it that is the same in all intervals of this attitude, so that no mean reduces it:
        an unseen turn about the vertical, and the unknown part of the Earth's rate [rad/s, FLU].
    specific_force, specific_force_sigma : (3,)
        Mean, and its standard deviation by noise [m/s^2, FLU].
    event : Event, optional
        Jump or drift of the bias that this interval shows.
    """

    t_start_ns: int
    t_end_ns: int
    gyro_bias: FloatArray
    gyro_bias_sigma: FloatArray
    common_sigma: FloatArray
    specific_force: FloatArray
    specific_force_sigma: FloatArray
    event: Event | None = None


@dataclass(frozen=True)
class Place:
    """Place of a sensor, as far as it is known.

    Parameters
    ----------
    latitude : float, optional
        [rad].
    heading : float, optional
        Of the forward axis, from north towards east [rad]; the same in all intervals.
    """

    latitude: float | None = None
    heading: float | None = None

    def earth_rate(self, up: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the Earth's rate (3,) as far as it is known, and the variance (3,) of the rest.

        Parameters
        ----------
        up : (3,)
            Unit vector [FLU].
        """
        if self.latitude is None:
            return np.zeros(3), np.full(3, EARTH_RATE**2 / 3.0)
        rate = EARTH_RATE * math.sin(self.latitude) * up
        along_north = EARTH_RATE * math.cos(self.latitude)
        forward = np.array([1.0, 0.0, 0.0]) - up[0] * up
        level = float(np.linalg.norm(forward))
        if self.heading is None or level < _LEVEL:
            return rate, 0.5 * along_north**2 * (1.0 - up**2)
        forward /= level
        north = math.cos(self.heading) * forward + math.sin(self.heading) * np.cross(up, forward)
        return rate + along_north * north, np.zeros(3)


def measured(blocks: Sequence[RestBlock], p: RestParams, place: Place) -> RestInterval | Refusal:
    """Return the bias of consecutive blocks, or the reason to refuse them.

    The variance of the mean is ``N^2 / T + (0.664 B)^2 + resolution^2 / 12 n``, where ``N^2 / T``
    is the larger one of two estimates: from the variance of the samples, as if they were white,
    and from the variance among the blocks. To the vertical the square of the rate is added that
    the magnetic field shows, or without it that of ``unseen_rate_rad_s``.
    """
    n = np.array([block.samples for block in blocks], np.float64)
    rates = np.array([block.angular_velocity for block in blocks])
    forces = np.array([block.specific_force for block in blocks])
    within = np.array([block.variance for block in blocks])
    span_s = (blocks[-1].last_ns - blocks[0].first_ns) / NS_PER_S
    total = n.sum()
    mean, force = n @ rates / total, n @ forces / total
    if np.linalg.norm(mean) > p.bias_max_rad_s:
        return Refusal.RATE
    if np.linalg.norm(forces, axis=1).min() < _LEAST_M_S2:
        return Refusal.TILT
    up = force / np.linalg.norm(force)
    directions = forces / np.linalg.norm(forces, axis=1, keepdims=True)
    if np.linalg.norm(directions - up, axis=1).max() > p.direction_rad:
        return Refusal.TILT
    turn = _field_rate(blocks, up)
    if turn is not None and abs(turn) * span_s > p.direction_rad:
        return Refusal.HEADING
    rate_variance, force_variance = (
        np.maximum(n @ variance / total**2, means.var(axis=0, ddof=1) / len(blocks))
        for variance, means in ((within[:, :3], rates), (within[:, 3:], forces))
    )
    earth, unknown = place.earth_rate(up)
    common = unknown + (0.0 if turn is not None else p.unseen_rate_rad_s * up) ** 2
    variance = (
        rate_variance
        + (_FLICKER * p.bias_instability_rad_s) ** 2
        + p.resolution_rad_s**2 / 12.0 / total
        + (0.0 if turn is None else turn * up) ** 2
        + common
    )
    return RestInterval(
        t_start_ns=blocks[0].first_ns,
        t_end_ns=blocks[-1].last_ns,
        gyro_bias=mean - earth,
        gyro_bias_sigma=np.sqrt(variance),
        common_sigma=np.sqrt(common),
        specific_force=force,
        specific_force_sigma=np.sqrt(force_variance),
    )


def _field_rate(blocks: Sequence[RestBlock], up: FloatArray) -> float | None:
    """Return the rate of the magnetic field about the vertical [rad/s]; None without a field."""
    fields = np.array([block.magnetic_field for block in blocks])
    mean = fields.mean(axis=0)
    level = mean - (mean @ up) * up
    length2 = float(level @ level)
    if not length2 > _LEVEL**2 * (mean @ mean):
        return None
    angles = fields @ np.cross(up, level) / length2
    t = np.array([0.5 * (block.first_ns + block.last_ns) for block in blocks])
    t = (t - t.mean()) / NS_PER_S
    return -float(t @ angles / (t @ t))
