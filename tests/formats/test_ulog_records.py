"""ULog: small logs written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from pyulog import ULog

from strapdown.errors import FormatError, UnsupportedError
from strapdown.formats.ulog import reader
from strapdown.formats.ulog.reader import UlogBlocks

HEADER = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 1_000_000)
SYNC = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
COMBINED = (
    "sensor_combined:uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;"
    "int32_t accelerometer_timestamp_relative;float[3] accelerometer_m_s2;"
    "uint32_t accelerometer_integral_dt;"
)
IMU = (
    "vehicle_imu:uint64_t timestamp;uint64_t timestamp_sample;uint32_t accel_device_id;"
    "uint32_t gyro_device_id;float[3] delta_angle;float[3] delta_velocity;"
    "uint16_t delta_angle_dt;uint16_t delta_velocity_dt;"
)


def record(kind: str, payload: bytes) -> bytes:
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def definition(text: str) -> bytes:
    return record("F", text.encode())


def subscription(name: str, msg_id: int = 0, multi_id: int = 0) -> bytes:
    return record("A", struct.pack("<BH", multi_id, msg_id) + name.encode())


def row(layout: str, *values: float, msg_id: int = 0) -> bytes:
    return record("D", struct.pack("<H" + layout, msg_id, *values))


def combined(timestamp: int, *, relative: int = 0, dt: int = 4000, x: float = 0.5) -> bytes:
    return row("Q3fIi3fI", timestamp, x, 0.25, 0.0, dt, relative, 0.0, 0.0, -9.75, dt)


def flags(*offsets: int, incompatible: int = 0) -> bytes:
    offsets = (*offsets, 0, 0, 0)[:3]
    return record("B", struct.pack("<8sBxxxxxxx3Q", bytes(8), incompatible, *offsets))


@pytest.fixture
def log(tmp_path):
    def write(*parts: bytes) -> Path:
        path = tmp_path / "log.ulg"
        path.write_bytes(HEADER + b"".join(parts))
        return path

    return write


def test_a_field_that_a_version_lacks_is_zero_and_one_counter_serves_both_sensors(log):
    values = (7, 5000, 11, 12, 0.5, 0, 0, 0, 0, -0.25, 2500, 2000)
    part = reader.read(
        log(definition(IMU), subscription("vehicle_imu", 3, 2), row("QQII6fHH", *values, msg_id=3)),
        salvage=False,
    ).increments["vehicle_imu.2"]
    assert part.t_ns.tolist() == [5_000_000]
    assert part.delta_angle_dt_ns.tolist() == [2_500_000]
    assert part.delta_velocity_dt_ns.tolist() == [2_000_000]
    assert part.accel_clipping.tolist() == part.gyro_calibration_count.tolist() == [0]
    path = log(
        definition(IMU + "uint8_t calibration_count;"),
        subscription("vehicle_imu"),
        row("QQII6fHHB", *values, 9),
    )
    part = reader.read(path, salvage=False).increments["vehicle_imu.0"]
    assert part.accel_calibration_count.tolist() == part.gyro_calibration_count.tolist() == [9]


def test_rows_whose_accelerometer_is_invalid_have_no_specific_force(log):
    path = log(
        definition(COMBINED),
        subscription("sensor_combined"),
        combined(10_000),
        combined(14_000, relative=0x7FFFFFFF),
    )
    recording = reader.read(path, salvage=False)
    imu = recording.imu["sensor_combined"]
    assert imu.t_ns.tolist() == [8_000_000, 12_000_000]
    assert imu.specific_force[0].tolist() == [0.0, 0.0, -9.75]
    assert np.isnan(imu.specific_force[1]).all()
    assert imu.angular_velocity.tolist() == [[0.5, 0.25, 0.0]] * 2
    assert imu.gyro_clipping is None
    assert imu.accel_clipping is None


def test_magnetometer_samples_go_to_the_nearest_row_or_nowhere(log):
    mag = (
        "vehicle_magnetometer:uint64_t timestamp;uint64_t timestamp_sample;"
        "float[3] magnetometer_ga;"
    )
    samples = [(12_900, 1.0), (13_100, 2.0), (9_000, 3.0), (90_000, 4.0)]
    path = log(
        definition(COMBINED),
        definition(mag),
        subscription("sensor_combined"),
        subscription("vehicle_magnetometer", 1),
        *(combined(t) for t in (10_000, 14_000, 18_000)),  # middles 8, 12 and 16 ms
        *(row("QQ3f", 1, t, x, 0.0, 0.0, msg_id=1) for t, x in samples),
    )
    recording = reader.read(path, salvage=False)
    field = recording.imu["sensor_combined"].magnetic_field[:, 0]
    np.testing.assert_allclose(field, [3e-4, 2e-4, np.nan], rtol=1e-15)
    assert (
        "vehicle_magnetometer: 2 of 4 samples were left out: a later one took the row, or none is "
        "within 20 ms"
    ) in recording.report.notes


def test_blocks_wait_for_a_magnetometer_that_begins_late(log):
    stamps = range(10_000, 10_000_000, 10_000)
    path = log(
        definition(COMBINED),
        definition("vehicle_magnetometer:uint64_t timestamp;float[3] magnetometer_ga;"),
        subscription("sensor_combined"),
        subscription("vehicle_magnetometer", 1),
        *(combined(t) for t in stamps),
        row("Q3f", stamps[-1] - 4000, 1.0, 0.0, 0.0, msg_id=1),
    )
    whole = reader.read(path, salvage=False).imu["sensor_combined"]
    assert np.isfinite(whole.magnetic_field[:, 0]).sum() == 1
    blocks = UlogBlocks(path, salvage=False, block_bytes=2000)
    parts = [series for block in blocks for series in block.imu.values()]
    assert parts[0].concatenate(parts) == whole


def test_an_appended_part_goes_on_with_earlier_subscriptions(log):
    first = [definition(COMBINED), subscription("sensor_combined"), combined(10_000)]
    cut = combined(14_000)[:-7]
    offset = len(HEADER) + len(flags()) + sum(map(len, first)) + len(cut)
    path = log(flags(offset, incompatible=1), *first, cut, combined(18_000), combined(22_000))
    recording = reader.read(path, salvage=False)
    assert recording.imu["sensor_combined"].t_ns.tolist() == [8_000_000, 16_000_000, 20_000_000]
    assert recording.report.lossless


@pytest.mark.parametrize("offsets", [(10,), (10**15,), (100, 90), ()])
def test_offsets_of_appended_parts_that_cannot_be_are_damage(offsets, log):
    path = log(
        flags(*offsets, incompatible=1),
        definition(COMBINED),
        subscription("sensor_combined"),
        combined(10_000),
    )
    with pytest.raises(FormatError, match="expected offsets of appended parts"):
        reader.read(path, salvage=False)
    assert len(reader.read(path, salvage=True).imu["sensor_combined"]) == 1


def test_a_flag_that_forbids_reading_is_obeyed(log):
    with pytest.raises(UnsupportedError, match="flags that forbid reading"):
        reader.read(log(flags(incompatible=2)), salvage=True)


def test_a_row_with_its_padding_is_read_like_one_without(log):
    path = log(
        definition(COMBINED + "uint8_t[4] _padding0;"),
        subscription("sensor_combined"),
        combined(10_000),
        record("D", combined(14_000)[3:] + bytes(4)),
    )
    assert len(reader.read(path, salvage=False).imu["sensor_combined"]) == 2


def test_records_of_a_newer_writer_are_passed_over_and_counted(log):
    path = log(
        definition(COMBINED),
        subscription("sensor_combined"),
        combined(10_000),
        record("Z", b"new"),
        combined(14_000),
        record("S", SYNC),
    )
    recording = reader.read(path, salvage=False)
    assert len(recording.imu["sensor_combined"]) == 2
    assert recording.report.skipped == {"records of type 90": 1}


def test_an_unknown_file_version_is_read_and_noted(log):
    path = log(definition(COMBINED), subscription("sensor_combined"), combined(10_000))
    path.write_bytes(path.read_bytes().replace(b"\x35\x01", b"\x35\x07", 1))
    recording = reader.read(path, salvage=False)
    assert len(recording.imu["sensor_combined"]) == 1
    assert any("unknown file version" in note for note in recording.report.notes)


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (row("Q", 1, msg_id=9), "expected data of a subscribed topic"),
        (row("QQ", 1, 1), "expected 44 bytes of sensor_combined, got 16"),
        (subscription("other", 6), "expected a topic with a format, got 'other'"),
        (definition("late:uint64_t timestamp;"), "expected one format of late, before all"),
        (record("S", bytes(8)), "expected the bytes of a sync record"),
        (record("O", bytes(3)), "expected 2 bytes in a record of type O, got 3"),
    ],
)
def test_a_bad_record_between_good_ones_is_named_and_salvage_skips_it_alone(bad, complaint, log):
    before = [definition(COMBINED), subscription("sensor_combined"), combined(10_000)]
    after = [combined(14_000 + 4000 * k) for k in range(5)]
    path = log(*before, bad, *after)
    offset = len(HEADER) + sum(map(len, before))
    with pytest.raises(FormatError, match=complaint) as caught:
        reader.read(path, salvage=False)
    assert caught.value.offset == offset
    recording = reader.read(path, salvage=True)
    assert len(recording.imu["sensor_combined"]) == 6
    assert recording.report.lost_bytes == len(bad)
    assert f"byte {offset}: {complaint}" in recording.report.notes[0]


def test_a_second_subscription_is_an_error_and_salvage_reads_the_rows_of_both(log):
    first = [definition(COMBINED), definition(IMU), subscription("sensor_combined", 0)]
    values = (7, 5000, 11, 12, 0.5, 0, 0, 0, 0, -0.25, 2500, 2000)
    for again, kept in (
        ([subscription("sensor_combined", 0), combined(14_000)], (2, 0)),
        ([subscription("sensor_combined", 9), row_of_9(14_000)], (2, 0)),
        ([subscription("vehicle_imu", 0), row("QQII6fHH", *values)], (1, 1)),
    ):
        path = log(*first, combined(10_000), *again)
        with pytest.raises(FormatError, match="expected a new subscription, got") as caught:
            reader.read(path, salvage=False)
        assert caught.value.offset == len(HEADER) + sum(map(len, first)) + len(combined(1))
        recording = reader.read(path, salvage=True)
        rows = len(recording.imu["sensor_combined"]), sum(map(len, recording.increments.values()))
        assert rows == kept
        assert "expected a new subscription" in recording.report.damage[0]
        assert not recording.report.lossless


def row_of_9(timestamp: int) -> bytes:
    return record("D", b"\x09\x00" + combined(timestamp)[5:])


def test_reading_goes_on_after_overwritten_bytes(log):
    rows = [combined(10_000 + 4000 * k) for k in range(40)]
    path = log(definition(COMBINED), subscription("sensor_combined"), *rows)
    data = bytearray(path.read_bytes())
    begin = len(data) - 25 * len(rows[0]) - 10
    data[begin : begin + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(FormatError, match="byte"):
        reader.read(path, salvage=False)
    recording = reader.read(path, salvage=True)
    t_ns = recording.imu["sensor_combined"].t_ns
    # 110 bytes cover three rows: the first begins intact, with wrong values in its last 10 bytes
    assert t_ns.tolist() == [(8_000 + 4000 * k) * 1000 for k in range(40) if k not in (15, 16)]
    assert recording.report.lost_bytes == 2 * len(rows[0])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sensor_combined:uint64_t timestamp", "expected a format"),
        ("sensor_combined:uint64_t timestamp;float[0] x;", "expected a format"),
        ("sensor_combined:uint64_t timestamp;float x;float x;", "expected a format"),
        ("sensor_combined:uint64_t timestamp;float[65535] x;", "without loops, below 64 KiB"),
        ("sensor_combined:uint64_t timestamp;float[1000] x;", "expected 4008 bytes of"),
        ("sensor_combined:uint64_t timestamp;sensor_combined x;", "without loops, below 64 KiB"),
        ("sensor_combined:uint64_t timestamp;nothing x;", "without loops, below 64 KiB"),
        ("sensor_combined:uint32_t timestamp;float x;", "with a timestamp"),
        ("sensor_combined:float x;", "with a timestamp"),
    ],
)
def test_a_format_that_cannot_be_is_refused(text, complaint, log):
    path = log(definition(text), subscription("sensor_combined"), combined(10_000))
    with pytest.raises(FormatError, match=complaint):
        reader.read(path, salvage=False)
    assert not reader.read(path, salvage=True).imu


def test_a_topic_without_a_field_that_it_needs_names_the_field(log):
    path = log(
        definition("sensor_combined:uint64_t timestamp;"),
        subscription("sensor_combined"),
        row("Q", 1),
    )
    with pytest.raises(FormatError, match="expected a field") as caught:
        reader.read(path, salvage=True)
    assert caught.value.topic == "sensor_combined"


def test_fields_of_other_types_than_px4_writes_are_read_or_refused(log):
    wide = IMU.replace("float[3]", "double[3]").replace(
        "uint64_t timestamp_s", "int64_t timestamp_s"
    )
    values = (7, 5000, 11, 12, 1e300, 0, 0, 0, 0, -0.25, 2500, 2000)
    start = definition(wide), subscription("vehicle_imu")
    part = reader.read(log(*start, row("QqII6dHH", *values)), salvage=False)
    assert part.increments["vehicle_imu.0"].delta_angle.tolist() == [[np.inf, 0.0, 0.0]]
    with pytest.raises(FormatError, match="got others in row 0"):
        reader.read(log(*start, row("QqII6dHH", 7, -1, *values[2:])), salvage=False)
    path = log(
        definition(IMU.replace("uint32_t gyro", "float gyro")),
        subscription("vehicle_imu"),
        row("QQIf6fHH", 7, 8, 9, 10.0, *values[5:11], 2500, 2000),
    )
    with pytest.raises(FormatError, match="expected gyro_device_id as uint32, got float32"):
        reader.read(path, salvage=True)


def test_damage_that_only_pyulog_sees_is_an_error(log, monkeypatch):
    path = log(definition(COMBINED), subscription("sensor_combined"), combined(10_000))
    monkeypatch.setattr(ULog, "file_corruption", property(lambda _: True))
    with pytest.raises(FormatError, match="expected 1 rows from pyulog, got 1"):
        reader.read(path, salvage=False)
    recording = reader.read(path, salvage=True)
    assert len(recording.imu["sensor_combined"]) == 1
    assert "expected 1 rows from pyulog, got 1" in recording.report.damage[0]


def test_flags_that_are_too_short_are_damage(log):
    path = log(
        record("B", bytes(8)),
        definition(COMBINED),
        subscription("sensor_combined"),
        combined(10_000),
    )
    with pytest.raises(FormatError, match="byte 16: expected flags of 40 bytes"):
        reader.read(path, salvage=False)
    assert len(reader.read(path, salvage=True).imu["sensor_combined"]) == 1


def test_a_magnetometer_that_a_row_of_2016_has_not_heard_from_is_not_joined(log):
    path = log(
        definition(COMBINED + "int32_t magnetometer_timestamp_relative;float[3] magnetometer_ga;"),
        subscription("sensor_combined"),
        *(
            record("D", combined(10_000 + 4000 * k)[3:] + struct.pack("<i3f", age, k, 0.0, 0.0))
            for k, age in enumerate((0x7FFFFFFF, -1000, -5000))
        ),
    )
    recording = reader.read(path, salvage=False)
    field = recording.imu["sensor_combined"].magnetic_field[:, 0]
    np.testing.assert_allclose(field, [np.nan, 1e-4, np.nan], rtol=1e-15)
    assert recording.report.notes == ("sensor_combined: the intervals cover 100.0% of the time",)


def test_a_stamp_beyond_64_bits_of_nanoseconds_is_damage(log):
    path = log(
        definition(COMBINED), subscription("sensor_combined"), combined(10_000), combined(2**60)
    )
    with pytest.raises(FormatError, match="got others in row 1"):
        reader.read(path, salvage=False)
    recording = reader.read(path, salvage=True)
    assert recording.imu["sensor_combined"].t_ns.tolist() == [8_000_000]
    assert recording.report.lost_messages == 1


def test_values_that_no_healthy_sensor_gives_are_noted(log):
    path = log(
        definition(COMBINED),
        subscription("sensor_combined"),
        combined(10_000),
        combined(14_000, x=71.0),
        combined(14_000, x=float("nan")),
    )
    notes = reader.read(path, salvage=False).report.notes
    assert notes == (
        "sensor_combined: a stamp that repeats or goes back in 1 rows, first in row 2",
        "sensor_combined: a value that is not finite in 1 rows, first in row 2",
        "sensor_combined: an axis above 70 rad/s in 1 rows, first in row 1",
        "sensor_combined: the intervals cover 150.0% of the time",
    )


def test_a_file_of_another_kind_is_no_ulog(tmp_path):
    path = tmp_path / "x.ulg"
    path.write_bytes(b"#ROSBAG V2.0\n")
    with pytest.raises(FormatError, match="expected a ULog"):
        reader.read(path, salvage=True)


def test_a_ulog_is_known_by_its_magic():
    assert reader.sniff(HEADER, Path("x"))
    assert not reader.sniff(HEADER[:5], Path("x"))
