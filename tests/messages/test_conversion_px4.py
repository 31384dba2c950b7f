"""PX4's rates, estimates and increments: against logs, scipy, and themselves there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyulog import ULog
from scipy.spatial.transform import Rotation, Slerp

from strapdown.errors import ConversionLossError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.messages import Imu, conversion, losses
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    SensorSelection,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleImuStatus,
    VehicleOdometry,
)
from strapdown.series import ImuSeries, Increments, Trajectory

INVALID = SensorCombined.RELATIVE_TIMESTAMP_INVALID
seeds = st.integers(0, 2**32 - 1)
FRAMES = {"world": "NED", "body": "FRD"}


def vehicle_imu(rng, count, **fields):
    """Contiguous messages of ordinary size."""
    records = np.zeros(count, VehicleImu.dtype)
    dt = rng.integers(900, 20_000, count)
    records["timestamp"] = records["timestamp_sample"] = 10**6 + np.cumsum(dt)
    records["delta_angle_dt"] = dt
    records["delta_velocity_dt"] = rng.integers(900, 20_000, count)
    records["delta_angle"] = rng.normal(scale=0.01, size=(count, 3))
    records["delta_velocity"] = rng.normal(scale=0.1, size=(count, 3))
    for name in VehicleImu.dtype.names[-4:]:
        records[name] = rng.integers(0, 8, count)
    for name, value in fields.items():
        records[name] = value
    return records


def xyzw(messages):
    return np.roll(messages["q"], -1, axis=1)


@pytest.mark.parametrize(
    ("stem", "matching"),
    [
        ("sample_log_small", 12),
        ("sample_logging_tagged_and_default_params", 17),
        ("sample_px4_events", 62),
    ],
)
def test_rates_of_logged_increments_are_the_logged_rates_bit_for_bit(data_dir, stem, matching):
    path = data_dir / "px4" / "ulog" / f"{stem}.ulg"
    log = ULog(str(path), ["vehicle_imu", "sensor_combined"])
    imu, combined = (log.get_dataset(name).data for name in ("vehicle_imu", "sensor_combined"))
    _, theirs, ours = np.intersect1d(
        combined["timestamp"], imu["timestamp_sample"], return_indices=True
    )
    records = np.zeros(len(ours), VehicleImu.dtype)
    for name in ("timestamp_sample", "delta_angle_dt", "delta_velocity_dt"):
        records[name] = imu[name][ours]
    for axis in range(3):
        records["delta_angle"][:, axis] = imu[f"delta_angle[{axis}]"][ours]
        records["delta_velocity"][:, axis] = imu[f"delta_velocity[{axis}]"][ours]
    made = conversion.sensor_combined_from_vehicle_imu(records)
    assert len(made) == matching
    for name in ("timestamp", "gyro_integral_dt", "accelerometer_integral_dt"):
        np.testing.assert_array_equal(made[name], combined[name][theirs])
    for name in ("gyro_rad", "accelerometer_m_s2"):
        logged = np.stack([combined[f"{name}[{axis}]"][theirs] for axis in range(3)], axis=1)
        assert made[name].tobytes() == logged.tobytes()


@given(seed=seeds, count=st.integers(0, 20))
def test_increments_survive_the_way_through_sensor_combined(seed, count):
    records = vehicle_imu(np.random.default_rng(seed), count)
    combined = conversion.sensor_combined_from_vehicle_imu(records, strict=True)
    back = conversion.vehicle_imu_from_sensor_combined(combined, strict=True)
    for name in VehicleImu.dtype.names:
        if name in {"delta_angle", "delta_velocity"}:
            np.testing.assert_array_max_ulp(back[name], records[name], maxulp=2)
        else:
            np.testing.assert_array_equal(back[name], records[name])


def test_rates_are_multiplied_by_the_rounded_reciprocal_of_the_interval():
    records = np.zeros(1, VehicleImu.dtype)
    records["delta_angle"], records["delta_angle_dt"] = 0.0123, 4099
    rate = conversion.sensor_combined_from_vehicle_imu(records)["gyro_rad"][0, 0]
    delta, reciprocal = np.float32(0.0123), np.float32(np.float32(1e6) / np.float32(4099))
    assert rate == np.float32(np.float64(delta) * np.float64(reciprocal))


def test_an_interval_of_zero_has_no_rate_and_no_accelerometer():
    records = vehicle_imu(np.random.default_rng(0), 2, delta_velocity_dt=[0, 5000])
    combined = conversion.sensor_combined_from_vehicle_imu(records)
    assert combined["accelerometer_timestamp_relative"].tolist() == [INVALID, 0]
    assert np.isnan(combined["accelerometer_m_s2"]).all(axis=1).tolist() == [True, False]
    back = conversion.vehicle_imu_from_sensor_combined(combined)
    assert back["delta_velocity"][0].tolist() == [0.0] * 3
    assert back["delta_velocity_dt"].tolist() == [0, 5000]
    rates = conversion.series_from_sensor_combined(combined)
    assert np.isnan(rates.specific_force).all(axis=1).tolist() == [True, False]


def test_device_ids_are_those_selected_at_the_time():
    combined = np.zeros(4, SensorCombined.dtype)
    combined["timestamp"] = 10, 20, 30, 40
    selection = np.zeros(2, SensorSelection.dtype)
    selection["timestamp"] = 40, 20  # in any order
    selection["accel_device_id"], selection["gyro_device_id"] = (7, 5), (8, 6)
    back = conversion.vehicle_imu_from_sensor_combined(combined, selection=selection)
    assert back["accel_device_id"].tolist() == [0, 5, 5, 7]
    assert back["gyro_device_id"].tolist() == [0, 6, 6, 8]
    for none in (None, selection[:0]):
        back = conversion.vehicle_imu_from_sensor_combined(combined, selection=none)
        assert not back["gyro_device_id"].any()


def test_a_series_of_mean_rates_is_stamped_at_the_middle():
    combined = np.zeros(2, SensorCombined.dtype)
    combined["timestamp"], combined["gyro_integral_dt"] = (1005, 1010), 5
    combined["gyro_rad"], combined["accelerometer_m_s2"] = 0.1, -9.8
    combined["gyro_clipping"], combined["accelerometer_clipping"] = 3, 4
    series = conversion.series_from_sensor_combined(combined)
    assert series.t_ns.tolist() == [1_002_500, 1_007_500]
    assert (series.angular_velocity == np.float32(0.1)).all()
    assert (series.specific_force == np.float32(-9.8)).all()
    assert (series.body, series.gyro_clipping[0], series.accel_clipping[0]) == ("FRD", 3, 4)


@given(seed=seeds)
def test_rates_of_increments_are_the_quotients_at_the_middle_or_the_end(seed):
    rng = np.random.default_rng(seed)
    records = vehicle_imu(rng, 5)
    increments = conversion.increments_from_vehicle_imu(records)
    delay = rng.integers(0, 10**6)
    middle = conversion.series_from_increments(increments)
    end = conversion.series_from_increments(increments, stamp="end", fifo_delay_ns=int(delay))
    sampled, dt = (
        records[name].astype(np.int64) for name in ("timestamp_sample", "delta_angle_dt")
    )
    assert middle.t_ns.tolist() == (1000 * sampled - 500 * dt).tolist()
    assert end.t_ns.tolist() == (1000 * sampled - delay).tolist()
    seconds = records["delta_velocity_dt"][:, None] / 1e6
    expected = records["delta_velocity"].astype(np.float64) / seconds
    np.testing.assert_allclose(middle.specific_force, expected, rtol=1e-15)
    again = conversion.increments_from_mean_rates(middle, increments.delta_angle_dt_ns)
    back = conversion.vehicle_imu_from_increments(again)
    assert back["timestamp_sample"].tolist() == records["timestamp_sample"].tolist()
    np.testing.assert_array_max_ulp(back["delta_angle"], records["delta_angle"], maxulp=2)


def test_noise_densities_become_covariances_over_each_interval():
    increments = Increments(
        [5_000_000] * 3, np.zeros((3, 3)), np.zeros((3, 3)), 5_000_000, [0, 4, 9]
    )
    series = conversion.series_from_increments(increments, gyro_noise_density=0.002)
    assert series.specific_force_covariance is None
    expected = 0.002**2 / 0.005 * np.eye(3)
    np.testing.assert_allclose(series.angular_velocity_covariance, [expected] * 3, rtol=1e-14)
    series = conversion.series_from_increments(increments, accel_noise_density=3.0)
    assert series.angular_velocity_covariance is None
    diagonal = np.diagonal(series.specific_force_covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(diagonal.T, [[0.0, 9e9 / 4.0, 1e9]] * 3, rtol=1e-14)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueRangeError, match="noise density"):
            conversion.series_from_increments(increments, gyro_noise_density=bad)
    with pytest.raises(UnknownNameError, match="middle"):
        conversion.series_from_increments(increments, stamp="midle")


def test_rates_near_the_full_scale_are_marked_as_clipped():
    rate = [[9.98, -9.99, 10.0], [0.0, np.nan, 11.0]]
    force = [[-159.9, 0.0, 159.8], [160.0, 0.0, 0.0]]
    series = ImuSeries([5000, 6000], rate, force, gyro_clipping=[1, 0])
    made = conversion.increments_from_mean_rates(series, 1000, gyro_range=10.0, accel_range=160.0)
    assert made.gyro_clipping.tolist() == [7, 4]
    assert made.accel_clipping.tolist() == [1, 1]
    assert conversion.increments_from_mean_rates(series, 1000).gyro_clipping.tolist() == [1, 0]


def test_rate_messages_become_those_of_a_simulated_sensor():
    rate = Imu(0.0, 0.0, 0.0, 0.0, 20.0, 0.1)
    rate.timestamp_ns = 2_500_000
    ranges = {"gyro_range": 20.0, "accel_range": 160.0}
    made = VehicleImu.from_record(conversion.vehicle_imu_from_imu(rate, 5_000_000, **ranges)[0])
    assert made.timestamp == made.timestamp_sample == 5000
    assert made.accel_device_id == made.gyro_device_id == 0x14010C
    assert made.delta_angle.tolist() == pytest.approx([0.0, -0.1, -0.0005])
    assert (made.delta_angle_clipping, made.delta_velocity_clipping) == (2, 0)
    assert (made.accel_calibration_count, made.gyro_calibration_count) == (0, 0)


def test_a_fifo_delays_the_stamp_by_half_the_time_between_messages():
    status = np.zeros(5, VehicleImuStatus.dtype)
    status["gyro_rate_hz"] = 800.0, 800.0, 800.0, 0.0, np.nan
    status["gyro_raw_rate_hz"] = 8000.0, 1200.0, np.nan, 8000.0, 8000.0
    assert conversion.fifo_delays_ns(status).tolist() == [625_000, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "convert", "known", "unknown"),
    [
        (SensorGyro, "sensor_gyro", "angular_velocity", "specific_force"),
        (SensorAccel, "sensor_accel", "specific_force", "angular_velocity"),
        (VehicleAngularVelocity, "vehicle_angular_velocity", "angular_velocity", "specific_force"),
        (VehicleAcceleration, "vehicle_acceleration", "specific_force", "angular_velocity"),
    ],
)
def test_messages_of_one_sensor_leave_the_other_unknown(kind, convert, known, unknown):
    records = np.zeros(3, kind.dtype)
    records["timestamp"], records["timestamp_sample"] = 9, (1, 2, 3)
    values = np.arange(9, dtype=np.float32).reshape(3, 3) / 8
    if "xyz" in kind.dtype.names:
        records["xyz"] = values
    else:
        records["x"], records["y"], records["z"] = values.T
        records["clip_counter"] = [(0, 0, 0), (1, 0, 200), (0, 3, 0)]
        records["device_id"] = 0x14010C
    series = getattr(conversion, f"series_from_{convert}")(records)
    assert series.t_ns.tolist() == [1000, 2000, 3000]
    assert series.body == "FRD"
    np.testing.assert_array_equal(getattr(series, known), values)
    assert np.isnan(getattr(series, unknown)).all()
    if "xyz" not in kind.dtype.names:
        sensor = convert.removeprefix("sensor_")
        assert getattr(series, f"{sensor}_clipping").tolist() == [0, 5, 2]
        assert getattr(series.sensor, f"{sensor}_device_id") == 0x14010C
    with pytest.raises(ShapeError, match=kind.__name__):
        getattr(conversion, f"series_from_{convert}")(np.zeros(1, SensorCombined.dtype))


@given(seed=seeds, count=st.integers(0, 6))
def test_attitudes_come_back_in_any_frames(seed, count):
    rng = np.random.default_rng(seed)
    records = np.zeros(count, VehicleAttitude.dtype)
    records["timestamp"] = records["timestamp_sample"] = np.arange(count) * 20_000
    records["q"] = Rotation.random(6, rng=rng).as_quat()[:count]
    records["delta_q_reset"][:, 0] = 1.0
    trajectory = conversion.trajectory_from_vehicle_attitude(records, name="truth", strict=True)
    assert (trajectory.world, trajectory.body, trajectory.name) == ("NED", "FRD", "truth")
    np.testing.assert_array_equal(trajectory.q_world_from_body, xyzw(records))
    back = conversion.vehicle_attitude_from_trajectory(trajectory)
    assert back.tobytes() == records.tobytes()
    other = trajectory.in_frames(world="ENU", body="FLU")
    turned = conversion.vehicle_attitude_from_trajectory(other)
    np.testing.assert_allclose(turned["q"], records["q"], atol=1e-7)


def odometry(count=1, **fields):
    records = np.zeros(count, VehicleOdometry.dtype)
    for field in VehicleOdometry.fields:
        if field.times:
            records[field.name] = np.nan
    for name, value in {"pose_frame": 1, "q": [1.0, 0.0, 0.0, 0.0], **fields}.items():
        records[name] = value
    return records


@given(seed=seeds)
def test_a_velocity_in_body_axes_is_rotated_into_the_world(seed):
    turn = Rotation.random(4, rng=np.random.default_rng(seed))
    q = np.roll(turn.as_quat(), 1, axis=1)
    velocity = np.array([3.0, -1.0, 0.5])
    records = odometry(4, q=q, velocity=velocity, velocity_frame=[0, 1, 2, 3])
    found = conversion.trajectory_from_vehicle_odometry(records).velocity_world
    assert np.isnan(found[[0, 2]]).all()
    assert found[1].tolist() == velocity.tolist()
    np.testing.assert_allclose(found[3], turn[3].apply(velocity), atol=1e-6)


def test_what_px4_does_not_know_is_unknown():
    trajectory = conversion.trajectory_from_vehicle_odometry(
        odometry(
            3, position=[[1.0, 2.0, 3.0], [np.nan, 2.0, 3.0], [4.0, 5.0, 6.0]], pose_frame=[1, 1, 0]
        )
    )
    assert np.isnan(trajectory.position_world).all(axis=1).tolist() == [False, True, True]
    assert np.isnan(trajectory.q_world_from_body).all(axis=1).tolist() == [False, False, True]
    assert trajectory.velocity_world is None
    assert conversion.trajectory_from_vehicle_odometry(odometry(2)).position_world is None
    assert len(conversion.trajectory_from_vehicle_odometry(odometry(0))) == 0


def test_poses_in_two_frames_are_not_mixed():
    records = odometry(4, position=[1.0, 2.0, 3.0], pose_frame=[0, 2, 1, 2])
    trajectory = conversion.trajectory_from_vehicle_odometry(records)
    assert np.isnan(trajectory.position_world).all(axis=1).tolist() == [True, False, True, False]
    assert "pose_frame" in losses(records, Trajectory)


def test_a_local_frame_reads_forward_left_up():
    records = odometry(q=[0.5, 0.1, 0.7, -0.5], position=[1.0, 2.0, 3.0], pose_frame=2)
    local = conversion.trajectory_from_vehicle_odometry(records).in_frames(world="NWU", body="FLU")
    x, y, z, w = local.q_world_from_body[0]
    assert [w, x, y, z] == pytest.approx([0.5, 0.1, -0.7, 0.5])
    assert local.position_world[0].tolist() == [1.0, -2.0, -3.0]


@given(seed=seeds)
def test_a_trajectory_comes_back_from_odometry(seed):
    rng = np.random.default_rng(seed)
    q = Rotation.random(3, rng=rng).as_quat().astype(np.float32)
    position, velocity = rng.normal(size=(2, 3, 3)).astype(np.float32)
    trajectory = Trajectory(
        np.arange(3) * 1000, q, position_world=position, velocity_world=velocity, **FRAMES
    )
    records = conversion.vehicle_odometry_from_trajectory(trajectory, strict=True)
    assert conversion.trajectory_from_vehicle_odometry(records, strict=True) == trajectory
    assert np.isnan(records["angular_velocity"]).all()
    attitude = trajectory.replace(position_world=None, velocity_world=None)
    records = conversion.vehicle_odometry_from_trajectory(attitude.in_frames(world="ENU"))
    assert not records["velocity_frame"].any()
    back = conversion.trajectory_from_vehicle_odometry(records)
    assert (back.position_world, back.velocity_world) == (None, None)
    np.testing.assert_allclose(back.q_world_from_body, q, atol=2e-7)


@given(seed=seeds)
def test_variances_about_body_axes_are_rotated_into_the_world(seed):
    rng = np.random.default_rng(seed)
    turn = Rotation.random(3, rng=rng)
    variance = rng.uniform(0.1, 2.0, (3, 3))
    records = odometry(3, q=np.roll(turn.as_quat(), 1, axis=1), orientation_variance=variance)
    records["orientation_variance"][1] = np.nan
    found = conversion.orientation_covariance_from_vehicle_odometry(records)
    for row in (0, 2):
        R = turn[row].as_matrix()
        np.testing.assert_allclose(found[row], R @ np.diag(variance[row]) @ R.T, atol=1e-6)
    assert not found[1].any()


def test_a_quarter_turn_swaps_the_variances_of_two_axes():
    half = np.sqrt(0.5)
    records = odometry(q=[half, 0.0, 0.0, half], orientation_variance=[1.0, 2.0, 3.0])
    found = conversion.orientation_covariance_from_vehicle_odometry(records)[0]
    np.testing.assert_allclose(found, np.diag([2.0, 1.0, 3.0]), atol=1e-6)


MS = 1_000_000


def attitudes(t_ms, rng=0):
    turn = Rotation.random(len(t_ms), rng=np.random.default_rng(rng))
    return Trajectory(np.array(t_ms, np.int64) * MS, turn.as_quat(), **FRAMES)


def imu(t_ms, **frames):
    t_ns = (np.array(t_ms) * MS).astype(np.int64)
    rest = np.zeros((len(t_ms), 3))
    return ImuSeries(t_ns, rest, rest, **frames)


def test_a_joined_attitude_is_the_slerp_of_its_neighbours_in_the_frames_of_the_series():
    attitude = attitudes(range(0, 200, 20))
    series, joined = conversion.join_attitude(imu(np.arange(0.0, 180.5, 2.5)), attitude)
    assert joined.all()
    enu_flu = attitude.in_frames(world="ENU", body="FLU")
    slerp = Slerp(attitude.t_ns / MS, Rotation.from_quat(enu_flu.q_world_from_body))
    error = slerp(series.t_ns / MS).inv() * Rotation.from_quat(series.q_world_from_body)
    assert error.magnitude().max() < 1e-7
    assert (series.world, series.body) == ("ENU", "FLU")


def test_an_attitude_is_joined_only_within_two_periods_on_both_sides():
    attitude = attitudes([0, 20, 40, 60, 140, 160, 180, 200])  # a gap of four periods
    times = [-1.0, 0.0, 59.0, 60.0, 99.0, 100.0, 101.0, 140.0, 200.0, 201.0]
    series, joined = conversion.join_attitude(imu(times), attitude)
    expected = [False, True, True, True, False, True, False, True, True, False]
    assert joined.tolist() == expected
    assert np.isnan(series.q_world_from_body).any(axis=1).tolist() == [not one for one in expected]


def test_no_attitude_is_joined_across_a_reset():
    attitude, counts = attitudes([0, 20, 40, 60]), np.array([7, 7, 8, 8])
    _, joined = conversion.join_attitude(imu([10.0, 20.0, 30.0, 40.0, 50.0]), attitude, counts)
    assert joined.tolist() == [True, True, False, True, True]
    assert conversion.join_attitude(imu([30.0]), attitude)[1].all()


@pytest.mark.parametrize("unknown", [np.nan, 0.0])
def test_unknown_attitudes_are_passed_over_and_order_does_not_matter(unknown):
    attitude = attitudes([0, 20, 40, 60, 80])
    q = attitude.q_world_from_body.copy()
    q[2] = unknown
    counts = np.array([0, 0, 9, 0, 0])
    holed = attitude.replace(q_world_from_body=q)
    series, joined = conversion.join_attitude(imu([40.0, 41.0]), holed, counts)
    assert joined.all()  # 20 and 60 ms are within two periods of both
    order = np.array([3, 0, 4, 1, 2])
    shuffled, _ = conversion.join_attitude(imu([40.0, 41.0]), holed[order], counts[order])
    assert shuffled == series


def test_at_equal_stamps_the_last_attitude_counts():
    attitude = attitudes([0, 20, 20, 40])
    series, joined = conversion.join_attitude(imu([20.0], **FRAMES), attitude)
    assert joined.all()
    found = Rotation.from_quat(series.q_world_from_body[0])
    assert (found.inv() * Rotation.from_quat(attitude.q_world_from_body[2])).magnitude() < 1e-12


@pytest.mark.parametrize("t_ms", [[], [0], [0, 20]])
def test_without_an_attitude_there_is_none(t_ms):
    series, joined = conversion.join_attitude(imu([100.0, 110.0]), attitudes(t_ms))
    assert series.q_world_from_body is None
    assert joined.tolist() == [False, False]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            VehicleImu(timestamp=1, gyro_device_id=3),
            SensorCombined,
            {"timestamp", "gyro_device_id"},
        ),
        (
            SensorCombined(accelerometer_timestamp_relative=-4),
            VehicleImu,
            {"accelerometer_timestamp_relative"},
        ),
        (SensorCombined(accelerometer_timestamp_relative=INVALID), VehicleImu, set()),
        (
            SensorCombined(gyro_integral_dt=5, gyro_calibration_count=1),
            ImuSeries,
            {"gyro_integral_dt", "gyro_calibration_count"},
        ),
        (
            VehicleAttitude(timestamp=1, quat_reset_counter=1, delta_q_reset=[1, 0, 0, 0.1]),
            Trajectory,
            {"timestamp", "quat_reset_counter", "delta_q_reset"},
        ),
        (
            VehicleOdometry(pose_frame=2, velocity_frame=1, quality=1, reset_counter=1),
            Trajectory,
            {
                "pose_frame",
                "velocity_frame",
                "angular_velocity",
                "position_variance",
                "orientation_variance",
                "velocity_variance",
                "reset_counter",
                "quality",
            },
        ),
        (
            Trajectory([1], [[0, 0, 0, 1]], name="a"),
            VehicleOdometry,
            {"t_ns below one microsecond", "name"},
        ),
        (
            Trajectory([0], [[0, 0, 0, 1]], position_world=[[1, 2, 3]], moving=[True]),
            VehicleAttitude,
            {"position_world", "moving"},
        ),
    ],
)
def test_what_a_target_cannot_hold_is_named_and_refused_if_asked(source, target, expected):
    assert set(losses(source, target)) == expected
    names = {
        (VehicleImu, SensorCombined): "sensor_combined_from_vehicle_imu",
        (SensorCombined, VehicleImu): "vehicle_imu_from_sensor_combined",
        (SensorCombined, ImuSeries): "series_from_sensor_combined",
        (VehicleAttitude, Trajectory): "trajectory_from_vehicle_attitude",
        (VehicleOdometry, Trajectory): "trajectory_from_vehicle_odometry",
        (Trajectory, VehicleOdometry): "vehicle_odometry_from_trajectory",
        (Trajectory, VehicleAttitude): "vehicle_attitude_from_trajectory",
    }
    convert = getattr(conversion, names[type(source), target])
    if expected:
        with pytest.raises(ConversionLossError) as caught:
            convert(source, strict=True)
        assert set(caught.value.lost) == expected
    else:
        convert(source, strict=True)


def test_numbers_beyond_single_precision_are_refused():
    far = Trajectory([0], [[0, 0, 0, 1]], position_world=[[1e300, 0, 0]])
    with pytest.raises(ValueRangeError, match="position"):
        conversion.vehicle_odometry_from_trajectory(far)
