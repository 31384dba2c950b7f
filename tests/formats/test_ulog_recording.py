"""Recordings written as ULog, read back by pyulog and by our reader."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pyulog import ULog
from scipy.spatial.transform import Rotation

import strapdown.formats as files
from strapdown.errors import ValueRangeError
from strapdown.formats import LoggedRows, Recording, UlogWriter, block_writer
from strapdown.formats.px4.log import load
from strapdown.messages.conversion import (
    vehicle_attitude_from_trajectory,
    vehicle_imu_from_increments,
)
from strapdown.messages.px4 import SensorCombined, VehicleAttitude, VehicleImu, VehicleOdometry
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory

ROWS = 40
T_NS = 10**9 + np.arange(ROWS) * 5_000_000
PX4 = {"body": "FRD", "world": "NED"}


def vectors(seed, width=3):
    """Return numbers that float32 holds exactly."""
    numbers = np.random.default_rng(seed).standard_normal((ROWS, width))
    return numbers.astype(np.float32).astype(np.float64)


def quaternions(seed):
    q = vectors(seed, 4)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q.astype(np.float32).astype(np.float64)


def increments(seed=0, **changes):
    dt_ns = np.full(ROWS, 5_000_000)
    series = Increments(
        T_NS,
        vectors(seed) / 128,
        vectors(seed + 1),
        dt_ns,
        dt_ns - 1_000_000,
        gyro_clipping=np.arange(ROWS, dtype=np.uint8) % 8,
        accel_calibration_count=np.full(ROWS, 2, np.uint8),
        body="FRD",
        sensor=SensorIdentity("", 1310988, 1310996),
    )
    return series.replace(**changes)


def imu(**changes):
    series = ImuSeries(
        T_NS,
        vectors(3),
        vectors(4),
        gyro_clipping=np.arange(ROWS, dtype=np.uint8) % 8,
        sensor=SensorIdentity("", 11, 12),
        **PX4,
    )
    return series.replace(**changes)


def written(path, recording):
    report = files.write(path, recording)
    back = files.open(path)
    assert back.report.messages == report.messages
    assert back.report.lossless
    return report, back


def test_increments_and_estimates_of_px4_read_back_equal(tmp_path):
    whole = Recording(
        increments={"vehicle_imu.0": increments(), "vehicle_imu.2": increments(5)},
        trajectories={
            "vehicle_attitude": Trajectory(T_NS, quaternions(1), name="vehicle_attitude", **PX4),
            "vehicle_attitude_groundtruth": Trajectory(
                T_NS, quaternions(2), name="vehicle_attitude_groundtruth", **PX4
            ),
            "vehicle_odometry": Trajectory(
                T_NS,
                quaternions(3),
                position_world=vectors(6),
                velocity_world=vectors(7),
                name="vehicle_odometry",
                **PX4,
            ),
        },
    )
    report, back = written(tmp_path / "a.ulg", whole)
    assert (report.lost, report.notes) == ((), ())
    assert back.increments == whole.increments
    assert back.trajectories == whole.trajectories


def test_samples_become_a_gyro_and_an_accelerometer_of_one_sample_a_message(tmp_path):
    report, back = written(tmp_path / "a.ulg", Recording(imu={"imu/data": imu()}))
    assert report.lost == ()
    assert report.notes == ("imu/data: written as sensor_gyro.0 and sensor_accel.0",)
    gyro = ULog(str(tmp_path / "a.ulg")).get_dataset("sensor_gyro").data
    assert gyro["timestamp"].tolist() == (T_NS // 1000).tolist()
    assert (set(gyro["samples"]), set(gyro["device_id"])) == ({1}, {12})
    assert np.isnan(gyro["temperature"]).all()
    for axis, name in enumerate("xyz"):
        np.testing.assert_array_equal(gyro[name], imu().angular_velocity[:, axis])
        bit = imu().gyro_clipping >> axis & 1
        np.testing.assert_array_equal(gyro[f"clip_counter[{axis}]"], bit)
    series = back.imu["sensor_gyro.0"]
    np.testing.assert_array_equal(series.angular_velocity, imu().angular_velocity)
    np.testing.assert_array_equal(series.gyro_clipping, imu().gyro_clipping)
    np.testing.assert_array_equal(back.imu["sensor_accel.0"].specific_force, imu().specific_force)


def test_a_sensor_that_measured_one_thing_keeps_its_name_and_has_no_other_topic(tmp_path):
    gyro = imu(specific_force=np.full((ROWS, 3), np.nan), sensor=SensorIdentity("", 0, 12))
    whole = Recording(imu={"other": imu(), "sensor_gyro.0": gyro})
    report, back = written(tmp_path / "a.ulg", whole)
    assert report.notes == ("other: written as sensor_gyro.1 and sensor_accel.1",)
    assert set(back.imu) == {"sensor_gyro.0", "sensor_gyro.1", "sensor_accel.1"}
    assert back.imu["sensor_gyro.0"] == gyro


def test_frames_become_those_of_px4(tmp_path):
    angles = np.linspace(0.0, 1.0, ROWS)
    q = Rotation.from_rotvec(np.outer(angles, [0, 0, 1])).as_quat()
    ros = imu(body="FLU", world="ENU", q_world_from_body=q)
    report, back = written(tmp_path / "a.ulg", Recording(imu={"imu/data": ros}))
    assert report.lost == ()
    flipped = back.imu["sensor_gyro.0"].angular_velocity * [1.0, -1.0, -1.0]
    np.testing.assert_array_equal(flipped, ros.angular_velocity)
    ned_from_enu = Rotation.from_matrix([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    flu_from_frd = Rotation.from_matrix(np.diag([1, -1, -1]))
    expected = ned_from_enu * Rotation.from_quat(q) * flu_from_frd
    got = Rotation.from_quat(back.trajectories["vehicle_attitude"].q_world_from_body)
    assert (expected.inv() * got).magnitude().max() < 1e-6


def test_a_truth_without_position_is_the_groundtruth_and_one_with_it_odometry(tmp_path):
    attitude = Trajectory(T_NS, quaternions(1), **PX4)
    pose = attitude.replace(position_world=vectors(2))
    whole = Recording(trajectories={"truth/attitude": attitude, "truth/pose": pose})
    report, back = written(tmp_path / "a.ulg", whole)
    assert report.notes == (
        "truth/attitude: written as vehicle_attitude_groundtruth.0",
        "truth/pose: written as vehicle_odometry.0",
    )
    read = back.trajectories["vehicle_odometry"]
    np.testing.assert_array_equal(read.position_world, pose.position_world)
    assert "vehicle_attitude_groundtruth" in back.trajectories


def test_rows_that_say_nothing_are_left_out(tmp_path):
    q, rates = quaternions(1), vectors(2)
    q[3], rates[5:7] = np.nan, np.nan
    whole = Recording(
        imu={"imu": imu(angular_velocity=rates)}, trajectories={"a": Trajectory(T_NS, q, **PX4)}
    )
    _, back = written(tmp_path / "a.ulg", whole)
    assert np.array_equal(back.imu["sensor_gyro.0"].t_ns, np.delete(T_NS, [5, 6]))
    assert np.array_equal(back.trajectories["vehicle_attitude"].t_ns, np.delete(T_NS, 3))
    assert len(back.imu["sensor_accel.0"]) == ROWS


@pytest.mark.parametrize(
    ("whole", "lost"),
    [
        (Recording(imu={"a": imu(magnetic_field=vectors(1))}), "a: magnetic_field"),
        (Recording(imu={"a": imu(t_ns=T_NS + 1)}), "a: t_ns below one microsecond"),
        (Recording(increments={"a": increments(t_ns=T_NS + 1)}), "a: t_ns below one microsecond"),
        (
            Recording(
                trajectories={"a": Trajectory(T_NS, quaternions(1), moving=np.ones(ROWS, bool))}
            ),
            "a: moving",
        ),
    ],
)
def test_samples_that_the_messages_cannot_hold_are_lost(tmp_path, whole, lost):
    report = files.write(tmp_path / "a.ulg", whole)
    assert report.lost == (lost,)
    assert not any("left out" in note for note in report.notes)


@pytest.mark.parametrize(
    ("whole", "what"),
    [
        (
            Recording(imu={"a": imu(specific_force_covariance=np.ones((ROWS, 3, 3)))}),
            "specific_force_covariance",
        ),
        (Recording(imu={"a": imu(sensor=SensorIdentity("left"))}), "sensor.name"),
        (
            Recording(trajectories={"a": Trajectory(T_NS, quaternions(1), name="b")}),
            "trajectory.name",
        ),
        (
            Recording(
                imu={name: imu(sensor=SensorIdentity("left")) for name in "ab"},
                increments={"c": increments(sensor=SensorIdentity("right"))},
                trajectories={"d": Trajectory(T_NS, quaternions(1), name="b")},
            ),
            "sensor.name, trajectory.name",
        ),
    ],
)
def test_what_is_said_about_samples_is_no_loss_but_noted_once(tmp_path, whole, what):
    report = files.write(tmp_path / "a.ulg", whole)
    assert report.lost == ()
    assert [note for note in report.notes if "left out" in note] == [
        f"left out of the file: {what}"
    ]


@pytest.mark.parametrize(
    "name", ["sensor_combined", "sensor_combined.1", "/fmu/out/sensor_combined"]
)
def test_means_do_not_become_samples_of_a_gyroscope(tmp_path, name):
    whole = Recording(imu={name: imu(), "sensor_gyro.0": imu()})
    report, back = written(tmp_path / "a.ulg", whole)
    assert report.lost == (f"{name}: {ROWS} rows, which are means over intervals",)
    assert set(back.imu) == {"sensor_gyro.0", "sensor_accel.0"}


def test_rows_that_came_with_their_intervals_are_means_by_any_name(tmp_path):
    means = {"imu": np.zeros(ROWS, SensorCombined.dtype)}
    report, back = written(tmp_path / "a.ulg", Recording(imu={"imu": imu()}, sensor_combined=means))
    assert report.lost == (f"imu: {ROWS} rows, which are means over intervals",)
    assert not back.imu


# Content of a log other than series

STATUS = np.dtype([("timestamp", "<u8"), ("gyro_rate_hz", "<f4"), ("clipping", "<u4", 3)])
BOOT_US = 1_600_000_000_000_000


@pytest.fixture
def source(tmp_path):
    """A log of 200 ms with records other than rows before, between and after these."""
    path = tmp_path / "source.ulg"
    status = np.zeros(5, STATUS)
    status["timestamp"] = 990_000 + np.arange(5) * 50_000
    status["gyro_rate_hz"], status["clipping"] = 800.0, np.arange(15).reshape(5, 3)
    others = np.zeros(3, [("timestamp", "<u8"), ("voltage", "<f4")])
    others["timestamp"] = 950_000, 1_050_000, 1_300_000
    with UlogWriter(path, start_us=900_000, reorder_us=10**6) as log:
        log.add_info("sys_name", "PX4")
        log.add_info("ver_sw_release", 0x010D00FF)
        log.add_info("time_ref_utc", -3600)
        log.add_info("boot_time_utc_us", BOOT_US)
        log.add_info("sys_mcu", b"\x01\x02")
        log.add_multi_info("boot_console_output", "one\n")
        log.add_multi_info("boot_console_output", "two\n")
        log.add_parameter("CAL_GYRO0_ID", 12)
        log.add_parameter("CAL_GYRO0_XOFF", 0.25)
        log.add_default_parameter("CAL_GYRO0_XOFF", 0.5)
        log.add_default_parameter("IMU_INTEG_RATE", 400, system=False, setup=True)
        for topic, records in (("battery", others), ("vehicle_imu_status", status)):
            log.declare(records.dtype, topic)
        log.declare(VehicleImu)
        made = vehicle_imu_from_increments(increments())
        log.write_many(
            [
                LoggedRows("battery", 0, others),
                LoggedRows("vehicle_imu_status", 0, status),
                LoggedRows(VehicleImu, 0, made),
            ]
        )
        log.log(6, 960_000, "before", tag=7)
        log.log(4, 1_100_000, "within")
        log.log(3, 1_290_000, "behind")
        log.add_parameter("CAL_GYRO0_XOFF", 0.125, t_us=955_000)
        log.add_parameter("CAL_GYRO0_XOFF", 0.375, t_us=1_100_000)
        log.add_parameter("CAL_GYRO0_XOFF", 0.75, t_us=1_295_000)
        log.dropout(20, t_us=1_150_000)
    return path


def test_a_log_keeps_what_it_says_beside_its_series(source, tmp_path):
    report = files.write(tmp_path / "a.ulg", files.open(source))
    before, after = ULog(str(source)), ULog(str(tmp_path / "a.ulg"))
    assert after.msg_info_dict == before.msg_info_dict
    assert after.msg_info_multiple_dict == before.msg_info_multiple_dict
    assert after.initial_parameters == before.initial_parameters
    for whose in (0, 1):
        assert after.get_default_parameters(whose) == before.get_default_parameters(whose)
    values = [(name, value) for _, name, value in after.changed_parameters]
    assert values == [(name, value) for _, name, value in before.changed_parameters]
    stamps = [t_us for t_us, _, _ in after.changed_parameters]
    assert stamps == [1_000_000, 1_100_000, 1_195_000]  # never before or after all rows
    texts = [(each.timestamp, each.log_level, each.message) for each in after.logged_messages]
    assert texts == [
        (each.timestamp, each.log_level, each.message) for each in before.logged_messages
    ]
    tags = [
        (t_us, each.tag) for t_us, group in after.logged_messages_tagged.items() for each in group
    ]
    assert [tag for tag, _ in tags] == [7]
    assert [each.duration for each in after.dropouts] == [20]
    rows, copied = (log.get_dataset("vehicle_imu_status").data for log in (before, after))
    for name, column in rows.items():
        np.testing.assert_array_equal(copied[name], column)
    assert report.lost == ("topics that are not carried over: battery",)


def test_blocks_have_what_the_log_says_in_its_place(source, tmp_path):
    log = load(source)
    with block_writer(tmp_path / "a.ulg") as writer:
        writer.describe(log, shift_us=1_000_000)
        for start in range(0, ROWS, 8):
            part = increments(t_ns=T_NS + 10**9)[start : start + 8]
            writer.write(Recording(increments={"vehicle_imu.0": part}))
    back = load(tmp_path / "a.ulg")
    assert [change.t_us for change in back.parameter_changes] == [2_000_000, 2_100_000, 2_195_000]
    assert [text.t_us for text in back.texts] == [1_960_000, 2_100_000, 2_290_000]
    assert [dropout.t_us for dropout in back.dropouts] == [2_150_000]
    stamps = back.rows("vehicle_imu_status")["timestamp"]
    assert stamps.tolist() == (1_990_000 + np.arange(5) * 50_000).tolist()
    assert "boot_time_utc_us" not in back.info  # the new stamps have another zero
    assert back.info["sys_name"] == "PX4"
    assert writer.lost == ["topics that are not carried over: battery"]
    assert writer.messages == ROWS + 5


def test_of_one_topic_that_was_asked_for_the_others_are_no_loss(source, tmp_path):
    for topic, status in (("vehicle_imu.0", [0]), ("vehicle_imu.1", [])):
        with block_writer(tmp_path / "a.ulg", force=True) as writer:
            writer.describe(load(source), topic=topic)
            writer.write(Recording(increments={"vehicle_imu.0": increments()}))
        assert writer.lost == []
        assert load(tmp_path / "a.ulg").instances("vehicle_imu_status") == status


def test_what_a_ulog_cannot_hold_as_it_is_is_named(source, tmp_path):
    log = replace(load(source), info={"arr": (1, 2), "ver_hw": "V5"}, parameters={"A" * 300: 1})
    with block_writer(tmp_path / "a.ulg") as writer:
        writer.describe(log, topic="vehicle_imu.0")
        writer.write(Recording(increments={"vehicle_imu.0": increments()}))
    assert writer.lost == [f"not carried over, unfit for a ULog: info arr, parameter {'A' * 300}"]
    assert ULog(str(tmp_path / "a.ulg")).msg_info_dict == {"ver_hw": "V5"}


def test_blocks_read_back_as_the_whole_though_a_topic_comes_late(tmp_path):
    attitude = Trajectory(T_NS, quaternions(1), name="vehicle_attitude", **PX4)
    with block_writer(tmp_path / "a.ulg") as writer:
        for start in range(0, ROWS, 8):
            rows = slice(start, start + 8)
            late = {"vehicle_attitude": attitude[rows]} if start >= 16 else {}
            block = {"vehicle_imu.0": increments()[rows]}
            writer.write(Recording(increments=block, trajectories=late))
    assert writer.lost == []
    back = files.open(tmp_path / "a.ulg")
    assert back.increments["vehicle_imu.0"] == increments()
    assert back.trajectories["vehicle_attitude"] == attitude[16:]
    assert writer.messages == ROWS + 24


def test_a_block_that_goes_back_in_time_is_counted_as_lost(tmp_path):
    with block_writer(tmp_path / "a.ulg") as writer:
        for start_ns in (0, 10**10, 10**9):
            block = increments(t_ns=T_NS + start_ns)
            writer.write(Recording(increments={"vehicle_imu.0": block}))
    assert writer.lost == [f"{ROWS} rows whose stamps go back"]
    assert len(files.open(tmp_path / "a.ulg").increments["vehicle_imu.0"]) == 2 * ROWS


def test_a_negative_stamp_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(ValueRangeError, match="t_ns"):
        files.write(tmp_path / "a.ulg", increments(t_ns=T_NS - 2 * 10**9))
    assert not list(tmp_path.iterdir())


def test_a_px4_log_survives_reading_and_writing(tmp_path, data_dir):
    first = files.open(data_dir / "px4" / "ulog" / "sample_log_small.ulg")
    files.write(tmp_path / "a.ulg", first)
    back = files.open(tmp_path / "a.ulg")
    for topic, series in first.increments.items():
        assert back.increments[topic] == series
    for topic in ("sensor_gyro.0", "sensor_accel.2"):
        np.testing.assert_array_equal(back.imu[topic].t_ns, first.imu[topic].t_ns)
        np.testing.assert_array_equal(
            back.imu[topic].angular_velocity, first.imu[topic].angular_velocity
        )
    assert back.trajectories["vehicle_attitude"] == first.trajectories["vehicle_attitude"]


# Rows of a log that a series does not hold whole


@pytest.fixture
def estimates(tmp_path):
    """A log of attitudes, odometry and increments with all that a series of them leaves out."""
    path = tmp_path / "estimates.ulg"
    attitude = vehicle_attitude_from_trajectory(Trajectory(T_NS, quaternions(1), **PX4))
    attitude["timestamp"] += np.uint64(700)
    attitude["quat_reset_counter"][ROWS // 2 :] = 3
    attitude["delta_q_reset"][ROWS // 2 :] = [0.6, 0.0, 0.0, 0.8]
    attitude["timestamp_sample"][5] = attitude["timestamp_sample"][4]  # two of one sample
    odometry = np.zeros(ROWS, VehicleOdometry.dtype)
    odometry["timestamp"], odometry["timestamp_sample"] = attitude["timestamp"], T_NS // 1000
    odometry["q"] = attitude["q"]
    for name in ("position", "velocity", "angular_velocity", "position_variance"):
        odometry[name] = np.arange(ROWS * 3).reshape(ROWS, 3)
    odometry["pose_frame"] = odometry["velocity_frame"] = VehicleOdometry.POSE_FRAME_NED
    odometry["reset_counter"], odometry["quality"] = 2, -7
    imu = vehicle_imu_from_increments(increments())
    imu["timestamp"] += np.uint64(250)
    with UlogWriter(path) as log:
        log.write_many(
            [
                LoggedRows(VehicleAttitude, 0, attitude),
                LoggedRows(VehicleAttitude, 1, attitude[::2]),
                LoggedRows(VehicleOdometry, 0, odometry),
                LoggedRows(VehicleImu, 0, imu),
            ]
        )
    return path


@pytest.mark.parametrize("shift_us", [0, 1_600_000_000_000_000])
def test_rows_of_a_log_are_copied_with_resets_and_times_of_publication(
    estimates, tmp_path, shift_us
):
    whole = files.open(estimates)
    with block_writer(tmp_path / "a.ulg") as writer:
        writer.describe(load(estimates), shift_us=shift_us)
        for rows in (slice(0, 7), slice(7, None)):
            writer.write(
                Recording(
                    trajectories={
                        name: each[rows].replace(t_ns=each.t_ns[rows] + shift_us * 1000)
                        for name, each in whole.trajectories.items()
                    },
                    increments={
                        name: each[rows].replace(t_ns=each.t_ns[rows] + shift_us * 1000)
                        for name, each in whole.increments.items()
                    },
                )
            )
    assert writer.lost == []
    before, after = ULog(str(estimates)), ULog(str(tmp_path / "a.ulg"))
    assert len(after.data_list) == 4
    for data in before.data_list:
        copy = after.get_dataset(data.name, data.multi_id).data
        for name, column in data.data.items():
            moved = np.uint64(shift_us) if name.startswith("timestamp") else 0
            np.testing.assert_array_equal(copy[name], column + moved, name)


def test_of_changed_rows_the_resets_are_named_as_lost(estimates, tmp_path):
    whole = files.open(estimates)
    turned = whole.trajectories["vehicle_attitude"]
    q = np.array(turned.q_world_from_body)
    q[-4:] = [0.0, 0.0, 0.0, 1.0]
    changed = replace(whole, trajectories={"vehicle_attitude": turned.replace(q_world_from_body=q)})
    report = files.write(tmp_path / "a.ulg", changed)
    fields = ("timestamp", "delta_q_reset", "quat_reset_counter")
    assert report.lost == tuple(f"vehicle_attitude: {name} of 4 rows" for name in fields)
    kept = ULog(str(tmp_path / "a.ulg")).get_dataset("vehicle_attitude").data
    assert (
        kept["quat_reset_counter"].tolist() == [0] * (ROWS // 2) + [3] * (ROWS // 2 - 4) + [0] * 4
    )
