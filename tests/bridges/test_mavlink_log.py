"""Telemetry logs, written by pymavlink, and messages collected from several senders."""

from __future__ import annotations

import os
import random
import struct
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink import mavutil
from pymavlink.dialects.v20 import common
from scipy.spatial.transform import Rotation

import strapdown
from strapdown import Trajectory
from strapdown.bridges.mavlink import (
    Kind,
    RawScale,
    attitude_records_from_trajectory,
    read_tlog,
    trajectory_from_attitude_records,
)
from strapdown.errors import (
    BackendMissingError,
    ChecksumError,
    FormatError,
    TruncatedError,
    UnknownNameError,
)

MUTANTS = 5_000
EPOCH_US = 1_700_000_000_000_000
SCALE = RawScale(accel=9.80665e-3, gyro=1e-3, mag=1e-7)


def highres(k, number=0, step_us=5_000):
    return common.MAVLink_highres_imu_message(
        1_000_000 + step_us * k, 0, 0, -9.8, 0, 0, 0.1, 0.2, 0, 0.4, 0, 0, 0, 0, 0x1FF, number
    )


def joined(messages, system=1, first=0):
    packer = common.MAVLink(None, srcSystem=system, srcComponent=1)
    data = b""
    for k, message in enumerate(messages):
        packer.seq = (first + k) % 256
        data += struct.pack(">Q", EPOCH_US + 5_000 * k) + message.pack(packer)
    return data


@pytest.fixture
def log(tmp_path):
    """Write bytes as a log."""

    def write(data):
        path = tmp_path / "flight.tlog"
        path.write_bytes(data)
        return path

    return write


def test_a_log_gives_every_stream_by_sender_kind_and_number(log):
    heartbeat = common.MAVLink_heartbeat_message(2, 3, 0, 0, 0, 3)
    attitude = common.MAVLink_attitude_quaternion_message(7, 1, 0, 0, 0, 0.1, 0.2, 0.3)
    path = log(
        joined([heartbeat, *(highres(k, k % 2) for k in range(10)), attitude])
        + joined([common.MAVLink_scaled_imu2_message(9, 0, 0, -1000, 1, 2, 3, 0, 0, 0)], system=7)
    )
    recording = read_tlog(path)
    assert list(recording.imu) == [
        "sys1/comp1/highres_imu",
        "sys1/comp1/highres_imu/id1",
        "sys7/comp1/scaled_imu2",
    ]
    series = recording.imu["sys1/comp1/highres_imu"]
    assert series.t_ns.tolist() == [1_000_000_000 + 10_000_000 * k for k in range(5)]
    np.testing.assert_allclose(series.magnetic_field[0], [2e-5, 0.0, 4e-5], rtol=1e-6)
    (name,) = recording.trajectories
    assert name == "sys1/comp1/attitude_quaternion"
    assert recording.trajectories[name].q_world_from_body.tolist() == [[0.0, 0.0, 0.0, 1.0]]
    assert recording.report.messages == 12
    assert recording.report.skipped == {"HEARTBEAT": 1}
    assert recording.report.lossless
    notes = "\n".join(recording.report.notes)
    assert "sys1/comp1/highres_imu: means over intervals" in notes
    assert "sys7/comp1/scaled_imu2: too coarse to integrate: 16 bits, in thousandths" in notes


