"""Calibrations in the form of others: split into rotation, misalignment and scale; PX4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.px4.calibration import SensorCalibration
from strapdown.px4.rotations import ROTATIONS, rotation_matrix
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown._typing import FloatArray
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.px4.calibration import Sensor

__all__ = ["MatrixSplit", "Px4Calibration", "Split", "split_matrix", "to_px4"]

Split: TypeAlias = Literal["polar", "qr"]

_PREFIX: Final[dict[str, str]] = {"gyro": "CAL_GYRO", "accel": "CAL_ACC"}
_SLOTS: Final = 4
_LEAST_ANGLE: Final = 0.01 * RAD_PER_DEG  # a loss that is not worth a line
_LEAST_SCALE: Final = 1e-5


@dataclass(frozen=True, eq=False)
class MatrixSplit:
    """A matrix as ``rotation @ misalignment @ diag(scale)``.

    Parameters
    ----------
    rotation : (3, 3)
        Proper rotation.
    misalignment : (3, 3)
        With ones on the diagonal.
    scale : (3,)
        Positive, by axis of the sensor.
    """

    rotation: FloatArray
    misalignment: FloatArray
    scale: FloatArray

    @property
    def matrix(self) -> FloatArray:
        """The product (3, 3)."""
        return self.rotation @ (self.misalignment * self.scale)


def split_matrix(matrix: FloatArray, kind: Split = "polar") -> MatrixSplit:
    """Split the matrix of a calibration into rotation, misalignment and scale.

    Parameters
    ----------
    matrix : (3, 3)
        Of a :class:`TriadCalibration`.
    kind : {"polar", "qr"}
        ``"polar"`` leaves the smallest misalignment: rotation times a symmetric matrix.
        ``"qr"`` keeps the x axis and the x-y plane of the sensor: rotation times an upper
        triangular matrix.

    Raises
    ------
    UnknownNameError
        There is no such split.
    ValueRangeError
        The matrix is not finite, cannot be inverted, or mirrors.

    Examples
    --------
    >>> split_matrix([[0.0, -2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).scale.tolist()
    [1.0, 2.0, 1.0]
    """
    A = as_finite(matrix, "matrix", (3, 3))
    if not np.linalg.det(A) > 0.0:
        raise ValueRangeError(
            "expected a matrix of right-handed axes, got one that mirrors or is singular: swap or "
            "negate an axis of the readings first"
        )
    if kind == "polar":
        u, s, vt = np.linalg.svd(A)
        rotation, rest = u @ vt, (vt.T * s) @ vt
    elif kind == "qr":
        q, r = np.linalg.qr(A)
        signs = np.sign(np.diag(r))
        rotation, rest = q * signs, r * signs[:, None]
    else:
        raise UnknownNameError("split", str(kind), ["polar", "qr"])
    scale = np.diag(rest).copy()
    return MatrixSplit(rotation, rest / scale, scale)


@dataclass(frozen=True, eq=False)
class Px4Calibration:
    """Calibration of one sensor for PX4, and what PX4 cannot represent.

    Parameters
    ----------
    calibration : SensorCalibration
        Offset and scale; its rotation is the numbered one next to that of the matrix.
    parameters : dict
        ``CAL_ACCn_*`` or ``CAL_GYROn_*``.
    rotation : int
        Number of the mounting, for ``SENS_BOARD_ROT``; 0 is none.
    lost : tuple of str
        One line for each part that is lost.
    """

    calibration: SensorCalibration
    parameters: dict[str, float]
    rotation: int
    lost: tuple[str, ...]


def to_px4(
    calibration: ImuCalibration, sensor: Sensor, *, device_id: int, slot: int = 0
) -> Px4Calibration:
    """Return the calibration of a sensor as PX4 applies it: ``R ((s - offset) scale)``.

    PX4 has no misalignment, no scale of a gyro, and no dependence of the gyro on force; its
    temperature curves are separate parameters.

    Parameters
    ----------
    calibration : ImuCalibration
        In any body axes, from readings in SI units.
    sensor : {"gyro", "accel"}
        Sensor to convert.
    device_id : int
        Id of the device in PX4.
    slot : int
        Number n of the parameters, 0 to 3.

    Raises
    ------
    UnknownNameError
        There is no such sensor.
    ValueRangeError
        The readings have another unit, the matrix mirrors, or there is no such slot.
    """
    if sensor not in _PREFIX:
        raise UnknownNameError("sensor", str(sensor), _PREFIX)
    if not 0 <= slot < _SLOTS:
        raise ValueRangeError(f"expected a slot of 0 to {_SLOTS - 1}, got {slot}")
    here = calibration.in_frame("FRD")
    triad = here.accel if sensor == "accel" else here.gyro
    if triad.unit_in:
        raise ValueRangeError(
            f"expected a calibration of readings in SI units, as PX4's drivers give them, got "
            f"{triad.unit_in!r}"
        )
    turn = split_matrix(triad.matrix).rotation
    number = int(np.argmax([np.trace(rotation_matrix(n).T @ turn) for n in range(len(ROTATIONS))]))
    mounting = rotation_matrix(number)
    rest = mounting.T @ triad.matrix
    diagonal = np.diag(rest)
    scale = diagonal if sensor == "accel" else np.ones(3)
    name = f"{_PREFIX[sensor]}{slot}"
    parameters: dict[str, float] = {f"{name}_ID": device_id}
    parameters |= {f"{name}_{a}OFF": float(b) for a, b in zip("XYZ", triad.bias, strict=True)}
    if sensor == "accel":
        parameters |= {f"{name}_{a}SCALE": float(k) for a, k in zip("XYZ", scale, strict=True)}
    applied = SensorCalibration(
        offset=triad.bias.astype(np.float32),
        scale=scale.astype(np.float32),
        rotation=mounting.astype(np.float32),
    )
    return Px4Calibration(applied, parameters, number, tuple(_lost(here, sensor, rest, number)))


def _lost(here: ImuCalibration, sensor: Sensor, rest: FloatArray, number: int) -> Iterator[str]:
    """Yield a line for each part that PX4 cannot represent."""
    diagonal = np.diag(rest)
    off = float(np.abs(diagonal - 1.0).max())
    if sensor == "gyro" and off > _LEAST_SCALE:
        yield f"scale of the gyro, up to {100.0 * off:.2f} %"
    angle = float(np.abs(rest / diagonal - np.eye(3)).max())
    if angle > _LEAST_ANGLE:
        yield f"misalignment, up to {angle / RAD_PER_DEG:.2f} deg"
    if sensor == "gyro" and np.any(here.g_sensitivity):
        yield "sensitivity of the gyro to specific force"
    if (here.accel if sensor == "accel" else here.gyro).temperature is not None:
        yield "temperature curve: its bias is that of the reference temperature"
    if number:
        yield f"mounting: set SENS_BOARD_ROT to {number}, which turns every sensor"
