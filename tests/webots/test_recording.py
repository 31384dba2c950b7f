"""Samples of a world as series, messages and files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import strapdown
from strapdown.errors import DeviceError, UnknownNameError, UnsupportedError
from strapdown.messages.conversion import imu_from_series, vehicle_imu_from_increments
from strapdown.motion import MOTIONS
from strapdown.webots import Robot, World
from strapdown.webots.run.recording import record
from strapdown.webots.run.sensor_log import SensorLog

ROBOT = """Robot {{
  name "{name}"
  children [
    InertialUnit {{ {unit} }}
    Accelerometer {{ {accelerometer} }}
    Gyro {{ {gyro} }}
    GPS {{ }}
    Altimeter {{ }}
  ]
  physics Physics {{ mass 1 density -1 }}
  {more}
}}
"""
HEAD = '#VRML_SIM R2025a utf8\nWorldInfo { basicTimeStep 10 coordinateSystem "%s" }\n'


def robot(name="rob", unit="", accelerometer="", gyro="", more=""):
    return ROBOT.format(name=name, unit=unit, accelerometer=accelerometer, gyro=gyro, more=more)


def world(*robots, coordinate_system="ENU", **options):
    text = HEAD % coordinate_system + "".join(robots or [robot()])
    return World(text, dynamics="kinematic", **options)


def driven(
    a_world, steps=100, period=10, devices=("inertial unit", "accelerometer", "gyro"), name=None
):
    controller = Robot(a_world, robot=name)
    for device in devices:
        controller.getDevice(device).enable(period)
    for _ in range(steps):
        controller.step(10)
    return controller


def logged(a_world, **options):
    with SensorLog(a_world) as log:
        driven(a_world, **options)
    return log


class TestSeries:
    def test_rows_have_the_times_at_which_samples_were_taken(self):
        log = logged(world(), period=30)
        assert log.imu_series().t_ns.tolist() == [30_000_000 * k for k in range(1, 34)]

    def test_all_three_devices_agree_with_the_motion_in_the_documented_profile(self):
        motion = MOTIONS["multi_sine"]
        series = logged(world(motion=motion)).imu_series()
        truth = motion.at(series.t_ns * 1e-9)
        np.testing.assert_allclose(series.angular_velocity, truth.angular_velocity, atol=1e-12)
        force = truth.specific_force(np.array([0.0, 0.0, -9.81]))
        np.testing.assert_allclose(series.specific_force, force, atol=1e-11)
        turn = Rotation.from_quat(series.q_world_from_body).inv() * Rotation.from_quat(
            truth.q_world_from_body
        )
        assert turn.magnitude().max() < 1e-14

    @pytest.mark.parametrize(("system", "body"), [("ENU", "FLU"), ("NUE", "FUR"), ("EUN", "FUR")])
    def test_frames_are_those_of_the_world(self, system, body):
        series = logged(world(coordinate_system=system)).imu_series()
        assert (series.world, series.body) == (system, body)

    def test_the_same_motion_gives_the_same_series_in_every_coordinate_system(self):
        motion = MOTIONS["multi_sine"]
        enu = logged(world(motion=motion)).imu_series()
        for system in ("NUE", "EUN"):
            own = logged(world(motion=motion, coordinate_system=system)).imu_series()
            own = own.in_frames(world="ENU", body="FLU")
            np.testing.assert_allclose(own.specific_force, enu.specific_force, atol=1e-9)
            np.testing.assert_allclose(own.angular_velocity, enu.angular_velocity, atol=1e-9)
            dots = np.sum(own.q_world_from_body * enu.q_world_from_body, axis=1)
            np.testing.assert_allclose(np.abs(dots), 1.0, atol=1e-12)

    @pytest.mark.parametrize("system", ["NUE", "ENU", "EUN"])
    @pytest.mark.parametrize("profile", ["R2025a", "R2021a", "R2020a"])
    def test_attitude_is_the_true_one_in_every_profile(self, profile, system):
        motion = MOTIONS["multi_sine"]
        a_world = world(motion=motion, coordinate_system=system, profile=profile)
        series = logged(a_world).imu_series().in_frames(world="ENU", body="FLU")
        truth = motion.at(series.t_ns * 1e-9).q_world_from_body
        dots = np.sum(series.q_world_from_body * truth, axis=1)
        np.testing.assert_allclose(np.abs(dots), 1.0, atol=1e-12)

    def test_a_single_device_says_that_the_rest_is_absent(self):
        log = logged(world())
        force = log.device_series("accelerometer")
        np.testing.assert_allclose(force.specific_force, np.tile([0.0, 0.0, 9.81], (100, 1)))
        assert np.isnan(force.angular_velocity).all()
        assert (force.angular_velocity_covariance[:, 0, 0] == -1.0).all()
        unit = log.device_series("inertial unit")
        assert (unit.specific_force_covariance[:, 0, 0] == -1.0).all()
        assert unit.sensor.name == "inertial unit"

    def test_an_attitude_that_was_not_sampled_is_nan(self):
        a_world = world()
        with SensorLog(a_world) as log:
            controller = Robot(a_world)
            controller.getDevice("inertial unit").enable(20)
            for name in ("accelerometer", "gyro"):
                controller.getDevice(name).enable(10)
            for _ in range(4):
                controller.step(10)
        known = np.isfinite(log.imu_series().q_world_from_body).all(axis=1)
        assert known.tolist() == [False, True, False, True]

    def test_samples_within_a_long_controller_step_are_kept(self):
        a_world = world()
        with SensorLog(a_world) as log:
            controller = Robot(a_world)
            controller.getDevice("gyro").enable(10)
            controller.step(50)
        assert len(log.device_series("gyro")) == 5

    def test_time_goes_on_over_a_reset_and_the_reset_is_counted(self):
        a_world = world()
        with SensorLog(a_world) as log:
            controller = driven(a_world, steps=3)
            a_world.reset()
            for _ in range(2):
                controller.step(10)
        assert log.resets == 1
        assert log.imu_series().t_ns.tolist() == [10_000_000 * k for k in range(1, 6)]

    def test_a_reset_after_every_step_is_seen(self):
        a_world = world()
        with SensorLog(a_world) as log:
            controller = driven(a_world, steps=1)
            for _ in range(3):
                a_world.reset()
                controller.step(10)
        assert log.resets == 3
        assert log.imu_series().t_ns.tolist() == [10_000_000 * k for k in range(1, 5)]


class TestCovariance:
    def test_noise_of_the_inertial_unit_is_half_a_turn_times_the_field(self):
        log = logged(world(robot(unit="noise 0.01")))
        expected = (0.01 * math.pi / 2.0) ** 2 * np.eye(3)
        np.testing.assert_allclose(log.imu_series().orientation_covariance[7], expected)

    def test_noise_of_a_lookup_table_is_relative_to_the_reading(self):
        table = "lookupTable [ -100 -100 0.004, 100 100 0.004 ]"
        series = logged(world(robot(accelerometer=table))).imu_series()
        variance = np.diagonal(series.specific_force_covariance, axis1=1, axis2=2)
        np.testing.assert_allclose(variance, (0.004 * series.specific_force) ** 2)
        assert not series.angular_velocity_covariance.any()

    def test_noise_between_the_rows_of_a_table_is_interpolated(self):
        table = "lookupTable [ 0 0 0.1, 19.62 19.62 0.3 ]"
        series = logged(world(robot(accelerometer=table)), steps=1).imu_series()
        sigma = np.sqrt(series.specific_force_covariance[0, 2, 2])
        z = series.specific_force[0, 2]
        assert sigma == pytest.approx(z * (0.1 + 0.2 * z / 19.62))


class TestMessages:
    def test_a_robot_gives_imu_messages(self):
        log = logged(world(robot(unit="noise 0.01")), steps=5)
        messages = imu_from_series(log.imu_series())
        assert len(messages) == 5
        first = messages[0]
        assert first["timestamp_ns"] == 10_000_000
        assert first["linear_acceleration"][2] == pytest.approx(9.81)
        assert first["orientation_covariance"][0] == pytest.approx((0.005 * math.pi) ** 2)

    @pytest.mark.parametrize("profile", ["documented", "R2025a"])
    def test_increments_close_on_the_motion(self, profile):
        motion = MOTIONS["coning"]
        log = logged(world(motion=motion, profile=profile), steps=400)
        increments = log.increments()
        turn = Rotation.identity()
        for angle in increments.delta_angle:
            turn = turn * Rotation.from_rotvec(angle.copy())
        first, last = motion.at([0.01, 4.0]).q_world_from_body
        truth = Rotation.from_quat(first).inv() * Rotation.from_quat(last)
        assert (truth.inv() * turn).magnitude() < 1e-5
        assert len(vehicle_imu_from_increments(increments)) == 399

    def test_a_velocity_difference_is_the_delta_velocity_itself(self):
        motion = MOTIONS["multi_sine"]
        log = logged(world(motion=motion, profile="R2025a"), steps=200)
        increments = log.increments()
        t_s = np.arange(1, 201) * 0.01
        states = motion.at(t_s)
        change = np.diff(states.velocity_world, axis=0) + np.array([0.0, 0.0, 9.81]) * 0.01
        ends = Rotation.from_quat(states.q_world_from_body[1:]).inv().apply(change)
        middle = Rotation.from_rotvec(0.5 * increments.delta_angle).apply(ends)
        np.testing.assert_allclose(increments.delta_velocity, middle, atol=1e-9)


class TestBadInput:
    def test_a_device_without_samples_is_named_with_its_neighbours(self):
        log = logged(world(), devices=("gyro",))
        with pytest.raises(UnknownNameError, match=r"'accelerometer'.*'gyro'"):
            log.device_series("accelerometer")

    def test_missing_sensors_are_named(self):
        with pytest.raises(DeviceError, match="of robot 'rob', got none of Accelerometer; enable"):
            logged(world(), devices=("gyro",)).imu_series()

    def test_sensors_with_different_axes_are_no_imu(self):
        log = logged(world(robot(gyro="rotation 0 0 1 1.5")))
        with pytest.raises(DeviceError, match="different axes"):
            log.imu_series()

    def test_several_robots_want_a_name(self):
        a_world = world(robot("left"), robot("right", more="translation 1 0 0"))
        with SensorLog(a_world) as log:
            driven(a_world, steps=3, name="left")
            driven(a_world, steps=3, name="right")
        with pytest.raises(DeviceError, match="left, right"):
            log.imu_series()
        with pytest.raises(DeviceError, match="of a robot, got none of Gyro and Accelerometer"):
            SensorLog(a_world).imu_series()
        assert len(log.imu_series("right")) == 3

    def test_an_unknown_ending_is_refused(self, tmp_path):
        with pytest.raises(UnsupportedError), record(world(), tmp_path / "run.txt"):
            pass


class TestFiles:
    @pytest.mark.parametrize("ending", [".mcap", ".npz", ".parquet", ".csv"])
    def test_a_file_holds_what_the_sensors_measured(self, tmp_path, ending):
        path = tmp_path / f"run{ending}"
        a_world = world(motion=MOTIONS["multi_sine"])
        log = SensorLog(a_world)
        with record(a_world, path) as report:
            driven(a_world, steps=50)
        series = strapdown.open(path).imu_series("imu/data" if ending != ".csv" else None)
        np.testing.assert_allclose(series.specific_force, log.imu_series().specific_force)
        np.testing.assert_array_equal(series.t_ns, log.imu_series().t_ns)
        assert report.samples["imu/data"] == 50

    def test_the_same_world_seed_and_controller_give_the_same_bytes(self, tmp_path):
        files = [tmp_path / name for name in ("a.mcap", "b.mcap")]
        for path in files:
            text = robot(unit="noise 0.1", gyro="lookupTable [ -9 -9 0.1, 9 9 0.1 ]")
            a_world = world(text, motion=MOTIONS["multi_sine"], seed=3)
            with record(a_world, path):
                driven(a_world)
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_adding_a_sensor_changes_no_other_in_the_documented_profile(self):
        noisy = "lookupTable [ -99 -99 0.1, 99 99 0.1 ]"
        alone = logged(world(robot(accelerometer=noisy)))
        together = logged(world(robot(accelerometer=noisy, gyro=noisy, unit="noise 0.2")))
        one, other = (log.device_series("accelerometer") for log in (alone, together))
        np.testing.assert_array_equal(one.specific_force, other.specific_force)
        assert np.ptp(one.specific_force[:, 2]) > 1.0

    def test_a_long_run_is_written_in_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr("strapdown.webots.run.recording._BLOCK", 32)
        a_world = world()
        with record(a_world, tmp_path / "run.mcap") as report:
            driven(a_world, steps=100)
        assert report.samples["imu/data"] == 100
        assert len(strapdown.open(tmp_path / "run.mcap").imu["gyro/values"]) == 100

    def test_every_block_of_a_file_has_the_same_one_of_two_gyros(self, tmp_path, monkeypatch):
        monkeypatch.setattr("strapdown.webots.run.recording._BLOCK", 8)
        twice = 'Gyro { name "twice" lookupTable [ -99 -198 0, 99 198 0 ] }'
        text = robot().replace("GPS { }", twice)
        a_world = world(text, motion=MOTIONS["multi_sine"])
        log = SensorLog(a_world)
        with record(a_world, tmp_path / "run.npz"):
            controller = Robot(a_world)
            controller.getDevice("gyro").enable(30)
            for name in ("twice", "accelerometer"):
                controller.getDevice(name).enable(10)
            for _ in range(30):
                controller.step(10)
        series = strapdown.open(tmp_path / "run.npz").imu["imu/data"]
        rate = MOTIONS["multi_sine"].at(series.t_ns * 1e-9).angular_velocity
        np.testing.assert_allclose(series.angular_velocity, 2.0 * rate, atol=1e-12)
        np.testing.assert_array_equal(series.t_ns, log.imu_series().t_ns)

    def test_several_robots_have_topics_of_their_own(self, tmp_path):
        a_world = world(robot("left arm"), robot("right", more="translation 1 0 0"))
        with record(a_world, tmp_path / "run.mcap") as report:
            driven(a_world, steps=2, name="left arm")
            driven(a_world, steps=2, name="right", devices=("gyro",))
        assert set(report.samples) == {
            "left_arm/imu/data",
            "left_arm/inertial_unit/quaternion",
            "left_arm/accelerometer/values",
            "left_arm/gyro/values",
            "right/gyro/values",
        }

    def test_what_is_not_recorded_is_said(self, tmp_path):
        a_world = world()
        with record(a_world, tmp_path / "run.mcap") as report:
            driven(a_world, steps=2, devices=("gyro", "altimeter"))
        assert report.notes == ("Altimeter 'altimeter' is not recorded",)
        with record(world(), tmp_path / "empty.mcap") as report:
            pass
        assert "is empty" in report.notes[0]

    def test_a_table_of_a_single_device_keeps_it_and_names_what_is_left_out(self, tmp_path):
        a_world = world()
        with record(a_world, tmp_path / "run.csv") as report:
            driven(a_world, steps=5, devices=("gyro", "inertial unit"))
        assert report.lost == ("gyro/values: CSV holds one table",)
        assert len(strapdown.open(tmp_path / "run.csv").imu_series()) == 5
