"""Device ids, by which PX4 identifies sensors: bus, address and type of the device.

References
----------
PX4-Autopilot, ``src/lib/drivers/device/Device.hpp`` and ``src/drivers/drv_sensor.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from strapdown.errors import ValueRangeError

__all__ = ["DEVICE_TYPES", "BusType", "DeviceId"]


class BusType(IntEnum):
    """Bus of a device; 7 is not in use."""

    UNKNOWN = 0
    I2C = 1
    SPI = 2
    UAVCAN = 3
    SIMULATION = 4
    SERIAL = 5
    MAVLINK = 6
    RESERVED = 7


DEVICE_TYPES: Final = {
    0x11: "LSM303D",
    0x14: "SIM",
    0x21: "MPU6000",
    0x22: "L3GD20",
    0x24: "MPU9250",
    0x25: "ICM20649",
    0x26: "ICM42688P",
    0x27: "ICM40609D",
    0x28: "ICM20948",
    0x29: "ICM42605",
    0x2A: "ICM42670P",
    0x2B: "IIM42652",
    0x2C: "IAM20680HP",
    0x2D: "ICM42686P",
    0x2E: "IIM42653",
    0x33: "MPU6050",
    0x34: "ICM45686",
    0x35: "MPU6050",
    0x36: "MPU6500",
    0x37: "BMI270",
    0x38: "ICM20602",
    0x3A: "ICM20608G",
    0x3C: "ICM20689",
    0x41: "BMI055",
    0x42: "BMI055",
    0x44: "LSM9DS1",
    0x52: "FXOS8701C",
    0x54: "FXAS2100C",
    0x57: "ADIS16448",
    0x58: "ADIS16470",
    0x59: "ADIS16477",
    0x5A: "ADIS16507",
    0x5B: "SCH16T",
    0x61: "LSM303AGR",
    0x63: "ADIS16497",
    0x66: "BMI088",
    0x6A: "BMI088",
    0x6C: "BMI085",
    0x6D: "BMI085",
    0x80: "UAVCAN",
    0x86: "UAVCAN",
    0x87: "UAVCAN",
}
"""Names of inertial sensors by type; a chip with two dies has a type for each."""

_OWN_MOUNTING: Final = {
    BusType.UNKNOWN: True,
    BusType.UAVCAN: True,
    BusType.SERIAL: True,
    BusType.MAVLINK: True,
    BusType.RESERVED: True,
    BusType.SIMULATION: False,
}


@dataclass(frozen=True)
class DeviceId:
    """Content of a device id.

    Parameters
    ----------
    device_type : int
        Type of chip, a key of ``DEVICE_TYPES``. PX4 uses 8 bits; up to 16 are accepted, so that
        every 32-bit number decodes.
    bus_type : BusType
        Type of the bus.
    bus : int
        Number of the bus, 0 to 31.
    address : int
        Address on the bus, 0 to 255.

    Raises
    ------
    ValueRangeError
        A number does not fit.

    Examples
    --------
    >>> device = DeviceId.decode(1310988)
    >>> str(device)
    'Type: 0x14, SIMULATION:1 (0x01)'
    >>> device.name, device.encode()
    ('SIM', 1310988)
    """

    device_type: int
    bus_type: BusType
    bus: int
    address: int

    def __post_init__(self) -> None:
        for name, bits in (("device_type", 16), ("bus_type", 3), ("bus", 5), ("address", 8)):
            value = getattr(self, name)
            if not 0 <= value < 1 << bits:
                raise ValueRangeError(f"expected {name} of 0 to {(1 << bits) - 1}, got {value}")
        object.__setattr__(self, "bus_type", BusType(self.bus_type))

    @classmethod
    def decode(cls, device_id: int) -> DeviceId:
        """Decode a device id.

        Raises
        ------
        ValueRangeError
            It is not an unsigned 32-bit number.
        """
        value = int(device_id)
        if not 0 <= value < 1 << 32:
            raise ValueRangeError(f"expected device_id of 0 to {(1 << 32) - 1}, got {value}")
        return cls(value >> 16, BusType(value & 7), value >> 3 & 31, value >> 8 & 255)

    def encode(self) -> int:
        """Return the device id."""
        return self.bus_type | self.bus << 3 | self.address << 8 | self.device_type << 16

    @property
    def name(self) -> str:
        """Name of the chip, or its type in hexadecimal digits."""
        return DEVICE_TYPES.get(self.device_type, f"0x{self.device_type:02X}")

    def is_external(self, *, board_external: bool = False) -> bool:
        """Return whether the device has a mounting separate from the board.

        Parameters
        ----------
        board_external : bool
            Result for I2C and SPI, which depends on the board.
        """
        return _OWN_MOUNTING.get(self.bus_type, board_external)

    def __str__(self) -> str:
        return (
            f"Type: 0x{self.device_type:02X}, {self.bus_type.name}:{self.bus} "
            f"(0x{self.address:02X})"
        )
