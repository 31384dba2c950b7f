"""The layout of every PX4 message: numbers of the message files, and other programs."""

from __future__ import annotations

import re
import struct
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from strapdown.errors import FormatError, ShapeError, TruncatedError
from strapdown.messages import px4
from strapdown.messages.px4 import (
    MESSAGES,
    SensorCombined,
    SensorGyroFifo,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.messages.ros_types import ROS_TYPES
from strapdown.messages.uorb import UorbMessage, decode_batch, encode_batch, uorb

KINDS = list(dict.fromkeys(MESSAGES.values()))
by_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)

# struct format of the logged bytes, FNV-1a of the definition, and offsets in the log
LAYOUTS = {
    "VehicleImu": (
        "<QQ2I3f3f2I4B",
        0x9752A66E,
        {
            "timestamp": 0,
            "timestamp_sample": 8,
            "accel_device_id": 16,
            "gyro_device_id": 20,
            "delta_angle": 24,
            "delta_velocity": 36,
            "delta_angle_dt": 48,
            "delta_velocity_dt": 52,
            "delta_angle_clipping": 56,
            "delta_velocity_clipping": 57,
            "accel_calibration_count": 58,
            "gyro_calibration_count": 59,
        },
    ),
    "VehicleImuStatus": (
        "<Q2I6I2I4f3f12f2f",
        0x08770171,
        {
            "timestamp": 0,
            "accel_device_id": 8,
            "gyro_device_id": 12,
            "accel_clipping": 16,
            "gyro_clipping": 28,
            "accel_error_count": 40,
            "gyro_error_count": 44,
            "accel_rate_hz": 48,
            "gyro_rate_hz": 52,
            "accel_raw_rate_hz": 56,
            "gyro_raw_rate_hz": 60,
            "accel_vibration_metric": 64,
            "gyro_vibration_metric": 68,
            "delta_angle_coning_metric": 72,
            "mean_accel": 76,
            "mean_gyro": 88,
            "var_accel": 100,
            "var_gyro": 112,
            "temperature_accel": 124,
            "temperature_gyro": 128,
        },
    ),
    "SensorGyro": (
        "<QQI4fI3BB",
        0x27A41458,
        {
            "timestamp": 0,
            "timestamp_sample": 8,
            "device_id": 16,
            "x": 20,
            "y": 24,
            "z": 28,
            "temperature": 32,
            "error_count": 36,
            "clip_counter": 40,
            "samples": 43,
        },
    ),
    "SensorGyroFifo": (
        "<QQI2f32h32h32hB",
        0x1111E0CA,
        {
            "timestamp": 0,
            "timestamp_sample": 8,
            "device_id": 16,
            "dt": 20,
            "scale": 24,
            "x": 28,
            "y": 92,
            "z": 156,
            "samples": 220,
        },
    ),
    "SensorCombined": (
        "<Q3fIi3fI4B",
        0xC06359F1,
        {
            "timestamp": 0,
            "gyro_rad": 8,
            "gyro_integral_dt": 20,
            "accelerometer_timestamp_relative": 24,
            "accelerometer_m_s2": 28,
            "accelerometer_integral_dt": 40,
            "accelerometer_clipping": 44,
            "gyro_clipping": 45,
            "accel_calibration_count": 46,
            "gyro_calibration_count": 47,
        },
    ),
    "VehicleAttitude": (
        "<QQ8fB",
        0x0AC1F7CD,
        {
            "timestamp": 0,
            "timestamp_sample": 8,
            "q": 16,
            "delta_q_reset": 32,
            "quat_reset_counter": 48,
        },
    ),
    "VehicleOdometry": (
        "<QQ22f3Bb",
        0x3AF07476,
        {
            "timestamp": 0,
            "timestamp_sample": 8,
            "position": 16,
            "q": 28,
            "velocity": 44,
            "angular_velocity": 56,
            "position_variance": 68,
            "orientation_variance": 80,
            "velocity_variance": 92,
            "pose_frame": 104,
            "velocity_frame": 105,
            "reset_counter": 106,
            "quality": 107,
        },
    ),
    "VehicleAcceleration": ("<QQ3f", None, {"timestamp": 0, "timestamp_sample": 8, "xyz": 16}),
    "VehicleAngularVelocity": (
        "<QQ6f",
        None,
        {"timestamp": 0, "timestamp_sample": 8, "xyz": 16, "xyz_derivative": 28},
    ),
    "SensorSelection": ("<Q2I", None, {"timestamp": 0, "accel_device_id": 8, "gyro_device_id": 12}),
}
LAYOUTS["SensorAccel"] = LAYOUTS["SensorGyro"]
LAYOUTS["SensorAccelFifo"] = LAYOUTS["SensorGyroFifo"]

