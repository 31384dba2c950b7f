"""Calibration of PX4 sensors: from parameters to offset, scale and mounting, with its count.

A gyroscope reads ``R (raw - thermal - offset)``, an accelerometer
``R ((raw - thermal - offset) * scale)``; ``R`` turns from board to body. Offsets and scales
are read from the slot ``CAL_GYROn_*`` or ``CAL_ACCn_*`` with the id of the device.

The autopilot applies a new offset or scale only if it differs by more than 0.01 from the one in
use, and counts this; every ``VehicleImu`` contains the count. A smaller change has no effect until
the next start, and for an accelerometer not even then.

References
----------
PX4-Autopilot, ``src/lib/sensor_calibration``; PX4 parameter reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import UnknownNameError
from strapdown.px4.device_id import DeviceId
from strapdown.px4.rotations import ROTATIONS, matrix_float32, matrix_product

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from strapdown._typing import ArrayLike, FloatArray

    Floats = TypeVar("Floats", NDArray[np.float32], FloatArray)
    Parameters: TypeAlias = Mapping[str, float]

__all__ = [
    "LEAST_CHANGE",
    "CalibrationTracker",
    "Sensor",
    "SensorCalibration",
    "apply",
    "calibration_from_parameters",
    "correct",
    "thermal_offset",
]

Sensor: TypeAlias = Literal["gyro", "accel"]

_SLOTS: Final = range(4)
_PREFIX: Final[dict[Sensor, str]] = {"gyro": "CAL_GYRO", "accel": "CAL_ACC"}
_UNSET: Final = -1
_HIGHEST_PRIORITY: Final = 100
LEAST_CHANGE: Final = 0.01
"""Change of an offset [rad/s or m/s^2] or a scale up to which the autopilot ignores it."""


def _floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


@dataclass(frozen=True, eq=False)
class SensorCalibration:  # noqa: PLW1641 (arrays have no hash)
    """Calibration of one sensor, from raw readings to readings in body axes.

    Parameters
    ----------
    offset : (3,) float32
        Subtracted after the thermal offset [rad/s or m/s^2, board FRD].
    scale : (3,) float32
        Multiplied next, by axis.
    rotation : (3, 3) float32
        ``R_body_from_board``, applied last.
    thermal_offset : (3,) float32
        Subtracted before the offset [rad/s or m/s^2, board FRD].
    count : int
        ``calibration_count``: number of changes of offset or scale, modulo 256.
    priority : int
        Priority in the selection of a sensor, 0 to 100; 0 disables the sensor.
    external : bool
        The sensor has a mounting separate from the board.

    Raises
    ------
    ShapeError, ValueRangeError
        An array has a wrong shape or a value that is not finite.
    """

    offset: NDArray[np.float32] = field(default_factory=lambda: np.zeros(3, np.float32))
    scale: NDArray[np.float32] = field(default_factory=lambda: np.ones(3, np.float32))
    rotation: NDArray[np.float32] = field(default_factory=lambda: np.eye(3, dtype=np.float32))
    thermal_offset: NDArray[np.float32] = field(default_factory=lambda: np.zeros(3, np.float32))
    count: int = 0
    priority: int = 50
    external: bool = False

    def __post_init__(self) -> None:
        for name, shape in (
            ("offset", (3,)),
            ("scale", (3,)),
            ("rotation", (3, 3)),
            ("thermal_offset", (3,)),
        ):
            values = as_finite(getattr(self, name), name, shape).astype(np.float32)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SensorCalibration):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, entry.name), getattr(other, entry.name))
            for entry in fields(self)
        )


def apply(calibration: SensorCalibration, raw: ArrayLike) -> NDArray[np.float32]:
    """Apply a calibration in float32, with the operations of the autopilot in their order.

    Parameters
    ----------
    calibration : SensorCalibration
        Calibration of the sensor.
    raw : array_like, shape (..., 3)
        Readings [rad/s or m/s^2, board FRD].

    Returns
    -------
    ndarray of float32, shape (..., 3)
        [rad/s or m/s^2, body FRD].
    """
    values = _scaled(calibration, as_floats(raw, "raw", (3,)).astype(np.float32))
    return matrix_product(calibration.rotation, values).astype(np.float32, copy=False)


def correct(calibration: SensorCalibration, raw: ArrayLike) -> FloatArray:
    """Apply a calibration in float64; otherwise as :func:`apply`.

    Parameters
    ----------
    calibration : SensorCalibration
        Calibration of the sensor.
    raw : array_like, shape (..., 3)
        Readings [rad/s or m/s^2, board FRD].

    Returns
    -------
    ndarray, shape (..., 3)
        [rad/s or m/s^2, body FRD].
    """
    values = _scaled(calibration, as_floats(raw, "raw", (3,)))
    return values @ calibration.rotation.T.astype(np.float64)


def _scaled(calibration: SensorCalibration, raw: Floats) -> Floats:
    return (raw - calibration.thermal_offset - calibration.offset) * calibration.scale


def calibration_from_parameters(
    parameters: Parameters,
    sensor: Sensor,
    device_id: int,
    *,
    board_external: bool = False,
    least_change: float = LEAST_CHANGE,
) -> SensorCalibration:
    """Return the calibration of a sensor after a start with the given parameters.

    Parameters
    ----------
    parameters, sensor, device_id, board_external, least_change
        As for :class:`CalibrationTracker` and its ``update``.

    Returns
    -------
    SensorCalibration
        With count 1 for a calibrated gyroscope, and 0 to 2 for an accelerometer.

    Raises
    ------
    UnknownNameError
        There is no such kind of sensor.
    """
    tracker = CalibrationTracker(
        sensor, device_id, board_external=board_external, least_change=least_change
    )
    return tracker.update(parameters)


def thermal_offset(
    correction: Mapping[str, ArrayLike] | np.void, sensor: Sensor, device_id: int
) -> NDArray[np.float32]:
    """Return the thermal offset of a device.

    Parameters
    ----------
    correction : record or mapping
        One message ``sensor_correction``, with the fields of its definition.
    sensor : "gyro" or "accel"
        Sensor whose fields to read.
    device_id : int
        The device.

    Returns
    -------
    ndarray of float32, shape (3,)
        [rad/s or m/s^2, board FRD]; 0 if the message contains none for this device.
    """
    names = correction.dtype.names or () if isinstance(correction, np.void) else correction
    ids = f"{sensor}_device_ids"
    if device_id and ids in names:
        for slot in np.flatnonzero(np.asarray(correction[ids]) == device_id):
            return np.asarray(correction[f"{sensor}_offset_{slot}"], np.float32)
    return _floats(0.0, 0.0, 0.0)


class CalibrationTracker:
    """Calibration of one sensor that follows changes of parameters.

    Parameters
    ----------
    sensor : "gyro" or "accel"
        Sensor whose parameters to use.
    device_id : int
        Id that selects the slot.
    board_external : bool
        A device on I2C or SPI is mounted separately from the board.
    least_change : float
        Offset and scale are applied if they differ by more than this in Euclidean norm. The
        autopilot uses 0.01; 0 applies every change.

    Raises
    ------
    UnknownNameError
        There is no such kind of sensor.

    Examples
    --------
    >>> tracker = CalibrationTracker("gyro", 1310988)
    >>> tracker.update({"CAL_GYRO0_ID": 1310988, "CAL_GYRO0_XOFF": 0.5}).offset.tolist()
    [0.5, 0.0, 0.0]
    >>> tracker.update({"CAL_GYRO0_ID": 1310988, "CAL_GYRO0_XOFF": 0.505}).count
    1
    """

    def __init__(
        self,
        sensor: Sensor,
        device_id: int,
        *,
        board_external: bool = False,
        least_change: float = LEAST_CHANGE,
    ) -> None:
        if sensor not in _PREFIX:
            raise UnknownNameError("sensor", sensor, _PREFIX)
        self._sensor: Sensor = sensor
        self._board_external = board_external
        self._least_square = np.float32(least_change) * np.float32(least_change)
        self.device_id = device_id
        self.calibration = SensorCalibration()

    def update(self, parameters: Parameters, *, device_id: int | None = None) -> SensorCalibration:
        """Apply changes of parameters, and possibly of the device.

        Parameters
        ----------
        parameters : mapping of str to number
            All parameters of the autopilot by name; missing ones have their defaults.
        device_id : int, optional
            The device, if it may have changed.

        Returns
        -------
        SensorCalibration
            The new calibration, also available as ``calibration``.
        """
        if device_id is not None and device_id != self.device_id:
            self.device_id = device_id
            self.calibration = SensorCalibration()
        slot = self._slot(parameters)
        external = DeviceId.decode(self.device_id).is_external(board_external=self._board_external)
        priority = _whole(parameters, f"{slot}_PRIO", _UNSET)
        if not 0 <= priority <= _HIGHEST_PRIORITY:
            priority = 75 if external else 50
        before = self.calibration
        if not slot:
            before = SensorCalibration(thermal_offset=before.thermal_offset)
        now = replace(
            before,
            rotation=_rotation(parameters, f"{slot}_ROT" if external else "SENS_BOARD_ROT"),
            priority=priority,
            external=external,
        )
        self.calibration = self._recalibrated(now, parameters, slot) if slot else now
        return self.calibration

    def update_thermal(self, correction: Mapping[str, ArrayLike] | np.void) -> SensorCalibration:
        """Apply the thermal offset of a message ``sensor_correction``.

        Parameters
        ----------
        correction : record or mapping
            As for :func:`thermal_offset`.

        Returns
        -------
        SensorCalibration
            The new calibration, also available as ``calibration``.
        """
        offset = thermal_offset(correction, self._sensor, self.device_id)
        self.calibration = replace(self.calibration, thermal_offset=offset)
        return self.calibration

    def _slot(self, parameters: Parameters) -> str:
        """Return the prefix of the parameters of the device; empty if it has none."""
        slots = (f"{_PREFIX[self._sensor]}{slot}" for slot in _SLOTS)
        matching = (slot for slot in slots if _whole(parameters, f"{slot}_ID", 0) == self.device_id)
        return next(matching, "") if self.device_id else ""

    def _recalibrated(
        self, now: SensorCalibration, parameters: Parameters, slot: str
    ) -> SensorCalibration:
        """Apply offset and scale where they changed enough, and count the change."""
        count = now.count
        offset = _vector(parameters, slot, "OFF", 0.0)
        first = self._sensor == "gyro" and count == 0
        if np.isfinite(offset).all() and (first or self._differ(offset, now.offset)):
            now, count = replace(now, offset=offset), count + 1
        if self._sensor == "accel":
            scale = _vector(parameters, slot, "SCALE", 1.0)
            possible = np.isfinite(scale).all() and (scale > 0.0).all()
            if possible and self._differ(scale, now.scale):
                now, count = replace(now, scale=scale), count + 1
        return replace(now, count=count % 256)

    def _differ(self, new: NDArray[np.float32], old: NDArray[np.float32]) -> bool:
        with np.errstate(over="ignore"):
            x, y, z = (old - new) ** 2
            return bool(x + y + z > self._least_square)


def _rotation(parameters: Parameters, name: str) -> NDArray[np.float32]:
    """Return the rotation from board to body: the fine adjustment after the mounting."""
    number = _whole(parameters, name, 0)
    mounting = ROTATIONS[number] if 0 <= number < len(ROTATIONS) else (0, 0, 0)
    fine = [_finite(parameters, f"SENS_BOARD_{axis}_OFF", 0.0) for axis in "XYZ"]
    columns = matrix_product(matrix_float32(fine), matrix_float32(mounting).T)
    return columns.T.astype(np.float32, copy=False)


def _vector(
    parameters: Parameters, slot: str, quantity: str, default: float
) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return _floats(*(parameters.get(f"{slot}_{axis}{quantity}", default) for axis in "XYZ"))


def _finite(parameters: Parameters, name: str, default: float) -> float:
    value = float(parameters.get(name, default))
    return value if isfinite(value) else default


def _whole(parameters: Parameters, name: str, default: int) -> int:
    return int(_finite(parameters, name, default))
