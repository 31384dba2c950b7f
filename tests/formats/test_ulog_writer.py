"""The ULog writer against pyulog, against independently written bytes, and its own rules."""

from __future__ import annotations

import io
import shutil
import struct
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog

import strapdown.formats as files
from strapdown.errors import ShapeError, UnsupportedError, ValueRangeError
from strapdown.formats.px4 import log as px4_log
from strapdown.formats.ulog.writer import LoggedRows, UlogWriter
from strapdown.messages.px4 import (
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    VehicleImu,
    VehicleOdometry,
)

SYNC = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"


@dataclass
class Found:
    """One record of a file."""

    kind: str
    payload: bytes

    @property
    def stamp_us(self):
        """Stamp of data, or of a text without a tag [us]."""
        at = {"D": 2, "L": 1}[self.kind]
        return struct.unpack_from("<Q", self.payload, at)[0]


def records_of(data):
    """Return all records of a ULog, which must end with a complete one."""
    assert data[:7] == b"ULog\x01\x12\x35"
    found, at = [], 16
    while at < len(data):
        size, kind = struct.unpack_from("<HB", data, at)
        assert at + 3 + size <= len(data)
        found.append(Found(chr(kind), data[at + 3 : at + 3 + size]))
        at += 3 + size
    return found


def kinds_of(data):
    return "".join(record.kind for record in records_of(data))


def logged(fill, **options):
    """Return the bytes of a log that ``fill`` writes."""
    stream = io.BytesIO()
    with UlogWriter(stream, **options) as log:
        fill(log)
    return stream.getvalue()


def rows_at(stamps_us, kind=VehicleImu, seed=0):
    """Return rows with random bytes in all fields except for the stamps."""
    rng = np.random.default_rng(seed)
    records = np.zeros(len(stamps_us), kind.dtype)
    for name in kind.dtype.names:
        shape = records[name].shape
        if records[name].dtype.kind == "f":
            records[name] = rng.standard_normal(shape)
        else:
            records[name] = rng.integers(0, 127, shape)
    records["timestamp"] = stamps_us
    return records


def assert_pyulog_reads(data, kind, records, name=None, multi_id=0):
    log = ULog(io.BytesIO(data))
    assert not log.file_corruption
    columns = log.get_dataset(name or kind.topic, multi_id).data
    for field in kind.fields:
        if field.times:
            for axis in range(field.times):
                read = columns[f"{field.name}[{axis}]"]
                np.testing.assert_array_equal(read, records[field.name][:, axis])
        else:
            np.testing.assert_array_equal(columns[field.name], records[field.name])


def golden(log, first, second):
    log.declare(VehicleImu)
    log.add_info("sys_name", "PX4")
    log.add_info("ver_data_format", 2)
    log.add_parameter("IMU_INTEG_RATE", 200)
    log.add_default_parameter("IMU_INTEG_RATE", 200)
    log.write(VehicleImu, 0, first)
    log.sync()
    log.dropout(5)
    log.log(6, 1_010_100, "hello")
    log.write(VehicleImu, 0, second)


def test_a_file_from_another_hand_comes_out_byte_for_byte(data_dir):
    same = {
        "accel_device_id": 0x14010C,
        "gyro_device_id": 0x14010C,
        "delta_angle": (0.001, -0.002, 0.003),
        "delta_velocity": (0.0, 0.0, -0.0490332507),
        "delta_angle_dt": 5000,
        "delta_velocity_dt": 5000,
        "delta_velocity_clipping": VehicleImu.CLIPPING_Z,
        "gyro_calibration_count": 1,
    }
    first = VehicleImu(timestamp=1_005_200, timestamp_sample=1_005_000, **same)
    second = VehicleImu(timestamp=1_015_200, timestamp_sample=1_015_000, **same)
    data = logged(lambda log: golden(log, first, second), start_us=1_000_000)
    assert data == (data_dir / "px4" / "writer_golden.ulg").read_bytes()


@pytest.mark.parametrize("kind", [VehicleImu, SensorCombined, SensorAccelFifo, VehicleOdometry])
def test_pyulog_reads_every_field_of_every_row(kind):
    records = rows_at(np.arange(50) * 5000, kind)
    data = logged(lambda log: log.write(kind, 3, records))
    assert_pyulog_reads(data, kind, records, multi_id=3)