FIFO_CDR = {"samples": 28, "x": 30, "y": 94, "z": 158}
OTHER_CDR = {
    "SensorGyroFifo": (222, FIFO_CDR),
    "SensorAccelFifo": (222, FIFO_CDR),
    "VehicleOdometry": (
        114,
        {
            "pose_frame": 16,
            "position": 20,
            "q": 32,
            "velocity_frame": 48,
            "velocity": 52,
            "angular_velocity": 64,
            "position_variance": 76,
            "orientation_variance": 88,
            "velocity_variance": 100,
            "reset_counter": 112,
            "quality": 113,
        },
    ),
}

IMU_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;uint32_t accel_device_id;"
    "uint32_t gyro_device_id;float[3] delta_angle;float[3] delta_velocity;uint32_t delta_angle_dt;"
    "uint32_t delta_velocity_dt;uint8_t delta_angle_clipping;uint8_t delta_velocity_clipping;"
    "uint8_t accel_calibration_count;uint8_t gyro_calibration_count;uint8_t[4] _padding0;"
)
STATUS_BODY = (
    "uint64_t timestamp;uint32_t accel_device_id;uint32_t gyro_device_id;"
    "uint32_t[3] accel_clipping;uint32_t[3] gyro_clipping;uint32_t accel_error_count;"
    "uint32_t gyro_error_count;float accel_rate_hz;float gyro_rate_hz;float accel_raw_rate_hz;"
    "float gyro_raw_rate_hz;float accel_vibration_metric;float gyro_vibration_metric;"
    "float delta_angle_coning_metric;float[3] mean_accel;float[3] mean_gyro;float[3] var_accel;"
    "float[3] var_gyro;float temperature_accel;float temperature_gyro;uint8_t[4] _padding0;"
)
SENSOR_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;uint32_t device_id;float x;float y;float z;"
    "float temperature;uint32_t error_count;uint8_t[3] clip_counter;uint8_t samples;"
    "uint8_t[4] _padding0;"
)
FIFO_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;uint32_t device_id;float dt;float scale;"
    "int16_t[32] x;int16_t[32] y;int16_t[32] z;uint8_t samples;uint8_t[3] _padding0;"
)
COMBINED_BODY = (
    "uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;"
    "int32_t accelerometer_timestamp_relative;float[3] accelerometer_m_s2;"
    "uint32_t accelerometer_integral_dt;uint8_t accelerometer_clipping;uint8_t gyro_clipping;"
    "uint8_t accel_calibration_count;uint8_t gyro_calibration_count;"
)
ATTITUDE_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;float[4] q;float[4] delta_q_reset;"
    "uint8_t quat_reset_counter;uint8_t[7] _padding0;"
)
ODOMETRY_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;float[3] position;float[4] q;float[3] velocity;"
    "float[3] angular_velocity;float[3] position_variance;float[3] orientation_variance;"
    "float[3] velocity_variance;uint8_t pose_frame;uint8_t velocity_frame;uint8_t reset_counter;"
    "int8_t quality;uint8_t[4] _padding0;"
)
ACCELERATION_BODY = (
    "uint64_t timestamp;uint64_t timestamp_sample;float[3] xyz;uint8_t[4] _padding0;"
)
RATE_BODY = "uint64_t timestamp;uint64_t timestamp_sample;float[3] xyz;float[3] xyz_derivative;"
SELECTION_BODY = "uint64_t timestamp;uint32_t accel_device_id;uint32_t gyro_device_id;"
FORMATS = {
    "vehicle_imu": IMU_BODY,
    "vehicle_imu_status": STATUS_BODY,
    "sensor_gyro": SENSOR_BODY,
    "sensor_accel": SENSOR_BODY,
    "sensor_gyro_fifo": FIFO_BODY,
    "sensor_accel_fifo": FIFO_BODY,
    "sensor_combined": COMBINED_BODY,
    "vehicle_attitude": ATTITUDE_BODY,
    "vehicle_attitude_groundtruth": ATTITUDE_BODY,
    "external_ins_attitude": ATTITUDE_BODY,
    "estimator_attitude": ATTITUDE_BODY,
    "vehicle_odometry": ODOMETRY_BODY,
    "vehicle_mocap_odometry": ODOMETRY_BODY,
    "vehicle_visual_odometry": ODOMETRY_BODY,
    "estimator_odometry": ODOMETRY_BODY,
    "vehicle_acceleration": ACCELERATION_BODY,
    "vehicle_angular_velocity": RATE_BODY,
    "vehicle_angular_velocity_groundtruth": RATE_BODY,
    "sensor_selection": SELECTION_BODY,
}


