"""ULog topics as series: FIFO, one-triad sensors, clock, coverage, gaps, blocks."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.formats.ulog import reader
from strapdown.messages.px4 import (
    SensorAccel,
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)

START_US = 1_000_000
GPS = "sensor_gps:uint64_t timestamp;uint64_t time_utc_usec;"


def record(kind: str, payload: bytes) -> bytes:
    return struct.pack("<HB", len(payload), ord(kind)) + payload


@pytest.fixture
def log(tmp_path):
    """Write a log of messages in order, each with its topic and instance 0."""

    def write(*messages, before=b"", between=b""):
        kinds = {type(message): None for message in messages}
        parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", START_US)]
        parts += [record("F", kind.ulog_format().encode()) for kind in kinds]
        parts.append(before)
        for msg_id, kind in enumerate(kinds):
            parts.append(record("A", struct.pack("<BH", 0, msg_id) + kind.topic.encode()))
        ids = {kind: struct.pack("<H", msg_id) for msg_id, kind in enumerate(kinds)}
        for message in messages:
            parts += [record("D", ids[type(message)] + message.to_logged()), between]
        path = tmp_path / "log.ulg"
        path.write_bytes(b"".join(parts))
        return path

    return write


def fifo(kind, end_us, values, *, scale=0.5, dt=125.0):
    count = len(values)
    axes = np.zeros((3, 32), np.int16)
    axes[:, :count] = np.array(values).T
    x, y, z = axes
    return kind(
        timestamp=end_us + 300,
        timestamp_sample=end_us,
        device_id=0x14010C,
        dt=dt,
        scale=scale,
        samples=count,
        x=x,
        y=y,
        z=z,
    )


def combined(t_us, dt=4000, **fields):
    return SensorCombined(timestamp=t_us, gyro_integral_dt=dt, **fields)


def info(kind, name, layout, value):
    key = f"{kind} {name}".encode()
    return record("I", bytes([len(key)]) + key + struct.pack(layout, value))


def test_fifo_packets_become_samples_at_their_measured_spacing(log):
    packets = [
        fifo(SensorGyroFifo, 2_000_000 + 1_000 * k, [[8 * k + j, -j, 32_767] for j in range(8)])
        for k in range(4)
    ]
    accel = [fifo(SensorAccelFifo, 2_000_000, [[1, 2, 3]], scale=2.0)]
    recording = reader.read(log(*packets, *accel), salvage=False)
    gyro = recording.imu["sensor_gyro_fifo.0"]
    assert gyro.t_ns.tolist() == [2_000_000_000 + 125_000 * k for k in range(-7, 25)]
    np.testing.assert_array_equal(gyro.angular_velocity[:, 0], 0.5 * np.arange(32))
    assert np.isnan(gyro.specific_force).all()
    assert gyro.gyro_clipping.tolist() == [4] * 32
    assert gyro.accel_clipping is None
    assert (gyro.body, gyro.sensor.gyro_device_id) == ("FRD", 0x14010C)
    force = recording.imu["sensor_accel_fifo.0"].specific_force
    assert force.tolist() == [[2.0, 4.0, 6.0]]
    assert recording.report.messages == 5
    notes = "\n".join(recording.report.notes)
    assert "sensor_gyro_fifo.0: 32 samples in 4 packets" in notes
    assert "not finite" not in notes


def test_readings_of_one_driver_have_one_triad_and_the_clipped_axes(log):
    recording = reader.read(
        log(
            SensorGyro(
                timestamp=2_000_100,
                timestamp_sample=2_000_000,
                device_id=7,
                x=1.0,
                y=2.0,
                z=3.0,
                temperature=200.0,
                clip_counter=[0, 5, 0],
            ),
            SensorAccel(timestamp=2_000_100, timestamp_sample=2_000_050, device_id=9, z=-9.75),
        ),
        salvage=False,
    )
    gyro, accel = recording.imu["sensor_gyro.0"], recording.imu["sensor_accel.0"]
    assert gyro.t_ns.tolist() == [2_000_000_000]
    assert gyro.angular_velocity.tolist() == [[1.0, 2.0, 3.0]]
    assert gyro.gyro_clipping.tolist() == [2]
    assert np.isnan(gyro.specific_force).all()
    assert accel.specific_force.tolist() == [[0.0, 0.0, -9.75]]
    assert (gyro.sensor.gyro_device_id, accel.sensor.accel_device_id) == (7, 9)
    assert (
        "sensor_gyro.0: a temperature outside -60 to 150 degC in 1 rows, first in row 0"
        in recording.report.notes
    )


def test_the_true_attitude_of_a_simulator_has_the_stamps_of_publication(data_dir):
    path = data_dir / "px4" / "ulog" / "sample_logging_tagged_and_default_params.ulg"
    recording = reader.read(path, salvage=False)
    true = recording.trajectories["vehicle_attitude_groundtruth"]
    rows = recording.log.rows("vehicle_attitude_groundtruth")
    assert not rows["timestamp_sample"].any()
    assert true.t_ns.tolist() == (rows["timestamp"].astype(np.int64) * 1000).tolist()
    assert recording.reference_topic() == "vehicle_attitude_groundtruth"


def test_odometry_is_a_trajectory_with_what_is_known(log):
    def odometry(t_us, position):
        return VehicleOdometry(
            timestamp=t_us,
            timestamp_sample=t_us,
            pose_frame=1,
            velocity_frame=1,
            position=position,
            q=[1, 0, 0, 0],
            velocity=[np.nan, 0.0, 0.0],
        )

    path = log(odometry(2_000_000, [1.0, 2.0, 3.0]), odometry(2_010_000, [np.nan] * 3))
    track = reader.read(path, salvage=False).trajectories["vehicle_odometry"]
    assert (track.world, track.body) == ("NED", "FRD")
    np.testing.assert_array_equal(track.position_world, [[1.0, 2.0, 3.0], [np.nan] * 3])
    assert np.isnan(track.velocity_world).all()


def test_stamps_lead_to_1970_by_the_boot_time_the_epoch_or_a_gnss_receiver(log, data_dir):
    def offset(**options):
        return reader.read(log(combined(2_000_000), **options), salvage=False).clock_offset_ns

    utc_us = 1_700_000_000_000_000
    boot = info("uint64_t", "boot_time_utc_us", "<Q", utc_us)
    assert offset() is None
    assert offset(before=boot) == utc_us * 1000
    assert offset(before=info("uint64_t", "boot_time_utc_us", "<Q", 0)) is None
    folder = data_dir / "px4" / "ulog"
    for name, expected_us in (
        ("sample", None),
        ("sample_log_small", 1_618_986_658_600_345 - 20_471_648),
        ("sample_px4_events", 0),
    ):
        got = reader.read(folder / f"{name}.ulg", salvage=False).clock_offset_ns
        assert got == (None if expected_us is None else expected_us * 1000)


def test_coverage_and_gaps_of_the_public_logs_are_those_known(data_dir):
    folder = data_dir / "px4" / "ulog"
    report = reader.read(folder / "sample_log_small.ulg", salvage=False).report
    assert (
        "sensor_combined: 1 of 1297 steps are longer than their intervals, 156.4 ms are lost"
        in report.notes
    )
    assert 0.97 < report.coverage["sensor_combined"] < 0.98
    assert report.coverage["vehicle_imu.2"] < 0.02
    report = reader.read(
        folder / "sample_logging_tagged_and_default_params.ulg", salvage=False
    ).report
    assert (
        "sensor_combined: 665 of 2027 steps are longer than their intervals, 2660.0 ms are lost"
        in report.notes
    )
    assert report.coverage["sensor_combined"] == pytest.approx(2028 / (2028 + 665))
    report = reader.read(folder / "sample_px4_events.ulg", salvage=False).report
    assert report.coverage["sensor_combined"] == 1.0


def test_a_device_that_changes_is_noted_and_each_is_named(log):
    rows = [
        VehicleImu(
            timestamp=t_us,
            timestamp_sample=t_us,
            gyro_device_id=device,
            delta_angle_dt=5000,
            delta_velocity_dt=5000,
            accel_device_id=0x380022,
        )
        for t_us, device in ((2_000_000, 0x380022), (2_005_000, 0x280022))
    ]
    notes = reader.read(log(*rows), salvage=False).report.notes
    assert "vehicle_imu.0 gyro: the device changes, there are 2" in notes
    assert "device 0x280022 ICM20948 (SPI 4): vehicle_imu.0 gyro" in notes


def test_an_interval_that_cannot_be_is_noted(log):
    notes = reader.read(log(combined(3_000_000), combined(3_004_000, dt=0)), salvage=False)
    assert (
        "sensor_combined: an interval outside 0 to 1 s in 1 rows, first in row 1"
        in notes.report.notes
    )


@pytest.mark.parametrize("block_bytes", [1, 3_000, 2**24])
def test_blocks_join_to_what_is_read_at_once(log, block_bytes):
    messages = []
    for k in range(60):
        t_us = 2_000_000 + 4_000 * k
        messages += [
            combined(t_us, gyro_rad=[k, 0, 0]),
            fifo(SensorGyroFifo, t_us, [[k, j, 0] for j in range(8)], dt=500.0),
            VehicleImu(
                timestamp=t_us,
                timestamp_sample=t_us,
                delta_angle_dt=4000,
                delta_velocity_dt=4000,
            ),
        ]
    sync = record("S", b"\x2f\x73\x13\x20\x25\x0c\xbb\x12")
    path = log(*messages, between=sync)
    whole = reader.read(path, salvage=False)
    blocks = reader.UlogBlocks(path, salvage=False, block_bytes=block_bytes)
    parts = list(blocks)
    assert (len(parts) > 1) == (block_bytes < 2**24)
    for held in ("imu", "increments"):
        for name, series in getattr(whole, held).items():
            mine = [getattr(part, held)[name] for part in parts if name in getattr(part, held)]
            stamps = np.concatenate([each.t_ns for each in mine])
            if name == "sensor_gyro_fifo.0" and block_bytes < 2**24:
                # only the first packet of all has no packet before it to measure its spacing
                np.testing.assert_array_equal(stamps[8:], series.t_ns[8:])
            else:
                np.testing.assert_array_equal(stamps, series.t_ns)
    assert blocks.report.messages == whole.report.messages == 180
    assert blocks.report.coverage == whole.report.coverage
    notes = [note for note in whole.report.notes if "fifo" not in note]
    assert [note for note in blocks.report.notes if "fifo" not in note] == notes


def test_the_clock_is_known_from_the_first_block_on(log):
    path = log(*(combined(2_000_000 + 4_000 * k) for k in range(300)))
    data = path.read_bytes()
    first = data.index(b"F", 16)
    late = record("A", struct.pack("<BH", 0, 5) + b"sensor_gps") + record(
        "D", struct.pack("<HQQ", 5, 3_300_000, 1_700_000_000_000_000)
    )
    path.write_bytes(data[: first - 2] + record("F", GPS.encode()) + data[first - 2 :] + late)
    blocks = list(reader.UlogBlocks(path, salvage=False, block_bytes=1_000))
    assert len(blocks) > 10
    expected = (1_700_000_000_000_000 - 3_300_000) * 1000
    assert {block.clock_offset_ns for block in blocks} == {expected}


def test_a_file_of_another_format_is_one_block(recording, tmp_path):
    path = tmp_path / "x.npz"
    files.write(path, recording)
    with files.open_blocks(path) as blocks:
        assert [part.imu.keys() for part in blocks] == [recording.imu.keys()]
        assert blocks.report.lossless
    assert isinstance(blocks, files.block_reader.WholeFile)


def test_damage_in_a_later_block_is_raised_or_counted(log):
    path = log(*(combined(2_000_000 + 4_000 * k) for k in range(300)))
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    with files.open_blocks(path) as blocks, pytest.raises(FormatError, match="ends inside"):
        list(blocks)
    with files.open_blocks(path, on_error="salvage") as blocks:
        assert sum(len(block.imu["sensor_combined"]) for block in blocks) == 299
        assert blocks.report.lost_bytes == 53 - 7


def test_a_recording_of_a_log_has_the_log_and_is_compared_without_it(log):
    path = log(VehicleAttitude(timestamp=2_000_000, q=[1, 0, 0, 0]))
    first, second = reader.read(path, salvage=False), reader.read(path, salvage=True)
    assert first.log.topics.keys() == {("vehicle_attitude", 0)}
    assert first.log is not second.log
    assert first == second
