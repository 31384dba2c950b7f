"""Golden bytes: a data record that pyulog reads from ``writer_golden.ulg``."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from strapdown.errors import FormatError, ShapeError, TruncatedError
from strapdown.messages.px4 import (
    ULOG_FORMAT,
    VehicleImu,
    decode_vehicle_imu_batch,
    encode_vehicle_imu_batch,
)
from strapdown.messages.ros_types import VEHICLE_IMU

LOGGED = bytes.fromhex(
    "90560f0000000000c8550f00000000000c0114000c0114006f12833a6f1203bba69b443b"
    "000000000000000017d748bd881300008813000000040001"
)
INTEGERS = {
    "timestamp": 64,
    "timestamp_sample": 64,
    "accel_device_id": 32,
    "gyro_device_id": 32,
    "delta_angle_dt": 32,
    "delta_velocity_dt": 32,
    "delta_angle_clipping": 8,
    "delta_velocity_clipping": 8,
    "accel_calibration_count": 8,
    "gyro_calibration_count": 8,
}


@pytest.fixture
def message():
    return VehicleImu(
        timestamp=1_005_200,
        timestamp_sample=1_005_000,
        accel_device_id=0x14010C,
        gyro_device_id=0x14010C,
        delta_angle=[0.001, -0.002, 0.003],
        delta_velocity=[0.0, 0.0, -0.0490332507],
        delta_angle_dt=5000,
        delta_velocity_dt=5000,
        delta_velocity_clipping=VehicleImu.CLIPPING_Z,
        gyro_calibration_count=1,
    )


def distinct(count: int) -> np.ndarray:
    """Records whose numbers all differ."""
    raw = np.random.default_rng(2).integers(0, 120, (count, 64), dtype=np.uint8)
    return raw.view(VehicleImu.dtype)[:, 0]


def test_the_logged_bytes_are_those_of_the_golden_log(message, data_dir):
    assert message.to_logged() == LOGGED
    assert LOGGED in (data_dir / "px4" / "writer_golden.ulg").read_bytes()
    assert VehicleImu.from_logged(LOGGED) == message


def test_pyulog_reads_the_same_fields(data_dir):
    log = ULog(str(data_dir / "px4" / "writer_golden.ulg"))
    columns = log.get_dataset("vehicle_imu").data
    message = VehicleImu.from_logged(LOGGED)
    for name in INTEGERS:
        assert columns[name][0] == getattr(message, name)
    for axis in range(3):
        assert columns[f"delta_angle[{axis}]"][0] == message.delta_angle[axis]
        assert columns[f"delta_velocity[{axis}]"][0] == message.delta_velocity[axis]


def test_a_dds_sample_is_the_encapsulation_and_the_logged_bytes(message):
    assert message.to_cdr() == bytes.fromhex("00010000") + LOGGED
    assert VehicleImu.from_cdr(message.to_cdr()) == message


def test_rosbags_writes_the_same_dds_sample(message):
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(VEHICLE_IMU.definition, VEHICLE_IMU.name))
    fields = {name: getattr(message, name) for name in VehicleImu.dtype.names}
    theirs = store.types[VEHICLE_IMU.name](**fields)
    assert bytes(store.serialize_cdr(theirs, VEHICLE_IMU.name)) == message.to_cdr()


def test_the_format_string_has_the_layout_of_the_memory():
    sizes = {"uint64_t": "<u8", "uint32_t": "<u4", "float": "<f4", "uint8_t": "u1"}
    name, fields = ULOG_FORMAT.split(":")
    assert name == "vehicle_imu"
    parsed = []
    for kind, count, field in re.findall(r"(\w+?)(?:\[(\d+)\])? (\w+);", fields):
        parsed.append((field, sizes[kind], (int(count),)) if count else (field, sizes[kind]))
    packed = np.dtype(parsed)
    assert packed.itemsize == VehicleImu.dtype.itemsize == len(bytes(VehicleImu())) == 64
    assert VehicleImu.logged_dtype.itemsize == 60
    for field, where in VehicleImu.dtype.fields.items():
        assert packed.fields[field][:2] == where[:2] == VehicleImu.logged_dtype.fields[field][:2]


def test_fields_default_to_zero_and_vectors_are_views():
    message = VehicleImu()
    assert not any(bytes(message))
    message.delta_angle[1] = 0.5
    assert message.to_numpy()["delta_angle"].tolist() == [0.0, 0.5, 0.0]


@pytest.mark.parametrize(("name", "bits"), INTEGERS.items())
def test_integers_are_refused_outside_their_range(name, bits):
    message = VehicleImu(**{name: 2**bits - 1})
    assert getattr(message, name) == 2**bits - 1
    for bad in (-1, 2**bits):
        with pytest.raises(OverflowError, match=name):
            setattr(message, name, bad)
    with pytest.raises(TypeError, match=name):
        setattr(message, name, 1.0)


def test_wrong_fields_are_refused():
    with pytest.raises(TypeError, match="delta_angel"):
        VehicleImu(delta_angel=[0.0, 0.0, 0.0])
    with pytest.raises(ShapeError, match="delta_angle"):
        VehicleImu(delta_angle=[0.0, 0.0])


def test_equality_pickle_copy_and_repr(message):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(message, protocol)) == message  # noqa: S301 (our bytes)
    twin = copy.copy(message)
    twin.gyro_calibration_count = 2
    assert twin != message
    assert eval(repr(message), {"VehicleImu": VehicleImu}) == message  # noqa: S307 (our text)


@given(count=st.integers(0, 20))
def test_batches_are_the_messages_one_by_one(count):
    records = distinct(count)
    payloads = encode_vehicle_imu_batch(records)
    assert payloads == [VehicleImu.from_record(record).to_cdr() for record in records]
    decoded, malformed = decode_vehicle_imu_batch([memoryview(data) for data in payloads])
    assert not len(malformed)
    assert [VehicleImu.from_record(r).to_logged() for r in decoded] == [p[4:] for p in payloads]


def test_big_endian_samples_are_read_in_place(message):
    swapped = np.zeros(1, VehicleImu.logged_dtype.newbyteorder(">"))
    swapped[0] = tuple(message.to_numpy().item())
    big = bytes.fromhex("00000000") + swapped.tobytes()
    records, _ = decode_vehicle_imu_batch([message.to_cdr(), big, message.to_cdr()])
    assert [VehicleImu.from_record(record) for record in records] == [message] * 3
    assert VehicleImu.from_cdr(big) == message


@pytest.mark.parametrize(
    ("data", "error", "offset"),
    [
        (b"\0", TruncatedError, 1),
        (b"\0\1\0\0" + LOGGED[:-1], TruncatedError, 63),
        (b"\0\1\0\0" + LOGGED + b"\0", FormatError, 64),
        (b"\0\3\0\0" + LOGGED, FormatError, 0),
    ],
)
def test_malformed_samples_are_refused_or_counted(message, data, error, offset):
    with pytest.raises(error, match="expected") as caught:
        VehicleImu.from_cdr(data)
    assert caught.value.offset == offset
    with pytest.raises(error, match="message 1: "):
        decode_vehicle_imu_batch([message.to_cdr(), data])
    records, malformed = decode_vehicle_imu_batch([message.to_cdr(), data] * 2, lenient=True)
    assert malformed.tolist() == [1, 3]
    assert len(records) == 2


def test_logged_bytes_of_another_length_are_refused():
    with pytest.raises(TruncatedError, match="60 bytes"):
        VehicleImu.from_logged(LOGGED[:-1])
    with pytest.raises(FormatError, match="got 64"):
        VehicleImu.from_logged(LOGGED + bytes(4))