def distinct(kind, count=3):
    """Records whose bytes differ, with ordinary numbers in all floats."""
    rng = np.random.default_rng(5)
    records = np.zeros(count, kind.dtype)
    for field in kind.fields:
        shape = records[field.name].shape
        if field.scalar.kind == "f":
            records[field.name] = rng.normal(size=shape)
        else:
            info = np.iinfo(field.scalar)
            records[field.name] = rng.integers(info.min, info.max, shape, field.scalar)
    return records


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value


@by_kind
def test_the_logged_bytes_have_the_layout_of_the_message_file(kind):
    form, message_hash, offsets = LAYOUTS[kind.__name__]
    assert kind.logged_dtype.itemsize == struct.calcsize(form)
    assert {name: where[1] for name, where in kind.logged_dtype.fields.items()} == offsets
    assert len(bytes(kind())) == -(-struct.calcsize(form) // 8) * 8
    if message_hash is not None:
        assert kind.message_hash == message_hash


@by_kind
def test_struct_reads_the_logged_values(kind):
    form = LAYOUTS[kind.__name__][0]
    record = distinct(kind, 1)[0]
    message = kind.from_record(record)
    names = sorted(LAYOUTS[kind.__name__][2], key=LAYOUTS[kind.__name__][2].get)
    flat = [number for name in names for number in np.ravel(record[name]).tolist()]
    assert list(struct.unpack(form, message.to_logged())) == flat
    assert kind.from_logged(message.to_logged()) == message


@by_kind
def test_cdr_offsets_are_those_of_the_log_or_of_the_table(kind):
    size, offsets = OTHER_CDR.get(
        kind.__name__, (struct.calcsize(LAYOUTS[kind.__name__][0]), LAYOUTS[kind.__name__][2])
    )
    assert kind.cdr_dtype.itemsize == size
    found = {name: where[1] for name, where in kind.cdr_dtype.fields.items()}
    assert offsets.items() <= found.items()


@by_kind
def test_rosbags_reads_and_writes_the_same_samples_and_type_hash(kind):
    ros = ROS_TYPES[f"px4_msgs/msg/{kind.__name__}"]
    assert ros.uorb is kind
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(ros.definition, ros.name))
    assert store.hash_rihs01(ros.name) == ros.rihs01
    records = distinct(kind)
    for record, payload in zip(records, encode_batch(kind, records), strict=True):
        theirs = store.deserialize_cdr(payload, ros.name)
        for field in kind.fields:
            assert plain(getattr(theirs, field.name)) == record[field.name].tolist()
        # rosbags may write a byte of padding at the end, which reads the same.
        assert bytes(store.serialize_cdr(theirs, ros.name))[: len(payload)] == payload


def test_ros_definitions_carry_the_constants_of_the_messages():
    for kind in KINDS:
        definition = ROS_TYPES[f"px4_msgs/msg/{kind.__name__}"].definition
        stated = re.findall(r"^u?int\d+ (\w+) = (\d+)$", definition, re.MULTILINE)
        constants = {name: getattr(kind, name) for name in dir(kind) if name.isupper()}
        assert {name: int(value) for name, value in stated} == constants


def test_the_format_string_of_every_topic(subtests):
    for topic, body in FORMATS.items():
        with subtests.test(topic):
            assert MESSAGES[topic].ulog_format(topic) == f"{topic}:{body}"


