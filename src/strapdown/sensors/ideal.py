"""An IMU without faults but white noise and a constant bias."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, SensorIdentity
from strapdown.units import MICROTESLA

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = ["IdealImu"]

_ZERO = (0.0, 0.0, 0.0)
_DIP = math.radians(60.0)
_FIELD = (0.0, 50.0 * MICROTESLA * math.cos(_DIP), -50.0 * MICROTESLA * math.sin(_DIP))

# First of the three noise streams of each sensor.
_GYRO, _ACCEL, _MAG = 0, 3, 6


@dataclass(frozen=True)
class IdealImu:
    """An IMU with point samples, white noise and constant bias, strapped to a body.

    A density N is the square root of the two-sided power spectral density, which is the Allan
    deviation at 1 s; a sample then has the standard deviation ``N sqrt(rate_hz)``. Divide the
    one-sided density of a data sheet by ``sqrt(2)``.

    Parameters
    ----------
    rate_hz : float
        Samples a second.
    gyro_noise_density : float
        [rad/s/sqrt(Hz)].
    accel_noise_density : float
        [m/s^2/sqrt(Hz)].
    mag_noise_density : float
        [T/sqrt(Hz)].
    gyro_bias, accel_bias : (3,)
        Added to every sample [rad/s, body], [m/s^2, body].
    magnetic_field_world : (3,) or None
        The uniform field around the body [T, ENU]; None is an IMU without magnetometer. By
        default 50 uT that dip 60 degrees below north.
    seed : int
        Key of the noise, 0 to 2**64 - 1. Every axis has its own stream, so a longer run
        begins with the samples of a shorter one.
    name : str
        Name of the sensor; sensors of different names have different noise.

    Raises
    ------
    ShapeError
        A bias or the field has not three components.
    ValueRangeError
        The rate is not positive, a density is negative, something is not finite, or the seed
        does not fit.
    """

    rate_hz: float = 200.0
    gyro_noise_density: float = 0.0
    accel_noise_density: float = 0.0
    mag_noise_density: float = 0.0
    gyro_bias: tuple[float, float, float] = _ZERO
    accel_bias: tuple[float, float, float] = _ZERO
    magnetic_field_world: tuple[float, float, float] | None = _FIELD
    seed: int = 0
    name: str = "imu"

    def __post_init__(self) -> None:
        for name in ("gyro_noise_density", "accel_noise_density", "mag_noise_density"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueRangeError(f"expected {name} of 0 or more, got {getattr(self, name)}")
        if not 0.0 < self.rate_hz < math.inf:
            raise ValueRangeError(f"expected rate_hz above 0, got {self.rate_hz}")
        if not 0 <= self.seed < 2**64:
            raise ValueRangeError(f"expected a seed from 0 to 2**64 - 1, got {self.seed}")
        for name in ("gyro_bias", "accel_bias", "magnetic_field_world"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, tuple(as_finite(value, name, (3,)).tolist()))

    def measure(
        self,
        t_ns: IntArray,
        angular_velocity: FloatArray,
        specific_force: FloatArray,
        q_world_from_body: FloatArray,
    ) -> ImuSeries:
        """Return what the sensor reads where the truth is known.

        Parameters
        ----------
        t_ns : (N,) int64
            Instants of the samples [ns]; their spacing should be that of ``rate_hz``.
        angular_velocity : (N, 3)
            [rad/s, body].
        specific_force : (N, 3)
            [m/s^2, body].
        q_world_from_body : (N, 4)
            Attitude, for the magnetometer.

        Returns
        -------
        ImuSeries
            With the covariances of the noise where there is noise; body FLU.

        Raises
        ------
        ShapeError
            The arrays differ in length or have other shapes.
        """
        gyro = as_floats(angular_velocity, "angular_velocity", (3,))
        accel = as_floats(specific_force, "specific_force", (3,))
        field = None
        if self.magnetic_field_world is not None:
            q_body_from_world = quaternion.conjugate(q_world_from_body)
            field = quaternion.rotate(q_body_from_world, np.asarray(self.magnetic_field_world))
            field = field + self._noise(self.mag_noise_density, _MAG, len(field))
        return ImuSeries(
            t_ns,
            gyro + self.gyro_bias + self._noise(self.gyro_noise_density, _GYRO, len(gyro)),
            accel + self.accel_bias + self._noise(self.accel_noise_density, _ACCEL, len(accel)),
            magnetic_field=field,
            angular_velocity_covariance=self._covariance(self.gyro_noise_density, len(gyro)),
            specific_force_covariance=self._covariance(self.accel_noise_density, len(accel)),
            sensor=SensorIdentity(self.name),
        )

    def _noise(self, density: float, first_stream: int, samples: int) -> FloatArray:
        sigma = density * math.sqrt(self.rate_hz)
        sensor = zlib.crc32(self.name.encode()) << 32
        keys = ((self.seed, sensor | first_stream + axis) for axis in range(3))
        streams = (np.random.Generator(np.random.Philox(key=np.array(k, np.uint64))) for k in keys)
        return sigma * np.stack([stream.standard_normal(samples) for stream in streams], axis=-1)

    def _covariance(self, density: float, samples: int) -> FloatArray | None:
        if density == 0.0:
            return None  # a covariance of zeros would say: unknown
        return np.broadcast_to(density**2 * self.rate_hz * np.eye(3), (samples, 3, 3))
