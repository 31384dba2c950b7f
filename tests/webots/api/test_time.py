"""Time of a controller: steps, samples, and the end."""

from __future__ import annotations

import ctypes
import gc
import math
import os

import numpy as np
import pytest

from strapdown.webots.api import Accelerometer, Robot, runtime
from strapdown.webots.world.world import World

NEVER = [math.nan] * 3


@pytest.fixture
def three(robot):
    """Return a robot, and three sensors whose samples encode their time."""
    rob = robot()
    return rob, *map(rob.getDevice, ("accelerometer", "gyro", "compass"))


def times(rob, acc, gyro, compass):
    """Return a row of the timing table: times of the samples [ms], NaN: none."""
    return [
        round(1000 * rob.getTime()),
        *(sensor.getValues()[0] for sensor in (acc, gyro, compass)),
    ]


def test_sensors_are_refreshed_when_their_period_has_passed(three, capsys):
    rob, acc, gyro, compass = three
    acc.enable(64)
    gyro.enable(50)
    compass.enable(32)
    np.testing.assert_array_equal(times(*three), [0, math.nan, math.nan, math.nan])
    rows = []
    for _ in range(6):
        rob.step(32)
        rows.append(times(*three))
    acc.disable()
    rob.step(32)
    rows.append(times(*three))
    acc.enable(64)
    for _ in range(2):
        rob.step(32)
        rows.append(times(*three))
    np.testing.assert_array_equal(
        rows,
        [
            [32, math.nan, math.nan, 32],
            [64, 64, 64, 64],
            [96, 64, 64, 96],
            [128, 128, 128, 128],
            [160, 128, 128, 160],
            [192, 192, 192, 192],
            [224, 192, 192, 224],
            [256, 192, 256, 256],
            [288, 288, 256, 288],
        ],
    )
    assert capsys.readouterr().err.count("called for a disabled device") == 1


def test_every_sample_knows_its_time(three):
    rob, acc, _, compass = three
    assert math.isnan(acc.sample_time)
    acc.enable(96)
    compass.enable(32)
    rob.step(5 * 32)
    assert (acc.sample_time, compass.sample_time, rob.getTime()) == (0.096, 0.160, 0.160)


def test_the_last_of_many_enables_counts_and_is_sent_once(robot):
    rob = robot()
    acc = rob.getDevice("accelerometer")
    acc.enable(32)
    rob.getDevice("gyro").enable(32)
    acc.enable(64)
    assert acc.getSamplingPeriod() == 64
    rob.step(32)
    assert rob.port.requests == [(3, "period", (32,)), (2, "period", (64,))]


def test_a_step_that_lasted_longer_tells_so_at_the_next(robot):
    rob = robot()
    rob.step(32)
    found = [rob.step(ms) for ms in (0, 40, 40, 64, 32, 16)]
    assert found == [0, 0, 24, 0, 32, 16]


def test_a_step_without_a_duration_is_a_basic_step(robot):
    rob = robot(basic_time_step=16.0)
    rob.step()
    rob.step(None)
    assert rob.getTime() == 0.032


@pytest.mark.parametrize("profile", ["R2025a", "R2021a"])
@pytest.mark.parametrize("wrong", [32.0, "32", np.int64(32), [32]])
def test_releases_take_integers_only(robot, profile, wrong):
    rob = robot(profile=profile, version=profile)
    with pytest.raises(
        TypeError, match=r"argument 1: TypeError: Don't know how to convert"
    ) as info:
        rob.step(wrong)
    assert isinstance(info.value, ctypes.ArgumentError)
    with pytest.raises(TypeError, match="argument 2: TypeError: Don't know how to convert"):
        rob.getDevice("gyro").enable(wrong)


def test_the_manual_also_takes_floats_without_a_fraction(robot):
    rob = robot(profile="documented")
    gyro = rob.getDevice("gyro")
    gyro.enable(rob.getBasicTimeStep())
    assert gyro.getSamplingPeriod() == 32
    assert type(gyro.getSamplingPeriod()) is int
    assert rob.step(rob.getBasicTimeStep()) == 0
    for wrong in (32.5, math.inf, math.nan, "32"):
        with pytest.raises(TypeError):
            rob.step(wrong)


def test_a_truth_is_the_integer_that_it_is(robot):
    gyro = robot().getDevice("gyro")
    gyro.enable(True)
    assert (gyro.getSamplingPeriod(), type(gyro.getSamplingPeriod())) == (1, int)


def test_a_step_back_in_time_is_refused(robot):
    with pytest.raises(ValueError, match="expected a step of at least 0 ms, got -1 in"):
        robot().step(-1)


class TestBeginAndEnd:
    def test_getters_keep_old_values_until_the_end(self, three):
        rob, acc, *_ = three
        acc.enable(96)
        rob.step(32)
        assert rob.stepBegin(4 * 32) == 0
        np.testing.assert_array_equal(acc.getValues(), NEVER)
        assert rob.stepEnd() == 0
        assert acc.getValues()[0] == 96
        rob.stepBegin(32)
        assert acc.getValues()[0] == 96
        rob.stepEnd()
        assert acc.getValues()[0] == 192

    def test_an_end_without_a_begin_returns_zero_and_says_so(self, robot, capsys):
        assert robot().stepEnd() == 0
        assert capsys.readouterr().err == (
            "Warning: robot_step_end() called multiple times before calling "
            "wb_robot_step_begin().\n"
        )

    def test_a_second_begin_says_so(self, robot, capsys):
        rob = robot()
        rob.stepBegin(32)
        rob.stepBegin(32)
        rob.stepEnd()
        assert rob.getTime() == 0.064
        assert capsys.readouterr().err == (
            "Warning: robot_step_begin() called multiple times before calling "
            "wb_robot_step_end().\n"
        )

    def test_a_step_after_a_begin_says_so(self, robot, capsys):
        rob = robot()
        rob.stepBegin(32)
        rob.step(32)
        assert rob.getTime() == 0.064
        assert capsys.readouterr().err == (
            "Warning: wb_robot_step() called before calling wb_robot_step_end().\n"
            "Warning: robot_step_begin() called multiple times before calling "
            "wb_robot_step_end().\n"
        )