def test_every_message_is_found_by_its_topic():
    assert MESSAGES.keys() == FORMATS.keys()
    assert {MESSAGES[kind.topic] for kind in KINDS} == set(KINDS)
    assert VehicleImu.ulog_format() == px4.ULOG_FORMAT


def test_the_formats_of_a_real_log_are_ours(data_dir):
    log = ULog(str(data_dir / "px4" / "ulog" / "sample_px4_events.ulg"))
    alike = {
        "sensor_accel",
        "sensor_combined",
        "sensor_gyro",
        "sensor_selection",
        "vehicle_acceleration",
        "vehicle_angular_velocity",
        "vehicle_attitude",
        "vehicle_imu_status",
        "vehicle_visual_odometry",
    }
    for topic in alike:
        fields = log.message_formats[topic].fields
        text = "".join(f"{t}[{n}] {name};" if n > 1 else f"{t} {name};" for t, n, name in fields)
        assert f"{topic}:{text}" == MESSAGES[topic].ulog_format(topic)


@by_kind
def test_batches_round_trip_through_both_byte_orders(kind):
    records = distinct(kind)
    payloads = encode_batch(kind, records)
    decoded, malformed = decode_batch(kind, payloads)
    assert decoded.tobytes() == records.tobytes()
    assert not len(malformed)
    swapped = np.zeros(len(records), kind.cdr_dtype.newbyteorder(">"))
    for name in kind.cdr_dtype.names:
        swapped[name] = records[name]
    big, _ = decode_batch(kind, [bytes(4) + one.tobytes() for one in swapped])
    assert big.tobytes() == records.tobytes()


@by_kind
@given(data=st.data())
@pytest.mark.by_default("SensorCombined", "VehicleImu", "SensorAccelFifo", "VehicleOdometry")
def test_bytes_of_any_other_size_are_refused(kind, data):
    size = data.draw(st.integers(0, 300))
    payload = data.draw(st.binary(min_size=size, max_size=size))
    sizes = kind.logged_dtype.itemsize, kind.cdr_dtype.itemsize + 4
    if size != sizes[0]:
        error = TruncatedError if size < sizes[0] else FormatError
        with pytest.raises(error, match=rf"{sizes[0]} bytes of {kind.__name__}, got {size}"):
            kind.from_logged(payload)
    if size != sizes[1]:
        with pytest.raises(FormatError, match="expected"):
            kind.from_cdr(b"\0\1\0\0" + payload[4:])
    assert decode_batch(kind, [payload], lenient=True)[1].size in {0, 1}


def test_signed_fields_take_their_whole_range_and_no_more():
    message = VehicleOdometry(quality=-128)
    assert message.quality == -128
    assert VehicleOdometry.from_cdr(message.to_cdr()).quality == -128
    for bad in (-129, 128):
        with pytest.raises(OverflowError, match="quality"):
            message.quality = bad
    combined = SensorCombined(accelerometer_timestamp_relative=-(2**31))
    assert SensorCombined.from_logged(combined.to_logged()) == combined
    combined.accelerometer_timestamp_relative = SensorCombined.RELATIVE_TIMESTAMP_INVALID
    assert combined.to_logged()[24:28] == b"\xff\xff\xff\x7f"
    with pytest.raises(OverflowError, match="accelerometer_timestamp_relative"):
        combined.accelerometer_timestamp_relative = 2**31


def test_floats_round_to_single_and_keep_not_a_number():
    message = SensorGyroFifo(dt=0.1, scale=float("nan"))
    assert message.dt == np.float32(0.1)
    assert np.isnan(message.scale)
    assert SensorGyroFifo.from_cdr(message.to_cdr()) == message


def test_arrays_of_samples_are_views_of_a_fixed_length():
    message = SensorGyroFifo()
    message.x[31] = -7
    assert message.to_logged()[28 + 62 : 28 + 64] == struct.pack("<h", -7)
    with pytest.raises(ShapeError, match="x as 32 numbers"):
        message.x = [1, 2, 3]
    with pytest.raises(TypeError, match="y"):
        message.y = ["a"] * 32


def test_a_field_without_a_length_between_its_brackets_is_refused():
    odd = type("Odd", (UorbMessage,), {"__annotations__": {"a": Annotated[int, "float32[]"]}})
    with pytest.raises(TypeError, match=r"of a, got 'float32\[\]'"):
        uorb("odd")(odd)
