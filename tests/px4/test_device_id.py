"""Device ids, against numbers in public logs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import ValueRangeError
from strapdown.px4.device_id import DEVICE_TYPES, BusType, DeviceId


@pytest.mark.parametrize(
    ("number", "name", "bus_type", "bus", "address"),
    [
        (1310988, "SIM", BusType.SIMULATION, 1, 1),
        (1310996, "SIM", BusType.SIMULATION, 2, 1),
        (1311004, "SIM", BusType.SIMULATION, 3, 1),
        (0x25000A, "ICM20649", BusType.SPI, 1, 0),
        (0x380022, "ICM20602", BusType.SPI, 4, 0),
        (0x280022, "ICM20948", BusType.SPI, 4, 0),
        (0x6A0C22, "BMI088", BusType.SPI, 4, 0x0C),
        (0x660C22, "BMI088", BusType.SPI, 4, 0x0C),
    ],
)
def test_known_ids_decode(number, name, bus_type, bus, address):
    device = DeviceId.decode(number)
    assert (device.name, device.bus_type, device.bus, device.address) == (
        name,
        bus_type,
        bus,
        address,
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0x14010C, "Type: 0x14, SIMULATION:1 (0x01)"),
        (0x6A0C22, "Type: 0x6A, SPI:4 (0x0C)"),
        (0x030009, "Type: 0x03, I2C:1 (0x00)"),
    ],
)
def test_the_text_is_that_of_the_autopilot(number, text):
    assert str(DeviceId.decode(number)) == text


# Types of inertial sensors as PX4's drivers register them, in hexadecimal digits.
TYPES = """
11 LSM303D 14 SIM 21 MPU6000 22 L3GD20 24 MPU9250 25 ICM20649 26 ICM42688P 27 ICM40609D
28 ICM20948 29 ICM42605 2A ICM42670P 2B IIM42652 2C IAM20680HP 2D ICM42686P 2E IIM42653
33 MPU6050 34 ICM45686 35 MPU6050 36 MPU6500 37 BMI270 38 ICM20602 3A ICM20608G 3C ICM20689
41 BMI055 42 BMI055 44 LSM9DS1 52 FXOS8701C 54 FXAS2100C 57 ADIS16448 58 ADIS16470
59 ADIS16477 5A ADIS16507 5B SCH16T 61 LSM303AGR 63 ADIS16497 66 BMI088 6A BMI088 6C BMI085
6D BMI085 80 UAVCAN 86 UAVCAN 87 UAVCAN
"""


def test_every_type_of_inertial_sensor_has_its_name():
    expected = dict(zip(TYPES.split()[::2], TYPES.split()[1::2], strict=True))
    assert {f"{number:02X}": name for number, name in DEVICE_TYPES.items()} == expected


def test_an_unknown_type_is_named_by_its_number():
    assert DeviceId.decode(0xEF0001).name == "0xEF"


@given(st.integers(0, 2**32 - 1))
def test_every_number_of_32_bits_decodes_to_something_that_encodes_to_it(number):
    device = DeviceId.decode(number)
    assert device.encode() == number
    assert device.name
    assert str(device).startswith("Type: 0x")


def test_an_id_of_8_bit_types_stays_exact_as_a_float32_parameter():
    assert DeviceId(0xFF, BusType.RESERVED, 31, 255).encode() == 2**24 - 1


@pytest.mark.parametrize("number", [-1, 2**32])
def test_numbers_outside_32_bits_are_refused(number):
    with pytest.raises(ValueRangeError, match=rf"device_id of 0 to 4294967295, got {number}$"):
        DeviceId.decode(number)


@pytest.mark.parametrize("fields", [(0, 8, 0, 0), (0, 0, 32, 0), (0, 0, 0, 256), (-1, 0, 0, 0)])
def test_fields_that_do_not_fit_are_refused(fields):
    with pytest.raises(ValueRangeError):
        DeviceId(*fields)


@pytest.mark.parametrize(
    ("bus_type", "external"),
    [
        (BusType.UNKNOWN, {True}),
        (BusType.I2C, {False, True}),
        (BusType.SPI, {False, True}),
        (BusType.UAVCAN, {True}),
        (BusType.SIMULATION, {False}),
        (BusType.SERIAL, {True}),
        (BusType.MAVLINK, {True}),
    ],
)
def test_the_bus_tells_whether_a_sensor_is_external(bus_type, external):
    device = DeviceId(0x38, bus_type, 1, 0)
    answers = {device.is_external(board_external=board) for board in (False, True)}
    assert answers == external
    if external == {False, True}:
        assert not device.is_external()