def test_pymavlink_reads_the_same_messages_from_the_same_log(log, monkeypatch):
    monkeypatch.setitem(os.environ, "MAVLINK20", "1")

    path = log(joined([highres(k) for k in range(300)]))
    reader = mavutil.mavlink_connection(str(path), dialect="common")
    theirs = []
    while (message := reader.recv_match(type="HIGHRES_IMU")) is not None:
        theirs.append((message.time_usec, message.zgyro))
    reader.close()
    series = read_tlog(path).imu["sys1/comp1/highres_imu"]
    assert [t for t, _ in theirs] == (series.t_ns // 1000).tolist()
    assert [w for _, w in theirs] == series.angular_velocity[:, 2].tolist()


def test_missing_sequence_numbers_are_damage_that_does_not_raise(log):
    path = log(joined([highres(k) for k in range(10)]) + joined([highres(20)], first=13))
    report = read_tlog(path).report
    assert not report.lossless
    assert report.damage == (
        "sys1/comp1: 3 messages are missing by their sequence numbers, 11 came",
    )


def test_a_throttled_stream_is_said_not_to_be_one_to_integrate(log):
    path = log(joined([highres(k) for k in range(60) if k % 10 != 3]))
    report = read_tlog(path).report
    assert report.coverage == {"sys1/comp1/highres_imu": pytest.approx(53 / 59)}
    assert any("cover 89.8% of the time" in note for note in report.notes)


def test_raw_imu_is_left_out_without_a_scale(log):
    raw = common.MAVLink_raw_imu_message(1_000, 0, 0, -1000, 0, 0, 5, 0, 0, 0)
    path = log(joined([raw, highres(0)]))
    left = read_tlog(path)
    assert list(left.imu) == ["sys1/comp1/highres_imu"]
    assert left.report.skipped == {"RAW_IMU": 1}
    assert any("no scale" in note for note in left.report.notes)
    series = read_tlog(path, scale=SCALE).imu["sys1/comp1/raw_imu"]
    np.testing.assert_allclose(series.specific_force, [[0.0, 0.0, -9.80665]])
    np.testing.assert_allclose(series.angular_velocity, [[0.0, 0.0, 0.005]])


def test_a_simulator_that_began_again_is_noted(log):
    reset = common.MAVLink_hil_sensor_message(5, *([0.0] * 13), 0x8000_003F, 0)
    notes = read_tlog(log(joined([reset]))).report.notes
    assert notes == ("sys1/comp1/hil_sensor: resets of the simulator: 1",)


def test_a_stamp_beyond_nanoseconds_is_a_lost_message(log):
    absurd = highres(0)
    absurd.time_usec = 2**64 - 1
    report = read_tlog(log(joined([highres(0), absurd]))).report
    assert (report.messages, report.lost_messages) == (1, 1)


def test_a_log_cut_at_any_byte_keeps_the_frames_before(log, stride):
    data = joined([highres(k) for k in range(4)])
    size = len(data) // 4
    for end in sorted({*range(0, len(data), stride), *range(0, len(data), size)}):
        path = log(data[:end])
        if end < size:
            with pytest.raises(FormatError):
                read_tlog(path, on_error="salvage")
            continue
        recording = read_tlog(path, on_error="salvage")
        assert len(recording.imu["sys1/comp1/highres_imu"]) == end // size
        assert recording.report.lost_bytes == end % size
        if end % size:
            with pytest.raises(TruncatedError) as raised:
                read_tlog(path)
            assert raised.value.offset == end // size * size


def test_a_flipped_bit_loses_one_message_and_is_found(log):
    data = bytearray(joined([highres(k) for k in range(4)]))
    size = len(data) // 4
    data[size + 30] ^= 1
    path = log(bytes(data))
    with pytest.raises(ChecksumError) as raised:
        read_tlog(path)
    assert raised.value.offset == size + 8
    recording = read_tlog(path, on_error="salvage")
    stamps = recording.imu["sys1/comp1/highres_imu"].t_ns // 1000 - 1_000_000
    assert stamps.tolist() == [0, 10_000, 15_000]
    assert recording.report.lost_bytes == size
    assert "1 messages are missing" in recording.report.damage[0]


def test_junk_that_looks_like_an_unknown_message_does_not_hide_the_next_one(log):
    junk = bytes(9) + b"\xfd\x28\x00\x00\x00\x01\x01\xfe\xff\x70"
    path = log(joined([highres(0)]) + junk + joined([highres(1)], first=1))
    recording = read_tlog(path, on_error="salvage")
    assert len(recording.imu["sys1/comp1/highres_imu"]) == 2
    assert recording.report.lost_bytes == len(junk)
    assert recording.report.skipped == {}


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"ULog\x01\x12\x35" * 30])
def test_what_is_no_log_is_refused(log, content):
    path = log(content)
    for on_error in ("strict", "salvage"):
        with pytest.raises(FormatError):
            read_tlog(path, on_error=on_error)


def test_a_wrong_way_to_treat_damage_is_refused(log):
    with pytest.raises(UnknownNameError, match="salvage"):
        read_tlog(log(b""), on_error="salvge")


@settings(max_examples=50)
@given(st.binary(max_size=200), st.integers(0, 500), st.booleans())
def test_only_format_errors_leave_the_reader(tmp_path_factory, junk, place, is_inside):
    data = joined([highres(k) for k in range(5)])
    data = data[:place] + junk + data[place:] if is_inside else junk
    path = tmp_path_factory.mktemp("junk") / "x.tlog"
    path.write_bytes(data)
    try:
        recording = read_tlog(path, on_error="salvage")
    except FormatError:
        return
    assert recording.report.messages <= 5


def heartbeat(autopilot):
    return common.MAVLink_heartbeat_message(2, autopilot, 0, 0, 0, 3)


RAW = common.MAVLink_raw_imu_message(1_000, 0, 0, -1000, 0, 0, 5, 200, 0, 0)


