"""Sample worlds and controllers, each in a separate process, against mathematics."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.motion import MOTIONS
from strapdown.webots.file.sample_worlds import find_world, sample_worlds
from strapdown.webots.file.world_file import read_world
from strapdown.webots.run.programs import find_programs
from strapdown.webots.run.runner import run_controllers
from strapdown.webots.world.world import World

STANDARD = 9.81


@pytest.fixture
def play(capfd):
    """Run a sample world; return the output of its controllers, as lines of words."""

    def run(name, duration_s, script=None, *, args=(), profile="R2025a", **options):
        world = World(find_world(name), profile=profile, duration_s=duration_s, **options)
        programs, _ = find_programs(world.file, script, args=args)
        report = run_controllers(world, programs, timeout_s=20.0)
        said = capfd.readouterr()
        assert [each.status for each in report.ended] == [0] * len(report.ended), said.err
        assert "Traceback" not in said.err
        return [line.split() for line in said.out.splitlines()]

    return run


def numbers(lines):
    return np.array([[float(word) for word in line] for line in lines])


def test_there_are_worlds_for_each_kind_of_device_and_each_generation():
    worlds = [read_world(path) for path in sample_worlds().values()]
    assert len(worlds) >= 8
    kinds = {node.type for world in worlds for node in world.walk()}
    assert {"InertialUnit", "Accelerometer", "Gyro", "GPS", "Compass", "RotationalMotor"} <= kinds
    assert {world.release for world in worlds} == {"R2025a", "R2020a"}
    assert max(len(world.robots) for world in worlds) == 2
    controllers = {robot.get("controller") for world in worlds for robot in world.robots}
    assert len(controllers) >= 10


@pytest.mark.parametrize("name", sorted(sample_worlds()))
def test_every_sample_loads_without_a_word_about_it(name):
    world = read_world(sample_worlds()[name])
    assert world.warnings == []
    assert world.notices == []


def test_a_tilted_unit_reads_the_attitude_that_it_has(play):
    rows = numbers(play("tilted_unit", 0.1))
    assert rows[:, 0] == pytest.approx([0.032, 0.064, 0.096])
    np.testing.assert_allclose(rows[:, 1:], [[0.2, 0.3, 0.6]] * 3, atol=1e-6)


def test_the_manual_reads_it_as_a_compass(play):
    """North is y and up is z, and a unit has its y axis up: rotate it, then read the bearing."""
    rows = numbers(play("tilted_unit", 0.1, profile="documented"))
    R = Rotation.from_euler("ZYX", [0.6, 0.3, 0.2]).as_matrix()  # x forward, y left, z up
    east, north, up = R  # rows: components along the world's axes
    yaw, pitch = math.atan2(east[0], north[0]), math.asin(up[0])
    roll = math.atan2(-up[2], up[1])
    np.testing.assert_allclose(rows[-1, 1:], [roll, pitch, yaw], atol=1e-6)


def test_a_rotor_feels_the_centripetal_acceleration(play):
    speed, radius = 5.0, 0.1
    rows = numbers(play("rotor", 0.2, profile="documented"))
    np.testing.assert_allclose(rows[2:, 2], -(speed**2) * radius, rtol=1e-9)
    np.testing.assert_allclose(rows[2:, 3], 0.0, atol=1e-9)
    np.testing.assert_allclose(rows[2:, 4], STANDARD)
    np.testing.assert_allclose(rows[2:, 7], speed)
    np.testing.assert_allclose(np.diff(rows[:, 1]), speed * 0.016)


def test_the_release_averages_it_over_the_period(play):
    speed, radius, dt = 5.0, 0.1, 0.016
    rows = numbers(play("rotor", 0.2))
    turn = speed * dt  # velocity difference, in the axes at the end of the period
    mean = np.array([-math.sin(turn), 1.0 - math.cos(turn)]) * speed * radius / dt
    np.testing.assert_allclose(rows[2:, 2:4], [mean] * (len(rows) - 2), rtol=1e-9, atol=1e-9)


def test_an_integrated_gyro_is_the_angle_of_the_table(play):
    rows = numbers(play("turntable", 2.0))
    np.testing.assert_allclose(rows[:, 1], rows[:, 2], atol=1e-8)
    expected = 1.5 / math.pi * (1.0 - np.cos(math.pi * rows[:, 0]))
    np.testing.assert_allclose(rows[:, 2], expected, atol=1.5 * 0.008)  # set once in 8 ms


def test_a_logged_motion_is_the_motion(play, tmp_path):
    file = tmp_path / "log.csv"
    play("imu_robot", 1.0, args=[str(file)], script=sample("log_csv"), motion=MOTIONS["circle"])
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 100
    times = np.array([float(row["time"]) for row in rows])
    truth = MOTIONS["circle"].at(times)
    for axis, name in enumerate("xyz"):
        got = np.array([float(row[name]) for row in rows])
        np.testing.assert_allclose(got, truth.position_world[:, axis], atol=1e-9)


def sample(name):
    return find_world("rover").parents[1] / "controllers" / name / f"{name}.py"


def test_a_controller_of_2020_reads_its_world(play):
    rows = numbers(play("legacy_nue", 2.0, profile="R2020a"))
    angles, force, north = rows[-1, :3], rows[-1, 3:6], rows[-1, 6:9]
    np.testing.assert_allclose(angles, [0.0, 0.0, 0.6], atol=1e-4)  # to the left is positive
    np.testing.assert_allclose(force, [0.0, STANDARD, 0.0], atol=0.01)  # y is up
    np.testing.assert_allclose(north, [math.cos(0.6), 0.0, math.sin(0.6)], atol=1e-4)


def test_the_balancing_robot_stays_up_and_in_its_place(play):
    rows = numbers(play("balancing_robot", 6.0))
    assert np.abs(rows[:, 1]).max() < 0.3
    assert np.abs(rows[rows[:, 0] > 4.0][:, 1]).max() < 0.02
    assert abs(rows[-1, 2]) < 2.0


def test_without_its_controller_it_falls(play, tmp_path):
    script = tmp_path / "lazy.py"
    script.write_text(sample("read_attitude").read_text())
    rows = numbers(play("balancing_robot", 2.0, script))
    assert np.abs(rows[-1, 2]) > 1.0


def test_the_rate_of_a_shank_is_that_of_hip_and_knee(play):
    rows = numbers(play("walker", 2.0))
    for hip, knee, gyro in (rows[:, 1:4].T, rows[:, 4:7].T):
        turned = np.diff(hip + knee)
        np.testing.assert_allclose(gyro[1:] * 0.008, turned, atol=1e-9)
    swing = 0.35 / math.hypot(1.0, 2.0 * math.pi / 10.0)  # a position loop of 10/s lags 1 Hz
    assert rows[125:, 1].max() == pytest.approx(swing, rel=0.02)
    assert rows[125:, 1].min() == pytest.approx(-swing, rel=0.02)


@pytest.mark.slow
def test_the_drone_hovers_at_the_height_it_was_told(play):
    rows = numbers(play("drone", 12.0))
    assert rows[0, 1] == pytest.approx(0.1)
    assert np.abs(rows[rows[:, 0] > 8.0][:, 1] - 1.0).max() < 0.03
    assert rows[-1, 1] == pytest.approx(1.0, abs=0.01)


def test_two_robots_turn_in_mirror_image_with_steps_of_their_own(play):
    lines = play("two_arms", 0.64)
    arms = {
        side: {float(time): float(yaw) for name, time, yaw in lines if name == side}
        for side in ("left", "right")
    }
    assert len(arms["left"]) == 40  # steps of 16 ms
    assert len(arms["right"]) == 20  # steps of 32 ms
    for time, yaw in arms["right"].items():
        assert yaw == pytest.approx(-0.8 * time)
        assert arms["left"][time] == pytest.approx(-yaw)


def test_a_supervisor_turns_itself_and_brings_a_node(play):
    lines = play("supervisor", 5.0)
    attitudes = [numbers([line[1:]])[0] for line in lines if line[0] == "attitude"]
    expected = [
        (0, 0, 0), (0, 0, -1.5708), (0, 0, 1.5708), (1.5708, 0, 0), (-1.5708, 0, 0),
        (0, 0.7854, 0), (0, -0.7854, 0),
    ]  # fmt: skip
    np.testing.assert_allclose([each[4:] for each in attitudes], expected, atol=1e-3)
    rest = {line[0]: [float(word) for word in line[1:]] for line in lines[len(attitudes) :]}
    assert rest["crate"] == [1.0, 0.1, 0.0]
    assert rest["nodes"] == [1.0]
    assert rest["ball"] == [0.0, 2.0, 0.0]
    assert rest["reset"] == [0.032, 0.0, 0.5, 0.0]


def test_a_rod_swings_with_its_period(play):
    (period,) = numbers(play("pendulum", 10.0))[0]
    small = 2.0 * math.pi * math.sqrt(2.0 / (3.0 * STANDARD))  # a uniform rod of 1 m
    assert period == pytest.approx(small * (1.0 + 0.2**2 / 16.0), rel=2e-3)


def test_the_rover_drives_the_circle_of_its_wheels(play):
    rows = numbers(play("rover", 4.0))
    late = rows[rows[:, 0] > 1.0]
    rate, speed = 0.04 * (6.0 - 4.0) / 0.2, 0.04 * 5.0
    assert late[:, 2].mean() == pytest.approx(rate, rel=0.15)  # the wheels slip a little
    path = np.linalg.norm(np.diff(late[:, 3:5], axis=0), axis=1).sum()
    assert path / (late[-1, 0] - late[0, 0]) == pytest.approx(speed, rel=0.05)
    assert late[-1, 1] - late[0, 1] == pytest.approx(
        (late[:-1, 2] * np.diff(late[:, 0])).sum(), rel=0.01
    )  # the yaw is the integral of the rate


def test_without_a_key_the_rover_stands(play):
    rows = numbers(play("rover", 2.0, sample("keyboard_drive")))
    assert set(rows[1:, 1]) == {1000.0}  # the distance sensor: nothing is in front of it
    np.testing.assert_allclose(rows[-1, 2:], [0.0, 0.0, STANDARD], atol=0.05)
