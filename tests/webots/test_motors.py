"""Commands to motors, and the resulting velocities."""

from __future__ import annotations

import math

import pytest

from strapdown.webots.file.node import Node
from strapdown.webots.scene.motors import MotorState, coupled_motors


def motor(position=0.0, type_name="RotationalMotor", **fields):
    return MotorState(Node(type_name, fields), position)


def test_a_new_motor_holds_its_joint_at_full_speed_and_force():
    state = motor(0.7, maxVelocity=3.0, maxTorque=5.0)
    assert (state.target_position, state.target_velocity) == (0.7, 3.0)
    assert (state.available_force, state.force) == (5.0, None)
    assert state.step(0.7, 0.0, 0.032) == (0.0, 0.0)
    assert state.is_steady(0.7, 0.0)
    assert not state.is_steady(0.8, 0.0)
    assert motor(type_name="LinearMotor", maxForce=7.0).max_force == 7.0


def test_position_control_runs_at_the_gain_within_the_commanded_velocity():
    state = motor()
    assert state.command("position", (0.5,)) == ""
    assert state.step(0.0, 0.0, 0.032) == (5.0, 5.0)
    state.command("velocity", (-2.0,))  # a speed limit; its sign has no effect
    assert state.step(0.0, 0.0, 0.032) == (2.0, 2.0)
    assert state.step(1.0, 0.0, 0.032) == (-2.0, -2.0)
    state.command("pid", (3.0, 1.0, 1.0))
    assert state.step(0.0, 0.0, 0.032) == (1.5, 1.5)
    assert state.node.vector("controlPID") == (3.0, 1.0, 1.0)


def test_a_gain_beyond_one_step_reaches_the_target_in_one_step():
    state = motor(controlPID=(1000.0, 0.0, 0.0), maxVelocity=100.0)
    state.command("position", (0.5,))
    begin, end = state.step(0.0, 0.0, 0.032)
    assert begin == end == pytest.approx(0.5 / 0.032)


@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_an_infinite_target_is_velocity_control_of_either_direction(infinity):
    state = motor()
    state.command("position", (infinity,))
    state.command("velocity", (-4.0,))
    assert state.step(0.0, 0.0, 0.032) == (-4.0, -4.0)
    assert state.is_steady(123.0, -4.0)
    assert not state.is_steady(123.0, 4.0)


def test_velocities_change_within_the_acceleration_limit():
    state = motor(acceleration=10.0)
    state.command("position", (math.inf,))
    state.command("velocity", (4.0,))
    assert state.step(0.0, 1.0, 0.1) == (1.0, 2.0)
    state.command("acceleration", (5.0,))
    assert state.step(0.0, 1.0, 0.1) == (1.0, 1.5)
    state.command("acceleration", (-1.0,))
    assert state.step(0.0, 1.0, 0.1) == (4.0, 4.0)


def test_velocity_control_stops_at_the_limits_of_the_position():
    state = motor(minPosition=-1.0, maxPosition=0.5)
    state.command("position", (math.inf,))
    state.command("velocity", (4.0,))
    assert state.step(0.0, 0.0, 0.1) == (4.0, 4.0)
    assert state.step(0.4, 4.0, 0.1) == (pytest.approx(1.0),) * 2
    assert state.step(0.5, 1.0, 0.1) == (0.0, 0.0)
    assert state.is_steady(0.5, 0.0)
    state.command("velocity", (-4.0,))
    assert state.step(0.5, 0.0, 0.1) == (-4.0, -4.0)


def test_targets_beyond_the_limits_are_clipped_with_the_words_of_webots():
    state = motor(minPosition=-1.0, maxPosition=0.5, maxVelocity=10.0)
    assert state.command("position", (0.75,)) == "too big requested position: 0.75 > 0.5"
    assert state.target_position == 0.5
    assert state.command("position", (-2.0,)) == "too low requested position: -2 < -1"
    assert state.target_position == -1.0
    warning = state.command("velocity", (-12.0,))
    assert warning == "The requested velocity -12 exceeds 'maxVelocity' = 10."
    assert state.target_velocity == -10.0


def test_a_multiplier_scales_commands_but_not_the_acceleration():
    state = motor(multiplier=-2.0, maxTorque=10.0, acceleration=3.0)
    state.command("position", (0.25,))
    assert state.target_position == -0.5
    state.command("position", (math.inf,))
    assert state.target_position == math.inf
    state.command("velocity", (1.5,))
    assert state.target_velocity == -3.0
    state.command("torque", (2.0,))
    assert state.force == -4.0
    assert state.max_acceleration == 3.0


def test_a_force_is_within_what_is_available_until_a_position_is_commanded():
    state = motor(type_name="LinearMotor", maxForce=10.0)
    state.command("available_force", (40.0,))
    assert state.available_force == 10.0
    state.command("available_force", (6.0,))
    state.command("force", (-9.0,))
    assert state.force == -6.0
    state.command("position", (0.0,))
    assert state.force is None


def test_fields_that_change_keep_the_commands():
    state = motor()
    state.command("position", (0.5,))
    state.node.set("maxVelocity", 3.0)
    state.configure()
    assert (state.target_position, state.max_velocity) == (0.5, 3.0)


def test_motors_are_coupled_by_the_first_half_of_their_names_on_one_robot():
    names = ["grip::left", "grip::right", "grip", "arm::left", "a::b::c", "grip::third"]
    motors = [Node("RotationalMotor", {"name": name}) for name in names]
    Node("Robot", {"children": [Node("Group", {"children": [*motors]}) for _ in range(1)]})
    stranger = Node("RotationalMotor", {"name": "grip::left"})
    Node("Robot", {"children": [stranger]})
    coupled = coupled_motors([*motors, stranger])
    grip = [motors[0], motors[1], motors[5]]
    assert coupled[motors[0]] == coupled[motors[1]] == coupled[motors[5]] == grip
    for alone in (motors[2], motors[3], motors[4], stranger):
        assert coupled[alone] == [alone]