def test_a_message_class_may_stand_for_another_topic_of_its_form():
    records = rows_at([10, 20])
    data = logged(lambda log: log.write(VehicleImu, 0, records, topic="my_imu"))
    assert_pyulog_reads(data, VehicleImu, records, name="my_imu")


def test_a_format_follows_from_the_records_and_nested_ones_come_first():
    inner = np.dtype([("a", "i1"), ("b", "<f8", (2,))])
    dtype = np.dtype(
        [("timestamp", "<u8"), ("flag", "?"), ("word", "S4"), ("inner", inner, (2,)), ("n", ">i2")],
        align=True,
    )
    rows = np.zeros(2, dtype)
    rows["timestamp"] = [5, 6]
    rows["flag"] = [True, False]
    rows["word"] = [b"abcd", b"ef"]
    rows["inner"]["a"] = [[1, 2], [3, -4]]
    rows["inner"]["b"] = np.arange(8).reshape(2, 2, 2)
    rows["n"] = [-300, 300]
    data = logged(lambda log: log.write("mine", 0, rows))
    formats = [record.payload.decode() for record in records_of(data) if record.kind == "F"]
    assert formats == [
        "mine_inner:int8_t a;double[2] b;",
        "mine:uint64_t timestamp;bool flag;char[4] word;mine_inner[2] inner;int16_t n;",
    ]
    columns = ULog(io.BytesIO(data)).get_dataset("mine").data
    assert columns["flag"].tolist() == [1, 0]
    assert columns["n"].tolist() == [-300, 300]
    assert bytes(columns[f"word[{at}]"][0] for at in range(4)) == b"abcd"
    assert columns["inner[1].a"].tolist() == [2, -4]
    assert columns["inner[1].b[0]"].tolist() == [2.0, 6.0]


def test_definitions_stand_in_front_in_the_order_of_the_format():
    def fill(log):
        log.add_default_parameter("D", 1.5, system=False, setup=True)
        log.add_parameter("P", -7)
        log.add_multi_info("boot", "one ")
        log.add_multi_info("boot", "two", more=True)
        log.add_multi_info("boot", "other")
        log.add_info("time_ref_utc", -3600)
        log.add_info("boot_time_utc_us", 1_700_000_000_000_000)
        log.add_info("half", 0.5)
        log.add_info("raw", b"\x01\x02")
        log.add_info("rate", 3, "double")
        log.declare(SensorGyro)
        log.write(VehicleImu, 0, rows_at([1]))

    data = logged(fill)
    assert kinds_of(data) == "BFFIIIIIMMMPQAD"
    log = ULog(io.BytesIO(data))
    assert log.msg_info_dict == {
        "time_ref_utc": -3600,
        "boot_time_utc_us": 1_700_000_000_000_000,
        "half": 0.5,
        "raw": b"\x01\x02",
        "rate": 3.0,
    }
    assert log._msg_info_dict_types["boot_time_utc_us"] == "uint64_t"
    assert log.msg_info_multiple_dict == {"boot": [["one ", "two"], ["other"]]}
    assert log.initial_parameters == {"P": -7}
    assert log.get_default_parameters(1) == {"D": 1.5}
    assert log.get_default_parameters(0) == {}
    assert records_of(data)[0].payload == b"\x01" + bytes(39)


def test_without_default_parameters_no_flag_is_set():
    data = logged(lambda log: log.write(VehicleImu, 0, rows_at([1])))
    assert records_of(data)[0].payload == bytes(40)


def test_parameters_and_texts_stand_where_they_happened():
    def fill(log):
        log.add_parameter("P", 1)
        log.write(VehicleImu, 0, rows_at([1000, 2000]))
        log.add_parameter("P", 2.0)
        log.log(4, 1500, "between", tag=9)
        log.write(VehicleImu, 0, rows_at([3000]))

    data = logged(fill)
    assert kinds_of(data) == "BFPADCDPD"
    log = ULog(io.BytesIO(data))
    assert log.changed_parameters == [(2000, "P", 2.0)]
    (text,) = log.logged_messages_tagged[9]
    assert (text.timestamp, text.log_level_str(), text.message) == (1500, "WARNING", "between")


