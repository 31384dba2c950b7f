"""Errors of a sensor, estimated while it is used."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import FrameError
from strapdown.geometry.frames import BodyFrame, convert_covariance, convert_vector

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray

__all__ = ["SelfCalibration"]

_CONVERTED: Final = {
    "gyro_bias": convert_vector,
    "accel_bias": convert_vector,
    "hard_iron": convert_vector,
    "gyro_matrix": convert_covariance,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class SelfCalibration:
    """Estimated errors of a sensor, each with its standard deviation.

    The calibrated angular velocity is ``(I + gyro_matrix) w - gyro_bias``, the calibrated
    specific force ``f - accel_bias``, the calibrated magnetic field ``m - hard_iron``.

    Parameters
    ----------
    t_ns : (K,) int64
        Times of the estimates of the gyro bias [ns].
    gyro_bias, gyro_bias_sigma : (K, 3)
        [rad/s, body].
    accel_bias, accel_bias_sigma : (3,)
        [m/s^2, body].
    gyro_matrix, gyro_matrix_sigma : (3, 3)
        Scale (diagonal), misalignment, and rotation of the gyro relative to the accelerometer.
    gyro_matrix_prior : float
        Standard deviation of each of its elements before the recording.
    hard_iron, hard_iron_sigma : (3,), optional
        Field of magnets that turn with the sensor [unit of the magnetic field, body]; None
        without a magnetometer.
    magnetic_field, magnetic_field_sigma : (2,), optional
        Components of the field, north and up [unit of the magnetic field].
    magnetometer_delay, magnetometer_delay_sigma : float, optional
        Delay of the magnetometer relative to the gyro [s].
    body : BodyFrame
        Axes of all of these.
    """

    t_ns: IntArray
    gyro_bias: FloatArray
    gyro_bias_sigma: FloatArray
    accel_bias: FloatArray
    accel_bias_sigma: FloatArray
    gyro_matrix: FloatArray
    gyro_matrix_sigma: FloatArray
    gyro_matrix_prior: float
    hard_iron: FloatArray | None = None
    hard_iron_sigma: FloatArray | None = None
    magnetic_field: FloatArray | None = None
    magnetic_field_sigma: FloatArray | None = None
    magnetometer_delay: float | None = None
    magnetometer_delay_sigma: float | None = None
    body: BodyFrame = BodyFrame.FLU

    @property
    def is_observed(self) -> BoolArray:
        """Flags of the elements of the gyro matrix that the recording determines, (3, 3).

        Their standard deviation is less than half of the prior. The others are mostly the
        prior, not a calibration of the sensor.
        """
        observed: BoolArray = self.gyro_matrix_sigma < 0.5 * self.gyro_matrix_prior
        return observed

    def in_frame(self, body: BodyFrame | str) -> SelfCalibration:
        """Convert to other body axes.

        Raises
        ------
        FrameError
            There is no such frame of the body.
        """
        if body not in BodyFrame.__members__:
            raise FrameError(
                f"expected a body frame among {', '.join(BodyFrame.__members__)}, got {body!r}"
            )
        body = BodyFrame(body)
        moved: dict[str, object] = {}
        for entry in fields(self):
            value, quantity = getattr(self, entry.name), entry.name.removesuffix("_sigma")
            if value is None or quantity not in _CONVERTED:
                continue
            value = _CONVERTED[quantity](value, self.body, body)
            moved[entry.name] = value if entry.name == quantity else np.abs(value)
        return replace(self, **moved, body=body)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, object]:
        """Return the constants as values for JSON, with the last gyro bias."""
        constants: dict[str, object] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name in {"gyro_bias", "gyro_bias_sigma"}:
                value = value[-1]
            if entry.name != "t_ns":
                constants[entry.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return constants
