"""DataFlash logs of a writer of our own, judged by the reader of pymavlink."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from contextlib import contextmanager

import numpy as np
import pytest
from pymavlink import DFReader

import strapdown
from strapdown.errors import FormatError, TruncatedError
from strapdown.geometry import euler

MUTANTS = 5_000


@pytest.fixture
def written(tmp_path):
    """Write a log, or bytes, as a file."""

    def write(log):
        path = tmp_path / "00000001.BIN"
        path.write_bytes(bytes(getattr(log, "data", log)))
        return path

    return write


@pytest.fixture
def copter(ardupilot_log):
    return ardupilot_log.flight(seconds=4)


@contextmanager
def opened_by_pymavlink(path):
    log = DFReader.DFReader_binary(str(path))
    try:
        yield log
    finally:  # it leaves both open
        log.data_map.close()
        log.filehandle.close()


def by_pymavlink(path):
    """The messages of a log by name, as dictionaries."""
    messages = defaultdict(list)
    with opened_by_pymavlink(path) as log:
        while (message := log.recv_msg()) is not None:
            messages[message.get_type()].append(message.to_dict())
    return messages


def columns(messages, *names):
    return np.array([[message[name] for name in names] for message in messages])


def test_numbers_stamps_and_instances_are_those_that_pymavlink_reads(copter, written):
    path = written(copter)
    theirs, ours = by_pymavlink(path), strapdown.open(path)
    assert list(ours.imu) == ["imu/0", "imu/1"]
    for number in (0, 1):
        messages = [each for each in theirs["IMU"] if each["I"] == number]
        series = ours.imu[f"imu/{number}"]
        assert (series.t_ns // 1000).tolist() == columns(messages, "TimeUS")[:, 0].tolist()
        rates, forces = ("GyrX", "GyrY", "GyrZ"), ("AccX", "AccY", "AccZ")
        assert series.angular_velocity.tolist() == columns(messages, *rates).tolist()
        assert series.specific_force.tolist() == columns(messages, *forces).tolist()
        assert (series.body, series.world) == ("FRD", "NED")
        mags = [each for each in theirs["MAG"] if each["I"] == number]
        held = series.magnetic_field[np.isfinite(series.magnetic_field[:, 0])]
        np.testing.assert_allclose(held, columns(mags, "MagX", "MagY", "MagZ") * 1e-7, rtol=1e-15)
    attitude = columns(theirs["ATT"], "Roll", "Pitch", "Yaw")
    angles = euler.from_quaternion(ours.trajectories["att"].q_world_from_body, "zyx")
    np.testing.assert_allclose(np.degrees(angles), attitude, atol=1e-12)
    core = ours.trajectories["xkf1/0"]
    assert core.position_world.tolist() == columns(theirs["XKF1"], "PN", "PE", "PD").tolist()
    assert core.velocity_world.tolist() == columns(theirs["XKF1"], "VN", "VE", "VD").tolist()
    counts = Counter({name: len(each) for name, each in theirs.items()})
    assert ours.report.skipped == {name: counts[name] for name in ("MSG", "PARM", "GPS")}
    assert ours.report.messages == sum(counts[name] for name in ("IMU", "MAG", "ATT", "XKF1"))
    assert ours.report.lossless


def test_time_since_1970_is_that_of_the_first_fix(copter, written):
    path = written(copter)
    with opened_by_pymavlink(path) as log:
        first = log.recv_match(type="IMU")
    recording = strapdown.open(path)
    since_1970_ns = recording.imu["imu/0"].t_ns[0] + recording.clock_offset_ns
    assert abs(since_1970_ns - first._timestamp * 1e9) < 1000  # pymavlink keeps it as float64


def test_without_a_fix_stamps_count_from_the_start(ardupilot_log, written):
    recording = strapdown.open(written(ardupilot_log.flight(seconds=1)))
    assert recording.clock_offset_ns is None
    assert not recording.knows_1970


def test_devices_are_those_of_the_parameters(copter, written):
    sensor = strapdown.open(written(copter)).imu["imu/0"].sensor
    assert (sensor.accel_device_id, sensor.gyro_device_id) == (2753028, 2752772)


def test_a_log_before_units_and_instances_is_read_in_the_usual_units(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog(units=False)
    fields = "TimeUS,GyrX,GyrY,GyrZ,AccX,AccY,AccZ"
    for name in ("IMU", "IMU2"):
        log.define(name, "Qffffff", fields)
    log.define("MAG2", "Qhhh", "TimeUS,MagX,MagY,MagZ")
    log.define("NKF1", "QccC", "TimeUS,Roll,Pitch,Yaw")
    for row in range(5):
        log.add("IMU", 1000 * row, 0.5, 0, 0, 0, 0, -9.5)
        log.add("IMU2", 1000 * row + 500, 0.25, 0, 0, 0, 0, -9.75)
        log.add("MAG2", 1000 * row + 500, 100, -200, 300)
        log.add("NKF1", 1000 * row, 1000, 0, 9000)
    recording = strapdown.open(written(log))
    assert recording.imu["imu/0"].angular_velocity[:, 0].tolist() == [0.5] * 5
    second = recording.imu["imu/1"]
    assert second.specific_force[:, 2].tolist() == [-9.75] * 5
    np.testing.assert_allclose(second.magnetic_field, [[1e-5, -2e-5, 3e-5]] * 5)
    angles = euler.from_quaternion(recording.trajectories["nkf1/0"].q_world_from_body, "zyx")
    np.testing.assert_allclose(np.degrees(angles), [[10.0, 0.0, 90.0]] * 5)


def test_units_of_the_log_are_converted_and_others_left_out(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog()
    fields = "TimeUS,GyrX,GyrY,GyrZ,AccX,AccY,AccZ"
    log.define("IMU", "Qhhhfff", fields, "skkkooo", "FCCC000")
    log.define("IMU2", "Qffffff", fields, "skkkmmm", "F000000")
    log.add("IMU", 0, 18_000, 0, 0, 0, 0, -9.5)
    log.add("IMU2", 0, 0, 0, 0, 0, 0, -9.5)
    recording = strapdown.open(written(log))
    np.testing.assert_allclose(recording.imu["imu/0"].angular_velocity[0, 0], np.radians(18.0))
    assert list(recording.imu) == ["imu/0"]
    assert recording.report.skipped == {"IMU2": 1}
    assert recording.report.notes == ("IMU2: left out, AccX is in 'm' instead of m/s/s",)


def test_raw_samples_are_stamped_when_the_sensor_took_them(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog()
    for row in range(3):
        log.add("GYR", 10_000, 1, 1000 * row, 0.5, 0.25, 0.125)
    series = strapdown.open(written(log)).imu["gyr/1"]
    assert series.t_ns.tolist() == [0, 1_000_000, 2_000_000]
    assert series.angular_velocity.tolist() == [[0.5, 0.25, 0.125]] * 3
    assert np.isnan(series.specific_force).all()


def test_unhealthy_rows_and_a_compass_without_imu_are_noted(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog()
    for row in range(4):
        log.add("IMU", 1000 * row, 0, 0, 0, 0, 0, 0, -9.8, 0, 0, 40, row > 0, 1, 1000, 1000)
        log.add("MAG", 1000 * row, 2, 1, 2, 3, *[0] * 6, 1, 0)
    report = strapdown.open(written(log)).report
    assert report.skipped == {"MAG": 4}
    assert report.notes == (
        "imu/0: gyroscope unhealthy in 1 of 4 rows",
        "mag/2: left out, the log has no imu/2",
    )


def test_a_second_message_of_the_same_name_is_counted(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog(units=False)
    for _ in range(2):
        log.define("IMU", "Qffffff", "TimeUS,GyrX,GyrY,GyrZ,AccX,AccY,AccZ")
        log.add("IMU", 0, 0, 0, 0, 0, 0, -9.8)
    recording = strapdown.open(written(log))
    assert len(recording.imu["imu/0"]) == 1
    assert recording.report.skipped == {"IMU:142": 1}


def test_a_stamp_beyond_nanoseconds_is_a_lost_message(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog()
    for stamp in (1000, 2**64 - 1):
        log.add("IMU", stamp, 0, 0, 0, 0, 0, 0, -9.8, 0, 0, 40, 1, 1, 1000, 1000)
    report = strapdown.open(written(log)).report
    assert (report.messages, report.lost_messages) == (1, 1)


def test_a_log_cut_at_any_byte_keeps_the_messages_before(ardupilot_log, written, stride):
    log = ardupilot_log.DataFlashLog()
    row = (0, 0, 0, 0, 0, 0, -9.8, 0, 0, 40, 1, 1, 1000, 1000)
    log.add("IMU", 0, *row)
    start = len(log.data)
    for number in range(1, 5):
        log.add("IMU", 1000 * number, *row)
    size = (len(log.data) - start) // 4
    for end in range(start, len(log.data), stride):
        whole, rest = divmod(end - start, size)
        path = written(log.data[:end])
        recording = strapdown.open(path, on_error="salvage")
        assert recording.imu["imu/0"].t_ns.tolist() == [10**6 * k for k in range(whole + 1)]
        assert recording.report.lost_bytes == rest
        if rest:
            with pytest.raises(TruncatedError) as raised:
                strapdown.open(path)
            assert raised.value.offset == start + whole * size
        else:
            assert strapdown.open(path).report.lossless


def test_junk_costs_the_message_before_it_and_is_one_place_of_damage(copter, written):
    at = bytes(copter.data).index(b"\xa3\x95", len(copter.data) // 2)
    junk = b"\x00" * 50 + b"\xa3\x95\x07" + b"\xff" * 50
    path = written(copter.data[:at] + junk + copter.data[at:])
    whole = strapdown.open(written(copter)).report.messages
    path.write_bytes(bytes(copter.data[:at] + junk + copter.data[at:]))
    with pytest.raises(FormatError, match="expected the next message directly after"):
        strapdown.open(path)
    report = strapdown.open(path, on_error="salvage").report
    assert whole - report.messages <= 1
    assert len(report.damage) == 1
    assert len(junk) < report.lost_bytes < len(junk) + 90


def test_a_contradicting_definition_is_refused_and_named(ardupilot_log, written):
    log = ardupilot_log.DataFlashLog(units=False)
    log.add("FMT", 150, 20, "IMU", "Qf", "TimeUS,GyrX,GyrY")
    path = written(log)
    with pytest.raises(FormatError, match="expected 2 distinct columns of IMU, got 3"):
        strapdown.open(path)
    damage = strapdown.open(path, on_error="salvage").report.damage
    assert damage == ("FMT at byte 89: expected 2 distinct columns of IMU, got 3",)


def mutant(data, chance):
    damaged = bytearray(data)
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(chance.randint(1, 16)):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del damaged[chance.randrange(len(damaged)) :]
    else:
        first, last = sorted(chance.randrange(len(damaged)) for _ in range(2))
        damaged[first:last] = b"" if kind == 2 else chance.randbytes(last - first)
    return bytes(damaged)


def test_no_mutant_gives_a_foreign_error_or_uncounted_bytes(ardupilot_log, written, stride):
    log = ardupilot_log.flight(seconds=3, rate_hz=10)
    whole = strapdown.open(written(log)).report.messages
    chance = random.Random(4)  # noqa: S311 (damage from a fixed seed)
    for _ in range(MUTANTS // stride):
        data = mutant(log.data, chance)
        path = written(data)
        try:
            back = strapdown.open(path, on_error="salvage")
        except FormatError:
            continue
        assert back.report.messages <= whole
        assert back.report.lost_bytes <= len(data)
        try:
            strapdown.open(path)
        except FormatError:
            assert not back.report.lossless
