"""A PX4 log in full, against pyulog and against small logs written byte by byte."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog

from strapdown.errors import FormatError, TruncatedError, UnknownNameError
from strapdown.formats.px4 import log as px4_log
from strapdown.formats.ulog import data_rows
from strapdown.messages.px4 import SensorCombined, VehicleAttitude, VehicleImu

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = {
    "sample": {"I": 4, "F": 103, "P": 499, "A": 43, "D": 64_542, "O": 4, "L": 4},
    "sample_appended_multiple": {
        "B": 1,
        "I": 89,
        "F": 110,
        "P": 750,
        "A": 44,
        "D": 6852,
        "L": 1,
        "M": 3,
    },
    "sample_log_small": {
        "B": 1,
        "I": 14,
        "F": 82,
        "P": 980,
        "M": 131,
        "A": 72,
        "D": 14_604,
        "O": 1,
        "S": 12,
        "L": 3,
    },
    "sample_logging_tagged_and_default_params": {
        "B": 1,
        "I": 11,
        "F": 107,
        "P": 696,
        "Q": 44,
        "M": 113,
        "A": 170,
        "D": 21_229,
        "L": 4,
        "S": 21,
        "C": 3,
    },
    "sample_px4_events": {
        "B": 1,
        "I": 11,
        "F": 105,
        "P": 875,
        "Q": 62,
        "M": 212,
        "A": 84,
        "D": 29_480,
        "L": 18,
        "S": 62,
    },
}
HEADER = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 1_000_000)


def record(kind: str, payload: bytes) -> bytes:
    return struct.pack("<HB", len(payload), ord(kind)) + payload


def setting(key: str, value: bytes) -> bytes:
    return bytes([len(key)]) + key.encode() + value


def subscription(name: str, msg_id: int = 0) -> bytes:
    return record("A", struct.pack("<BH", 0, msg_id) + name.encode())


@pytest.fixture(params=COUNTS)
def sample(request, data_dir):
    return data_dir / "px4" / "ulog" / f"{request.param}.ulg"


@pytest.fixture
def log(tmp_path):
    def write(*parts: bytes):
        path = tmp_path / "log.ulg"
        path.write_bytes(HEADER + b"".join(parts))
        return path

    return write


def flat(values: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """Name columns like pyulog: ``a[0]`` in arrays, ``a[0].b`` in nested formats."""
    if values.ndim > 1:
        parts = [flat(values[:, k], f"{name}[{k}]") for k in range(values.shape[1])]
        return {key: column for part in parts for key, column in part.items()}
    if values.dtype.names:
        prefix = f"{name}." if name else ""
        parts = [flat(values[field], prefix + field) for field in values.dtype.names]
        return {key: column for part in parts for key, column in part.items()}
    return {name: values}


def test_every_log_has_the_records_that_it_holds(sample):
    log = px4_log.load(sample)
    assert log.counts == COUNTS[sample.stem]
    assert sum(topic.rows for topic in log.topics.values()) == log.counts["D"]
    assert len(log.topics) == log.counts["A"]
    assert log.report.lossless


def test_rows_of_every_topic_equal_those_of_pyulog_byte_for_byte(sample):
    log, other = px4_log.scan_ulog(sample), ULog(str(sample))
    assert other.data_list
    for topic in other.data_list:
        rows = log.rows(topic.name, topic.multi_id)
        summary = log.topics[topic.name, topic.multi_id]
        stamps = topic.data["timestamp"]
        assert (summary.rows, summary.first_us, summary.last_us) == (
            len(rows),
            stamps[0],
            stamps[-1],
        )
        columns = flat(rows, "")
        texts = {name for name in columns if columns[name].dtype.kind == "S"}
        padding = {name for name in topic.data if "_padding" in name}
        for name, column in columns.items():
            if name in texts:
                size = column.dtype.itemsize
                raw = [topic.data[f"{name}[{k}]"] for k in range(size)]
                assert np.stack(raw, axis=1).astype(np.int8).tobytes() == column.tobytes()
            else:
                assert column.tobytes() == topic.data[name].tobytes()
        numbers = {name for name in topic.data if name.partition("[")[0] not in texts} - padding
        assert numbers == columns.keys() - texts


def test_settings_equal_those_of_pyulog(sample):
    log, other = px4_log.scan_ulog(sample), ULog(str(sample))
    assert log.parameters == other.initial_parameters
    assert list(log.parameter_changes) == other.changed_parameters
    info = {name: value for name, value in log.info.items() if not isinstance(value, tuple)}
    assert info == {name: other.msg_info_dict[name] for name in info}
    assert len(info) == len(other.msg_info_dict)
    joined = {
        name: tuple(type(pieces[0])().join(pieces) for pieces in values)
        for name, values in other.msg_info_multiple_dict.items()
    }
    assert log.multi_info == joined
    for bit, whose in ((0, "system"), (1, "setup")):
        assert log.default_parameters.get(whose, {}) == other.get_default_parameters(bit)
    texts = [(line.timestamp, line.log_level - 48, line.message) for line in other.logged_messages]
    assert [line[:3] for line in log.texts if line.tag is None] == texts
    tagged = [
        (line.timestamp, line.log_level - 48, line.message, line.tag)
        for lines in other.logged_messages_tagged.values()
        for line in lines
    ]
    assert [line for line in log.texts if line.tag is not None] == tagged
    assert (log.version, log.start_us) == (other._file_version, other.start_timestamp)


def test_parameters_and_defaults_are_as_many_as_the_logs_are_known_to_hold(data_dir):
    folder = data_dir / "px4" / "ulog"
    log = px4_log.load(folder / "sample.ulg")
    assert (log.version, len(log.parameters), len(log.parameter_changes)) == (0, 493, 6)
    assert [dropout.duration_ms for dropout in log.dropouts] == [0, 26, 31, 62]
    log = px4_log.load(folder / "sample_logging_tagged_and_default_params.ulg")
    assert {whose: len(held) for whose, held in log.default_parameters.items()} == {
        "system": 44,
        "setup": 21,
    }
    assert {line.tag for line in log.texts} == {None, 1}
    assert len(px4_log.load(folder / "sample_appended_multiple.ulg").multi_info) == 1


def test_a_dropout_is_placed_by_the_rows_before_it_not_by_a_stamp_of_another_flight(data_dir):
    log = px4_log.load(data_dir / "px4" / "ulog" / "sample_log_small.ulg")
    # mission was stamped 1194 s after boot, in a log of 5.5 s from second 20
    assert log.topics["mission", 0].last_us == 1_194_367_328
    combined = log.rows("sensor_combined")["timestamp"].astype(np.int64)
    gap = int(np.argmax(np.diff(combined)))
    assert log.dropouts[0].duration_ms == 30
    assert combined[gap] - 50_000 < log.dropouts[0].t_us < combined[gap + 1]


def test_the_golden_log_is_read_record_by_record(data_dir):
    log = px4_log.load(data_dir / "px4" / "writer_golden.ulg")
    assert (log.version, log.start_us) == (1, 1_000_000)
    assert log.info == {"sys_name": "PX4", "ver_data_format": 2}
    assert log.parameters == {"IMU_INTEG_RATE": 200}
    assert log.default_parameters == {"system": {"IMU_INTEG_RATE": 200}}
    assert log.texts == ((1_010_100, 6, "hello", None),)
    assert log.dropouts == ((1_005_200, 5),)
    assert log.topics == {
        ("vehicle_imu", 0): (2, 1_005_200, 1_015_200, VehicleImu.ulog_format().partition(":")[2])
    }
    data = (data_dir / "px4" / "writer_golden.ulg").read_bytes()
    assert log.rows("vehicle_imu").tobytes() == data[547:607] + data[645:705]


def test_records_have_todays_form_and_name_what_the_log_does_not_have(data_dir):
    log = px4_log.load(data_dir / "px4" / "ulog" / "sample_log_small.ulg")
    records, absent = log.records(VehicleImu, 1)
    assert records.dtype == VehicleImu.dtype
    assert absent == (
        "delta_angle_clipping",
        "accel_calibration_count",
        "gyro_calibration_count",
    )
    assert set(records["gyro_device_id"]) == {0x380022}
    assert len(log.records(SensorCombined).records) == 1298
    log = px4_log.load(data_dir / "px4" / "ulog" / "sample_logging_tagged_and_default_params.ulg")
    true = log.records(VehicleAttitude, topic="vehicle_attitude_groundtruth").records
    np.testing.assert_allclose(np.linalg.norm(true["q"], axis=1), 1.0, atol=1e-6)


def test_nested_formats_arrays_text_and_padding_have_their_places(log):
    path = log(
        record("F", b"outer:uint64_t timestamp;inner[2] part;char[4] name;uint8_t _padding0;"),
        record("F", b"inner:uint8_t kind;uint8_t[3] _padding0;float[2] xy;bool good;"),
        subscription("outer"),
        record("D", struct.pack("<HQB3x2fBB3x2fB4s", 0, 7, 1, 2, 3, 1, 4, 5, 6, 0, b"ab")),
        record("D", struct.pack("<HQB3x2fBB3x2fB4sx", 0, 8, 1, 2, 3, 1, 4, 5, 6, 0, b"abcd")),
    )
    rows = px4_log.scan_ulog(path).rows("outer")
    assert rows["timestamp"].tolist() == [7, 8]
    assert rows["part"]["kind"].tolist() == [[1, 4]] * 2
    assert rows["part"]["xy"].tolist() == [[[2.0, 3.0], [5.0, 6.0]]] * 2
    assert rows["part"]["good"].tolist() == [[1, 0]] * 2
    assert rows["name"].tolist() == [b"ab", b"abcd"]
    assert rows.dtype.names == ("timestamp", "part", "name")
    assert px4_log.load(path).report.lossless  # pyulog refuses a row with its padding


SCALARS = {
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "float": "f",
    "double": "d",
}


@given(
    st.lists(st.tuples(st.sampled_from(sorted(SCALARS)), st.integers(0, 5)), max_size=8),
    st.randoms(use_true_random=False),
)
def test_any_format_is_read_like_the_standard_library_reads_it(tmp_path_factory, fields, chance):
    text = "t:uint64_t timestamp;" + "".join(
        f"{kind}{f'[{times}]' if times else ''} f{k};" for k, (kind, times) in enumerate(fields)
    )
    layout = "<Q" + "".join(f"{times or 1}{SCALARS[kind]}" for kind, times in fields)
    payloads = [
        struct.pack("<Q", k) + chance.randbytes(struct.calcsize(layout) - 8) for k in range(3)
    ]
    path = tmp_path_factory.mktemp("any") / "log.ulg"
    rows = (record("D", b"\0\0" + payload) for payload in payloads)
    path.write_bytes(HEADER + record("F", text.encode()) + subscription("t") + b"".join(rows))
    read = px4_log.scan_ulog(path).rows("t")
    for row, payload in zip(read, payloads, strict=True):
        values = [x for field in row.tolist() for x in np.ravel(field).tolist()]
        assert str(values) == str(list(struct.unpack(layout, payload)))  # NaN equals NaN


def test_parameters_that_change_have_the_time_of_the_rows_before(log):
    path = log(
        record("F", b"t:uint64_t timestamp;"),
        record("P", setting("int32_t A", struct.pack("<i", 1))),
        record("P", setting("float B", struct.pack("<f", 0.5))),
        subscription("t"),
        record("P", setting("int32_t A", struct.pack("<i", 2))),
        record("D", struct.pack("<HQ", 0, 2_000_000)),
        record("P", setting("float B", struct.pack("<f", 0.25))),
    )
    read = px4_log.load(path)
    assert read.parameters == {"A": 1, "B": 0.5}
    assert read.parameter_changes == ((1_000_000, "A", 2), (2_000_000, "B", 0.25))


def test_continued_information_is_joined_and_other_types_keep_their_form(log):
    path = log(
        record("M", b"\0" + setting("char[2] boot", b"ab")),
        record("M", b"\1" + setting("char[3] boot", b"cde")),
        record("M", b"\0" + setting("char[1] boot", b"f")),
        record("I", setting("uint8_t[3] raw", b"\1\2\3")),
        record("I", setting("int16_t[2] pair", struct.pack("<2h", -1, 5))),
        record("I", setting("char[2] name", b"\xff!")),
    )
    read = px4_log.load(path)
    assert read.multi_info == {"boot": ("abcde", "f")}
    assert read.info == {"raw": b"\1\2\3", "pair": (-1, 5), "name": "\ufffd!"}


def test_a_topic_that_is_not_there_is_named_with_the_nearest(data_dir):
    log = px4_log.load(data_dir / "px4" / "writer_golden.ulg")
    with pytest.raises(UnknownNameError, match="'vehicle_imu 0'"):
        log.rows("vehicle_imu", 1)


def test_rows_of_a_file_that_was_changed_are_refused(log):
    path = log(record("F", b"t:uint64_t timestamp;"), subscription("t"))
    read = px4_log.load(path)
    assert len(read.rows("t")) == 0
    path.write_bytes(path.read_bytes() + record("D", struct.pack("<HQ", 0, 5)))
    with pytest.raises(FormatError, match="expected the file that was read"):
        read.rows("t")


def test_a_cut_at_any_byte_leaves_exactly_the_records_before_it(data_dir, stride, tmp_path):
    data = (data_dir / "px4" / "writer_golden.ulg").read_bytes()
    ends, kinds, pos = [16], "", 16
    while pos < len(data):
        kinds += chr(data[pos + 2])
        pos += 3 + int.from_bytes(data[pos : pos + 2], "little")
        ends.append(pos)
    assert (kinds, pos) == ("BFIIPQADSOLD", 705)
    path = tmp_path / "cut.ulg"
    for cut in sorted({*range(16, len(data) + 1, stride), *ends}):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends) - 1
        if cut in ends:
            assert px4_log.load(path).report.lossless
        else:
            with pytest.raises(TruncatedError, match=f"leaves {cut - ends[whole]} bytes") as caught:
                px4_log.load(path)
            assert caught.value.offset == ends[whole]
        log = px4_log.load(path, salvage=True)
        assert log.counts == {kind: kinds[:whole].count(kind) for kind in kinds[:whole]}
        assert log.report.lost_bytes == cut - ends[whole]


def test_every_flipped_bit_is_reported_or_changes_a_value_only(data_dir, stride, tmp_path):
    data = (data_dir / "px4" / "writer_golden.ulg").read_bytes()
    heads, pos = set(), 16
    while pos < len(data):
        heads |= {pos, pos + 1, pos + 2}
        pos += 3 + int.from_bytes(data[pos : pos + 2], "little")
    path, silent = tmp_path / "flipped.ulg", set()
    for bit in range(0, 8 * len(data), stride):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        log, error = attempt(path)
        assert error is None or error.offset is not None or bit < 7 * 8
        if log is not None and log.report.skipped:  # a flipped type, like one of a newer writer
            assert bit // 8 in heads
            assert any(f"byte {bit // 8 - 2}: a record" in note for note in log.report.notes)
        elif log is not None:
            silent |= {bit // 8}
            assert sum(log.counts.values()) == 12
    assert not silent & heads
    assert not silent & set(range(7))
    assert silent  # the values of rows have no checksum


def attempt(path: Path) -> tuple[px4_log.Px4Log | None, FormatError | None]:
    try:
        return px4_log.scan_ulog(path), None
    except FormatError as error:
        return None, error


def test_the_compiled_walk_finds_the_rows_that_the_plain_one_finds(data_dir, monkeypatch):
    path = data_dir / "px4" / "ulog" / "sample_px4_events.ulg"
    plain = px4_log.scan_ulog(path)
    monkeypatch.setattr(data_rows, "_PLAIN", 0)
    compiled = px4_log.scan_ulog(path)
    assert compiled.topics == plain.topics
    assert compiled.counts == plain.counts
    for topic in plain.topics:
        assert compiled.rows(*topic).tobytes() == plain.rows(*topic).tobytes()