def test_raw_imu_of_ardupilot_needs_no_scale(log):
    recording = read_tlog(log(joined([RAW, heartbeat(3), RAW])))  # MAV_AUTOPILOT_ARDUPILOTMEGA
    series = recording.imu["sys1/comp1/raw_imu"]
    np.testing.assert_allclose(series.specific_force, [[0.0, 0.0, -9.80665]] * 2)
    np.testing.assert_allclose(series.angular_velocity, [[0.0, 0.0, 0.005]] * 2)
    np.testing.assert_allclose(series.magnetic_field, [[2e-5, 0.0, 0.0]] * 2)
    assert recording.report.messages == 2
    px4 = read_tlog(log(joined([RAW, heartbeat(12), RAW])))
    assert px4.report.skipped == {"RAW_IMU": 2, "HEARTBEAT": 1}
    assert (px4.imu, px4.report.messages) == ({}, 0)


def test_open_recognises_a_log_and_gives_attitude_in_angles(log):
    turned = common.MAVLink_attitude_message(7, 0.1, -0.2, 0.3, 0, 0, 0)
    recording = strapdown.open(log(joined([heartbeat(3), turned, highres(0)])))
    assert recording.report.format == "tlog"
    assert list(recording.imu) == ["sys1/comp1/highres_imu"]
    track = recording.trajectories["sys1/comp1/attitude"]
    expected = Rotation.from_euler("ZYX", [0.3, -0.2, 0.1]).as_quat()
    np.testing.assert_allclose(track.q_world_from_body, [expected], atol=1e-7)
    assert (track.world, track.body, track.t_ns.tolist()) == ("NED", "FRD", [7_000_000])


def test_attitude_in_angles_is_sent_as_it_is_read():
    q = Rotation.from_euler("ZYX", [[0.3, -0.2, 0.1], [-3.0, 1.2, 2.0]]).as_quat()
    track = Trajectory(np.array([0, 5_000_000]), q, world="NED", body="FRD")
    records = attitude_records_from_trajectory(track, kind=Kind.ATTITUDE)
    np.testing.assert_allclose(records["yaw"], [0.3, -3.0], atol=1e-6)
    back = trajectory_from_attitude_records(records)
    np.testing.assert_allclose(abs((back.q_world_from_body * q).sum(1)), 1.0)


def test_time_since_1970_is_that_of_the_vehicle_or_else_of_the_soonest_reception(log):
    boot_us = EPOCH_US - 1_000_000  # the first message of highres() is stamped 1 s
    received = strapdown.open(log(joined([highres(k, step_us=4_000) for k in range(5)])))
    assert received.clock_offset_ns == boot_us * 1000  # the others come 1, 2, 3, 4 ms late
    stated = common.MAVLink_system_time_message(EPOCH_US + 77, 500)
    recording = strapdown.open(log(joined([highres(0), stated])))
    assert recording.clock_offset_ns == (EPOCH_US + 77 - 500_000) * 1000
    two = strapdown.open(log(joined([highres(0)]) + joined([highres(1)], system=2)))
    assert two.clock_offset_ns is None
    assert not two.knows_1970


def test_a_simulated_clock_that_counts_from_1970_is_left(log):
    message = highres(0)
    message.time_usec = EPOCH_US
    recording = strapdown.open(log(joined([message])))
    assert recording.clock_offset_ns == 0
    assert recording.imu["sys1/comp1/highres_imu"].t_ns.tolist() == [EPOCH_US * 1000]


def test_without_pymavlink_the_extra_is_named(log, monkeypatch):
    path = log(joined([highres(0)]))
    monkeypatch.setitem(sys.modules, "pymavlink.dialects.v20", None)
    with pytest.raises(BackendMissingError) as raised:
        strapdown.open(path)
    assert raised.value.extra == "mavlink"


def test_no_mutant_of_a_log_gives_a_foreign_error_or_an_invented_message(log, stride):
    data = joined([heartbeat(3), *(highres(k) for k in range(20)), RAW])
    chance = random.Random(5)  # noqa: S311 (damage from a fixed seed)
    stamps = {1_000_000 + 5_000 * k for k in range(20)}
    for _ in range(MUTANTS // stride):
        damaged = bytearray(data)
        first, last = sorted(chance.randrange(len(data)) for _ in range(2))
        kind = chance.randrange(3)
        if kind == 0:
            for _ in range(chance.randint(1, 16)):
                damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            damaged[first:last] = b"" if kind == 1 else chance.randbytes(last - first)
        try:
            recording = strapdown.open(log(damaged), on_error="salvage")
        except FormatError:
            continue
        assert recording.report.lost_bytes <= len(damaged)
        for series in recording.imu.values():
            assert set((series.t_ns // 1000).tolist()) <= stamps | {1_000}