class TestTheEnd:
    def test_a_step_returns_minus_one_once_and_then_ends_the_program(self, robot):
        rob = robot(end_ms=64.0)
        assert [rob.step(32), rob.step(32), rob.step(32)] == [0, 0, -1]
        for call in (rob.step, rob.stepBegin, rob.step, rob.step):
            with pytest.raises(SystemExit) as info:
                call(32)
            assert info.value.code == 0

    def test_a_begun_step_may_be_the_last(self, robot):
        rob = robot(end_ms=0.0)
        assert rob.stepBegin(32) == 0
        assert rob.stepEnd() == -1

    def test_a_program_that_survives_the_end_is_ended_at_the_third_call(self, robot, monkeypatch):
        class Ended(BaseException):
            pass

        def end(status):
            raise Ended(status)

        monkeypatch.setattr(os, "_exit", end)
        monkeypatch.setattr(runtime, "owns_process", True)
        rob = robot(end_ms=0.0)
        rob.step(32)
        for _ in range(2):
            with pytest.raises(SystemExit):
                rob.step(32)
        assert not rob.port.closed
        with pytest.raises(Ended) as info:
            rob.step(32)
        assert info.value.args == (0,)
        assert rob.port.closed


class TestWhichRobot:
    def test_without_a_world_there_is_no_robot(self):
        with pytest.raises(RuntimeError, match=r"strapdown webots run CONTROLLER\.py --world"):
            Robot()

    def test_a_world_is_given_as_a_path_a_text_or_itself(self, tmp_path):
        text = '#VRML_SIM R2025a utf8\nWorldInfo { }\nRobot { name "a" }\n'
        path = tmp_path / "w.wbt"
        path.write_text(text)
        assert [Robot(each).name for each in (text, path, str(path), World(text))] == ["a"] * 4

    def test_options_of_a_world_that_is_one_already_are_refused(self):
        world = World('#VRML_SIM R2025a utf8\nRobot { name "a" }\n', profile="R2025a")
        assert Robot(world, profile="R2025a").name == "a"
        for options in ({"seed": 1}, {"profile": "R2020a"}, {"axes": "FLU"}):
            with pytest.raises(TypeError, match="expected options of the world in World"):
                Robot(world, **options)

    def test_one_of_many_robots_is_named(self):
        world = World('#VRML_SIM R2025a utf8\nRobot { name "a" }\nRobot { name "b" }\n')
        assert Robot(world, robot="b").name == "b"

    def test_devices_belong_to_the_first_robot_unless_told(self, robot):
        first, second = robot(name="one"), robot("Accelerometer other", name="two")
        Accelerometer("accelerometer", robot=first)
        other = Accelerometer("other", robot=second)
        assert Robot.created is not second
        assert (other.getNodeType(), other._tag) == (35, 1)

    def test_the_first_robot_is_the_first_that_is_in_use(self, robot):
        first, second = robot(name="one"), robot(name="two")
        gc.collect()
        assert Robot.created is first
        del first
        assert Robot.created is second

    def test_there_are_no_devices_without_a_robot(self, monkeypatch):
        monkeypatch.setattr(Robot, "created", None)
        with pytest.raises(RuntimeError, match=r"call Robot\(\) first"):
            Accelerometer("accelerometer")

    def test_a_second_robot_of_a_controller_shares_all_but_the_devices(self, port, runner, capsys):
        runner(port())
        first, second = Robot(), Robot()
        assert capsys.readouterr().err == (
            "Error: only one Robot instance can be created per controller process.\n"
        )
        assert not hasattr(second, "devices")
        second.step(32)
        assert first.getTime() == 0.032
        assert Robot.created is first


class TestNews:
    def test_changed_parameters_count_from_the_next_answer(self, robot):
        rob = robot()
        unit = rob.getDevice("inertial unit")
        info = rob.port.info.devices[0]
        rob.port.news = [info._replace(parameters={**info.parameters, "noise": 0.25})]
        assert unit.getNoise() == 0.0
        rob.step(32)
        assert unit.getNoise() == 0.25

    def test_devices_that_come_later_are_found(self, robot):
        rob = robot()
        assert rob.getDevice("late") is None
        info = rob.port.info.devices[1]._replace(tag=5, name="late")
        rob.port.news = [info]
        rob.step(32)
        assert rob.getNumberOfDevices() == 5
        late = rob.getDevice("late")
        assert late is rob.getDeviceByIndex(4)
        late.enable(32)
        with pytest.raises(KeyError):
            rob.getDeviceByIndex(5)

    def test_custom_data_is_sent_and_comes_back_when_others_change_it(self, robot):
        rob = robot()
        rob.setCustomData("mine")
        assert rob.custom_data == "mine"
        rob.step(32)
        assert rob.port.requests == [(0, "custom_data", ("mine",))]
        rob.port.new_custom_data = "yours"
        rob.step(32)
        assert rob.getCustomData() == "yours"
        with pytest.raises(TypeError, match="expected custom data as text"):
            rob.custom_data = 1