def test_topics_interleave_by_stamp_and_subscribe_right_before_their_first_row():
    slow, fast = rows_at([0, 30_000, 60_000]), rows_at(np.arange(7) * 10_000 + 1, SensorGyro)
    many = [LoggedRows(VehicleImu, 0, slow), LoggedRows(SensorGyro, 1, fast)]
    data = logged(lambda log: log.write_many(many))
    assert kinds_of(data) == "BFFADADDDDDDDDD"
    stamps = [record.stamp_us for record in records_of(data) if record.kind == "D"]
    assert stamps == sorted([*slow["timestamp"], *fast["timestamp"]])
    assert_pyulog_reads(data, VehicleImu, slow)
    assert_pyulog_reads(data, SensorGyro, fast, multi_id=1)


def test_a_sync_stands_wherever_a_half_second_begins():
    stamps = np.arange(0, 3_000_000, 4000)
    data = logged(lambda log: log.write(VehicleImu, 0, rows_at(stamps)))
    after = [
        next_one.stamp_us
        for record, next_one in zip(records_of(data), records_of(data)[1:], strict=False)
        if record.kind == "S"
    ]
    assert after == [500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000]
    assert {record.payload for record in records_of(data) if record.kind == "S"} == {SYNC}


@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(-400, 2000)), min_size=1, max_size=40),
    reorder_us=st.sampled_from([0, 100, 5000]),
)
def test_rows_are_in_order_and_all_of_them_accounted_for(steps, reorder_us):
    stream, stamps = io.BytesIO(), [10_000]
    with UlogWriter(stream, reorder_us=reorder_us) as log:
        for multi_id, step in steps:
            stamps.append(max(stamps[-1] + step, 0))
            log.write(SensorGyro, multi_id, rows_at(stamps[-1:], SensorGyro))
    data = [record for record in records_of(stream.getvalue()) if record.kind == "D"]
    assert len(data) == log.rows == len(steps) - log.late_rows
    for msg_id in range(3):
        own = [each.stamp_us for each in data if each.payload[:2] == bytes([msg_id, 0])]
        assert own == sorted(own)
    if (np.maximum.accumulate(stamps) - stamps <= reorder_us).all():
        assert log.late_rows == 0


def test_a_row_that_comes_a_little_late_is_put_in_its_place_and_a_late_one_counted():
    stream = io.BytesIO()
    with UlogWriter(stream, reorder_us=1000) as log:
        for stamp in (1000, 5000, 4500, 9000, 1500):
            log.write(VehicleImu, 0, rows_at([stamp]))
    stamps = [record.stamp_us for record in records_of(stream.getvalue()) if record.kind == "D"]
    assert stamps == [1000, 4500, 5000, 9000]
    assert (log.rows, log.late_rows) == (4, 1)


def test_rows_of_one_call_need_no_order():
    data = logged(lambda log: log.write(VehicleImu, 0, rows_at([30, 10, 20])))
    assert [record.stamp_us for record in records_of(data) if record.kind == "D"] == [10, 20, 30]


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("waited without effect")


class SlowStream(io.BytesIO):
    """A disk that blocks until it is released."""

    def __init__(self):
        super().__init__()
        self.free = threading.Event()
        self.asked = threading.Event()

    def write(self, data):
        self.asked.set()
        assert self.free.wait(10)
        return super().write(data)


def test_a_full_queue_drops_rows_and_says_for_how_long():
    stream = SlowStream()
    with UlogWriter(stream, reorder_us=0, queue_bytes=300) as log:
        log.write(VehicleImu, 0, rows_at([1000]))
        assert stream.asked.wait(10)
        stamps = [2000, 3000, 4000, 5000, 90_000_000]
        for stamp in stamps:  # 67 bytes each
            log.write(VehicleImu, 0, rows_at([stamp]))
        log.write(VehicleImu, 0, rows_at([90_001_000]))
        assert log.dropped_rows == 2
        stream.free.set()
        wait_for(lambda: log.rows == 5)
        log.write(VehicleImu, 0, rows_at([160_000_500]))
    found = records_of(stream.getvalue())
    stamps = [record.stamp_us for record in found if record.kind == "D"]
    assert stamps == [1000, 2000, 3000, 4000, 5000, 160_000_500]
    lost_ms = [struct.unpack("<H", record.payload)[0] for record in found if record.kind == "O"]
    assert lost_ms == [65_535, 4466]  # 70.0005 s, rounded up
    assert kinds_of(stream.getvalue()) == "BFADDDDDSOOD"


