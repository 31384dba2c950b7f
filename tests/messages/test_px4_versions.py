"""Rows of every release come out in the form of today; what a release lacks is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyulog import ULog
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from strapdown.errors import FormatError, TruncatedError
from strapdown.messages.px4 import (
    MESSAGES,
    SensorAccel,
    SensorCombined,
    SensorGyro,
    VehicleAttitude,
    VehicleImu,
    VehicleImuStatus,
    VehicleOdometry,
)
from strapdown.messages.px4_versions import decode_samples, release, upgrade

V11, V13, V15 = "sample_log_small", "sample_logging_tagged_and_default_params", "sample_px4_events"
SCALARS = {
    "uint64_t": "u8",
    "uint32_t": "u4",
    "int32_t": "i4",
    "uint16_t": "u2",
    "uint8_t": "u1",
    "int8_t": "i1",
    "float": "f4",
}


@pytest.fixture
def logged(data_dir):
    """Rows of a topic of a sample log with the types of its FORMAT record, by pyulog."""

    def read(stem, topic):
        log = ULog(str(data_dir / "px4" / "ulog" / f"{stem}.ulg"), [topic])
        columns = log.get_dataset(topic).data
        fields = [
            (name, SCALARS[kind], (times,)) if times > 1 else (name, SCALARS[kind])
            for kind, times, name in log.message_formats[topic].fields
            if not name.startswith("_padding")
        ]
        rows = np.zeros(len(columns["timestamp"]), fields)
        for name, *_ in fields:
            if rows[name].ndim > 1:
                for at in range(rows[name].shape[1]):
                    rows[name][:, at] = columns[f"{name}[{at}]"]
            else:
                rows[name] = columns[name]
        return rows

    return read


# release, topic, bytes of a row in the log, and what the release lacks
@pytest.mark.parametrize(
    ("stem", "topic", "size", "absent"),
    [
        (
            V11,
            "vehicle_imu",
            53,
            {"delta_angle_clipping", "accel_calibration_count", "gyro_calibration_count"},
        ),
        (V13, "vehicle_imu", 55, {"delta_angle_clipping"}),
        (V15, "vehicle_imu", 56, set()),
        (
            V11,
            "vehicle_imu_status",
            52,
            {
                "gyro_clipping",
                "accel_raw_rate_hz",
                "gyro_raw_rate_hz",
                "mean_accel",
                "mean_gyro",
                "var_accel",
                "var_gyro",
                "temperature_accel",
                "temperature_gyro",
            },
        ),
        (V13, "vehicle_imu_status", 120, {"gyro_clipping"}),
        (V15, "vehicle_imu_status", 132, set()),
        (V11, "sensor_accel", 43, {"samples"}),
        (V11, "sensor_gyro", 40, {"clip_counter", "samples"}),
        (V13, "sensor_gyro", 41, {"clip_counter"}),
        (V15, "sensor_gyro", 44, set()),
        (
            V11,
            "sensor_combined",
            45,
            {"gyro_clipping", "accel_calibration_count", "gyro_calibration_count"},
        ),
        (V13, "sensor_combined", 47, {"gyro_clipping"}),
        (V15, "sensor_combined", 48, set()),
        (V11, "vehicle_attitude", 41, {"timestamp_sample"}),
        (V13, "vehicle_attitude", 49, set()),
        (V13, "vehicle_angular_velocity", 28, {"xyz_derivative"}),
        (V15, "vehicle_angular_velocity", 40, set()),
    ],
)
def test_every_release_keeps_its_values_and_names_what_it_lacks(logged, stem, topic, size, absent):
    rows = logged(stem, topic)
    kind = MESSAGES[topic]
    records, missing = upgrade(rows, kind)
    assert rows.dtype.itemsize == size
    assert records.dtype == kind.dtype
    assert set(missing) == absent
    assert list(missing) == [f.name for f in kind.fields if f.name in absent]
    for field in kind.fields:
        if field.name in rows.dtype.names:
            np.testing.assert_array_equal(records[field.name], rows[field.name])
        elif field.name in absent - {"timestamp_sample"}:
            expected = np.isnan if field.kind == "float32" else np.logical_not
            assert expected(records[field.name]).all()


def test_version_1_11_has_integer_rates_and_another_name_for_the_coning_metric(logged):
    rows = logged(V11, "vehicle_imu_status")
    records, _ = upgrade(rows, VehicleImuStatus)
    assert records["gyro_rate_hz"].dtype == np.float32
    assert records["gyro_rate_hz"].tolist() == rows["gyro_rate_hz"].tolist()
    coning = records["delta_angle_coning_metric"]
    assert coning.tolist() == rows["gyro_coning_vibration"].tolist()


def test_without_a_sample_stamp_a_message_was_stamped_when_it_was_published(logged):
    rows = logged(V11, "vehicle_attitude")
    records, absent = upgrade(rows, VehicleAttitude)
    np.testing.assert_array_equal(records["timestamp_sample"], rows["timestamp"])
    assert absent == ("timestamp_sample",)


def test_the_intervals_of_2016_are_seconds(logged):
    rows = logged("sample", "sensor_combined")
    records, absent = upgrade(rows, SensorCombined)
    assert rows.dtype.itemsize == 72
    for name in ("gyro_integral_dt", "accelerometer_integral_dt"):
        assert rows[name].dtype == np.float32
        seconds = rows[name].astype(np.float64)
        np.testing.assert_allclose(records[name], 1e6 * seconds, rtol=0.0, atol=0.5)
    np.testing.assert_array_equal(records["gyro_rad"], rows["gyro_rad"])
    assert set(absent) == {
        "accelerometer_clipping",
        "gyro_clipping",
        "accel_calibration_count",
        "gyro_calibration_count",
    }


def test_the_sensors_of_2016_have_a_vector_and_error_counts_of_64_bits():
    names = [(axis, "f4") for axis in ("x", "y", "z", "temperature", "scaling")]
    wide = [("timestamp", "u8"), ("integral_dt", "u8"), ("error_count", "u8")]
    rows = np.zeros(2, [*wide, *names, ("device_id", "u4"), ("x_raw", "i2")])
    rows["timestamp"], rows["error_count"] = (5, 6), (2**40, 7)
    rows["x"], rows["y"], rows["z"] = (1, 2), (3, 4), (5, 6)
    records, absent = upgrade(rows, SensorGyro)
    assert [records[axis].tolist() for axis in "xyz"] == [[1, 2], [3, 4], [5, 6]]
    assert records["timestamp_sample"].tolist() == [5, 6]
    assert records["error_count"].tolist() == [2**32 - 1, 7]
    assert set(absent) == {"timestamp_sample", "clip_counter", "samples"}


def test_version_1_12_counts_the_calibrations_of_both_sensors_together():
    rows = np.zeros(2, [("timestamp", "u8"), ("calibration_count", "u1")])
    rows["calibration_count"] = 3, 255
    records, absent = upgrade(rows, VehicleImu)
    for sensor in ("accel", "gyro"):
        assert records[f"{sensor}_calibration_count"].tolist() == [3, 255]
    assert not {"accel_calibration_count", "gyro_calibration_count"} & set(absent)


def test_the_odometry_of_version_1_13_is_put_together():
    names = ("x", "y", "z", "vx", "vy", "vz", "rollspeed", "pitchspeed", "yawspeed")
    rows = np.zeros(
        4,
        [
            ("timestamp", "u8"),
            *((name, "f4") for name in names),
            ("q", "f4", (4,)),
            ("pose_covariance", "f4", (21,)),
            ("velocity_covariance", "f4", (21,)),
            ("local_frame", "u1"),
            ("velocity_frame", "u1"),
        ],
    )
    for number, name in enumerate(names):
        rows[name] = number + np.arange(4) / 4.0
    # A symmetric 6x6 matrix whose entries say where they stand.
    upper = np.array([10.0 * row + column for row in range(6) for column in range(row, 6)])
    rows["pose_covariance"], rows["velocity_covariance"] = upper, upper + 0.5
    rows["local_frame"] = 0, 1, 2, 200
    rows["velocity_frame"] = 0, 1, 2, 3
    records, absent = upgrade(rows, VehicleOdometry)
    assert records["position"][1].tolist() == [0.25, 1.25, 2.25]
    assert records["velocity"][1].tolist() == [3.25, 4.25, 5.25]
    assert records["angular_velocity"][1].tolist() == [6.25, 7.25, 8.25]
    assert records["position_variance"][0].tolist() == [0.0, 11.0, 22.0]
    assert records["orientation_variance"][0].tolist() == [33.0, 44.0, 55.0]
    assert records["velocity_variance"][0].tolist() == [0.5, 11.5, 22.5]
    assert records["pose_frame"].tolist() == [1, 2, 0, 3]
    assert records["velocity_frame"].tolist() == [1, 2, 0, 3]
    assert absent == ("timestamp_sample", "reset_counter", "quality")


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (("delta_angle", "f4"), "delta_angle"),
        (("delta_angle", "f4", (4,)), "delta_angle"),
        (("delta_angle", "u4", (3,)), None),
        (("accel_device_id", "f4"), "accel_device_id"),
        (("accel_device_id", "S4"), "accel_device_id"),
        (("timestamp", [("a", "u8")]), "timestamp"),
        (("timestamp", "f8"), "timestamp"),
        (("delta_angle_dt", "f4", (2,)), "delta_angle_dt"),
    ],
)
def test_fields_of_another_form_are_refused_with_their_topic(field, expected):
    rows = np.zeros(2, [field])
    if expected is None:
        assert len(upgrade(rows, VehicleImu).records) == 2
        return
    with pytest.raises(FormatError, match=f"expected {expected} as") as caught:
        upgrade(rows, VehicleImu)
    assert caught.value.topic == "vehicle_imu"


@given(
    rows=hnp.array_shapes(min_dims=1, max_dims=1, max_side=4).flatmap(
        lambda shape: st.sampled_from(["f4", "f8", "i8", "u8", "i1", "?"]).flatmap(
            lambda kind: hnp.arrays(kind, shape)
        )
    )
)
def test_hostile_numbers_end_at_the_limits_of_their_field(rows):
    table = np.zeros(len(rows), [("delta_angle_dt", rows.dtype)])
    table["delta_angle_dt"] = rows
    records, _ = upgrade(table, VehicleImu)
    for value, found in zip(rows.tolist(), records["delta_angle_dt"].tolist(), strict=True):
        if rows.dtype.kind != "f":
            assert found == min(max(int(value), 0), 2**32 - 1)
        elif np.isnan(value):
            assert found == 0
        else:
            assert abs(found - min(max(1e6 * value, 0.0), 2**32 - 1)) <= 0.5


def test_doubles_are_rounded_and_numbers_beyond_single_precision_are_infinite():
    rows = np.zeros(3, [("x", "f8")])
    rows["x"] = 0.1, 1e300, np.nan
    x = upgrade(rows, SensorAccel).records["x"]
    assert x[:2].tolist() == [np.float32(0.1), np.inf]
    assert np.isnan(x[2])


def test_no_rows_are_no_records():
    records, absent = upgrade(np.zeros(0, [("timestamp", "u8")]), VehicleImu)
    assert records.shape == (0,)
    assert "timestamp" not in absent


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0x010B02FF, (1, 11, 2, "release")),
        (0x011000C3, (1, 16, 0, "rc")),
        (0x010D0080, (1, 13, 0, "beta")),
        (0x010D007F, (1, 13, 0, "alpha")),
        (0x010F0040, (1, 15, 0, "alpha")),
        (0x010F0000, (1, 15, 0, "dev")),
    ],
)
def test_the_release_of_a_firmware(number, expected):
    assert release(number) == expected


# message files of px4_msgs at former releases
FORMER = {
    (VehicleImu, 56, "v1.15"): """