def test_what_was_dropped_at_the_end_is_said_too():
    stream = SlowStream()
    log = UlogWriter(stream, reorder_us=0, queue_bytes=70)
    log.write(VehicleImu, 0, rows_at([1000]))
    assert stream.asked.wait(10)
    for stamp in (2000, 3000, 7500):
        log.write(VehicleImu, 0, rows_at([stamp]))
    stream.free.set()
    log.close()
    assert log.dropped_rows == 2
    assert records_of(stream.getvalue())[-1].kind == "O"
    assert records_of(stream.getvalue())[-1].payload == struct.pack("<H", 5)


def test_a_live_log_holds_what_was_written_a_moment_ago(tmp_path):
    with UlogWriter(tmp_path / "a.ulg", queue_bytes=2**20) as log:
        log.write(VehicleImu, 0, rows_at([1000, 2000]))
        partial = tmp_path / "a.ulg.partial"
        wait_for(lambda: partial.stat().st_size)
        assert kinds_of(partial.read_bytes()) == "BFADD"
    assert kinds_of((tmp_path / "a.ulg").read_bytes()) == "BFADD"


def test_an_error_of_the_disk_reaches_who_logs():
    class Full(io.BytesIO):
        def write(self, _data):
            raise OSError(28, "no space")

    log = UlogWriter(Full(), reorder_us=0, queue_bytes=1000)
    log.write(VehicleImu, 0, rows_at([1000]))
    with pytest.raises(OSError, match="no space"):
        log.close()


def test_nothing_is_left_where_the_block_fails(tmp_path):
    def fail(**options):
        with UlogWriter(tmp_path / "a.ulg", **options) as log:
            log.write(VehicleImu, 0, rows_at([1000]))
            raise RuntimeError("on purpose")

    for options in ({}, {"queue_bytes": 1000}):
        with pytest.raises(RuntimeError, match="on purpose"):
            fail(**options)
        assert not list(tmp_path.iterdir())


def test_a_log_without_rows_has_its_definitions():
    data = logged(lambda log: log.add_info("sys_name", "PX4"), start_us=77)
    assert kinds_of(data) == "BI"
    assert data[8:16] == struct.pack("<Q", 77)


def test_the_header_has_the_first_stamp_unless_another_is_given():
    data = logged(lambda log: log.write(VehicleImu, 0, rows_at([5000, 4000])))
    assert data[8:16] == struct.pack("<Q", 4000)


# Appending


def written(path, stamps_us, **options):
    with UlogWriter(path, start_us=0, **options) as log:
        log.declare(SensorGyro)
        log.write(VehicleImu, 0, rows_at(stamps_us))
    return path


def test_appended_rows_follow_under_their_message_ids_and_the_flags_say_where(tmp_path):
    path = written(tmp_path / "a.ulg", [1000, 2000])
    before = path.read_bytes()
    with UlogWriter(path, append=True) as log:
        log.add_parameter("P", np.float32(0.5))
        log.write(VehicleImu, 0, rows_at([1500, 3000]))
        log.write(SensorGyro, 0, rows_at([3000], SensorGyro))
        log.add_info("more", 1)
    after = path.read_bytes()
    assert log.late_rows == 1
    assert after[59 : len(before)] == before[59:]
    flags = struct.unpack("<8s8s3Q", after[19:59])
    assert flags == (bytes(8), b"\1" + bytes(7), len(before), 0, 0)
    found = records_of(after[:16] + after[len(before) :])
    assert "".join(record.kind for record in found) == "PDADI"
    assert (found[1].payload[:2], found[2].payload[1:3]) == (b"\0\0", b"\1\0")
    log = files.open(path)
    assert log.increments["vehicle_imu.0"].t_ns.size == 3
    assert log.imu["sensor_gyro.0"].t_ns.size == 1
    assert ULog(str(path)).msg_info_dict["more"] == 1


def test_a_file_takes_three_parts_and_is_whole_after_each(tmp_path):
    path = written(tmp_path / "a.ulg", [1000])
    for part in range(1, 4):
        with UlogWriter(path, append=True, queue_bytes=1000) as log:
            log.write(VehicleImu, part, rows_at([1000 * part]))
        assert len(files.open(path).increments) == part + 1
        assert len(ULog(str(path)).data_list) == part + 1
    with pytest.raises(UnsupportedError, match="twice at most"):
        UlogWriter(path, append=True)