uint64 timestamp
uint64 timestamp_sample
uint32 accel_device_id
uint32 gyro_device_id
float32[3] delta_angle
float32[3] delta_velocity
uint16 delta_angle_dt
uint16 delta_velocity_dt
uint8 delta_angle_clipping
uint8 delta_velocity_clipping
uint8 accel_calibration_count
uint8 gyro_calibration_count
""",
    (VehicleImu, 54, "v1.12"): """
uint64 timestamp
uint64 timestamp_sample
uint32 accel_device_id
uint32 gyro_device_id
float32[3] delta_angle
float32[3] delta_velocity
uint16 delta_angle_dt
uint16 delta_velocity_dt
uint8 delta_velocity_clipping
uint8 calibration_count
""",
    (SensorCombined, 47, "v1.13"): """
uint64 timestamp
float32[3] gyro_rad
uint32 gyro_integral_dt
int32 accelerometer_timestamp_relative
float32[3] accelerometer_m_s2
uint32 accelerometer_integral_dt
uint8 accelerometer_clipping
uint8 accel_calibration_count
uint8 gyro_calibration_count
""",
    (SensorGyro, 40, "v1.11"): """
uint64 timestamp
uint64 timestamp_sample
uint32 device_id
float32 x
float32 y
float32 z
float32 temperature
uint32 error_count
""",
}


@pytest.mark.parametrize(("kind", "size", "name"), FORMER, ids=str)
def test_samples_of_former_releases_are_told_by_their_size(kind, size, name):
    text = FORMER[kind, size, name]
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(text, "px4_msgs/msg/Former"))
    values = {}
    for number, line in enumerate(text.split("\n")[1:-1], start=1):
        spelled, field = line.split()
        count = 3 if "[3]" in spelled else 0
        values[field] = np.full(count, number, np.float32) if count else number
    theirs = store.types["px4_msgs/msg/Former"](**values)
    payload = bytes(store.serialize_cdr(theirs, "px4_msgs/msg/Former"))
    assert len(payload) == 4 + size
    today = kind(timestamp=99).to_cdr()
    (records, absent), malformed = decode_samples(kind, [today, payload, today])
    assert not malformed.size
    assert records["timestamp"].tolist() == [99, 1, 99]
    for field, value in values.items():
        if field in kind.dtype.names:
            np.testing.assert_array_equal(records[field][1], value)
    if "calibration_count" in values:
        assert records["accel_calibration_count"][1] == values["calibration_count"]
    former = {"accel_calibration_count", "gyro_calibration_count"} & (
        kind.dtype.fields.keys() if "calibration_count" in values else set()
    )
    assert set(absent) == set(kind.dtype.names) - values.keys() - former


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (VehicleImu, {53, 54, 55, 56, 60}),
        (VehicleImuStatus, {120, 132}),
        (SensorCombined, {45, 47, 48}),
        (SensorGyro, {40, 41, 44}),
        (SensorAccel, {43, 44}),
        (VehicleAttitude, {49}),
    ],
)
def test_samples_of_any_other_size_are_refused_or_counted(kind, sizes):
    payloads = [b"\0\1\0\0" + bytes(size) for size in range(140)]
    (records, _), malformed = decode_samples(kind, payloads, lenient=True)
    assert len(records) == len(sizes)
    assert set(range(140)) - set(malformed.tolist()) == sizes
    with pytest.raises(TruncatedError, match=rf"^message 1: expected {max(sizes) + 4} bytes"):
        decode_samples(kind, [payloads[max(sizes)], payloads[5]])
    foreign = b"\0\3" + bytes(2 + max(sizes))
    with pytest.raises(FormatError, match=r"^message 0: "):
        decode_samples(kind, [foreign])
    assert decode_samples(kind, [])[0].records.shape == (0,)