def test_a_log_that_was_cut_inside_a_row_can_be_appended_to(tmp_path):
    path = written(tmp_path / "a.ulg", [1000, 2000])
    path.write_bytes(path.read_bytes()[:-20])
    with UlogWriter(path, append=True) as log:
        log.write(VehicleImu, 0, rows_at([3000]))
    assert px4_log.load(path).rows("vehicle_imu")["timestamp"].tolist() == [1000, 3000]


def test_appending_nothing_changes_nothing(tmp_path):
    path = written(tmp_path / "a.ulg", [1000])
    before = path.read_bytes()
    UlogWriter(path, append=True).close()
    assert path.read_bytes() == before


def test_only_formats_of_the_file_can_be_appended(tmp_path):
    path = written(tmp_path / "a.ulg", [1000])
    before = path.read_bytes()
    with UlogWriter(path, append=True) as log:
        with pytest.raises(ValueRangeError, match="sensor_combined"):
            log.write(SensorCombined, 0, rows_at([1], SensorCombined))
        with pytest.raises(ValueRangeError, match="file to append to"):
            log.add_default_parameter("P", 1)
    assert path.read_bytes() == before


def test_a_log_without_flags_cannot_say_that_it_was_appended_to(tmp_path, data_dir):
    path = tmp_path / "a.ulg"
    shutil.copyfile(data_dir / "px4" / "ulog" / "sample.ulg", path)
    with pytest.raises(UnsupportedError, match="flags"):
        UlogWriter(path, append=True)


# Refused input


def late_format(log):
    log.write(VehicleImu, 0, rows_at([0, 1_000_000]))
    log.write(SensorGyro, 0, rows_at([1_000_000], SensorGyro))


def other_format(log):
    log.write("x", 0, np.zeros(1, [("timestamp", "<u8"), ("a", "<f4")]))
    log.write("x", 0, np.zeros(1, [("timestamp", "<u8"), ("a", "<f8")]))


def same_name(log):
    log.declare(np.dtype([("timestamp", "<u8"), ("a", [("b", "u1")])]), "x")
    log.declare(VehicleImu, "x_a")


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        (late_format, "sensor_gyro"),
        (other_format, "as before"),
        (lambda log: log.write("x", 0, np.zeros(1, [("a", "<f4")])), "timestamp"),
        (lambda log: log.write("x", 0, np.zeros(1, [("timestamp", "<f8")])), "timestamp"),
        (lambda log: log.write("a b", 0, np.zeros(1, [("timestamp", "<u8")])), "a b"),
        (
            lambda log: log.write("x", 0, np.zeros(1, [("timestamp", "<u8"), ("c", "<c8")])),
            "'c'",
        ),
        (same_name, "x_a once"),
        (lambda log: log.write(VehicleImu, 256, rows_at([1])), "multi_id"),
        (lambda log: log.write(VehicleImu, 0, rows_at([2**63])), "stamps"),
        (lambda log: log.add_info("a b", 1), "a b"),
        (lambda log: log.add_info("a", ""), "value"),
        (lambda log: log.add_info("k" * 256, 1), "255"),
        (lambda log: log.add_info("a", "x" * 65_535), "65535"),
        (lambda log: log.add_info("a", 2**64), "uint64_t"),
        (lambda log: log.add_info("a", 1, "uint128_t"), "uint128_t"),
        (lambda log: [log.add_info("a", 1), log.add_info("a", 2)], "once"),
        (lambda log: log.add_parameter("P", 2**31), "int32_t"),
        (lambda log: log.add_parameter("P", 1e39), "float"),
        (lambda log: log.log(8, 0, "x"), "level"),
        (lambda log: log.log(0, -1, "x"), "time"),
        (lambda log: log.dropout(0), "duration_ms"),
    ],
)
def test_what_a_log_cannot_hold_is_refused(fill, words):
    with pytest.raises(ValueRangeError, match=words):
        logged(fill)


def test_records_must_be_of_their_class():
    with pytest.raises(ShapeError, match="VehicleImu"):
        logged(lambda log: log.write(VehicleImu, 0, rows_at([1], SensorGyro)))


def test_a_closed_writer_says_so():
    log = UlogWriter(io.BytesIO())
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        log.sync()
