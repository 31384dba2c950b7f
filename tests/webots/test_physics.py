from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from strapdown.errors import BackendMissingError, DeviceError, ValueRangeError
from strapdown.webots.file.world_file import read_world
from strapdown.webots.scene.physics import PhysicsScene, needs_physics

G = 9.81
FLOOR = 'Solid { name "floor" boundingObject Plane { } }'
BOX = "boundingObject Box { size 0.2 0.2 0.2 } physics Physics { density -1 mass 2 }"
BALL = "boundingObject Sphere { radius 0.1 } physics Physics { density -1 mass 2 }"
ROD_INERTIA = (1.0 + 0.02**2) / 12.0 + 0.25  # 1 kg, 1 m, about its end
FAST = "maxVelocity 100 maxTorque 10"


class Stage:
    """World from text, with its scene."""

    def __init__(self, text, *, step_s=0.032, info="", release="R2025a", **options):
        info = f"basicTimeStep {step_s * 1000} {info}"
        self.world = read_world(f"#VRML_SIM {release} utf8\nWorldInfo {{ {info} }}\n{text}")
        self.scene = PhysicsScene(self.world, step_s=step_s, **options)

    def __getitem__(self, name):
        node = self.world.find_def(name)
        assert node is not None
        return node

    def run(self, steps):
        for _ in range(steps):
            self.scene.ahead(1)
            self.scene.commit(1)

    def state(self, name):
        return type(self.scene.present(self[name]))(
            *(array[0] for array in self.scene.present(self[name]))
        )

    def position(self, name):
        return self.scene.position(self[name])

    def command(self, name, command, *value):
        self.scene.command(self[name], command, value)

    def spin(self, name, velocity):
        self.command(name, "position", math.inf)
        self.command(name, "velocity", velocity)


def rod(joint="", motor="", position=0.0, *, physics="physics Physics { density -1 mass 1 }"):
    """Return a rod that hangs from the origin and rotates about y."""
    device = f"DEF M RotationalMotor {{ {motor} }}" if motor else ""
    x, z = -0.5 * math.sin(position), -0.5 * math.cos(position)
    return f"""Solid {{ children [ HingeJoint {{
        jointParameters HingeJointParameters {{ axis 0 1 0 position {position} {joint} }}
        device [ {device} DEF P PositionSensor {{ }} ]
        endPoint DEF ROD Solid {{
            translation {x} 0 {z} rotation 0 1 0 {position}
            boundingObject Box {{ size 0.02 0.02 1 }} {physics}
            children [ DEF TIP Accelerometer {{ translation 0 0 -0.5 }} ] }} }} ] }}"""


# -- falling, resting, sliding -------------------------------------------------------------------


def test_free_fall_is_exact_in_velocity_and_acceleration():
    stage = Stage(
        f"DEF B Solid {{ {BOX} linearVelocity 1 2 3 angularVelocity 0.3 0.2 0.1"
        " children [ DEF A Accelerometer { translation 0.1 0 0 } ] }"
    )
    stage.run(20)
    state, t = stage.state("B"), 0.64
    np.testing.assert_allclose(state.velocity, [1.0, 2.0, 3.0 - G * t], atol=1e-12)
    np.testing.assert_allclose(state.acceleration, [0.0, 0.0, -G], atol=1e-12)
    np.testing.assert_allclose(state.angular_velocity, [0.3, 0.2, 0.1], atol=1e-12)
    np.testing.assert_allclose(state.position, [t, 2 * t, 3 * t - G * t * t / 2], atol=0.01)
    w, arm = state.angular_velocity, state.R_world_from_body @ [0.1, 0.0, 0.0]
    lever = stage.state("A")
    np.testing.assert_allclose(lever.velocity, state.velocity + np.cross(w, arm), atol=1e-12)
    centripetal = np.cross(w, np.cross(w, arm))
    np.testing.assert_allclose(lever.acceleration, centripetal - [0, 0, G], atol=1e-12)


@pytest.mark.parametrize("step_s", [0.008, 0.032, 0.064])
def test_a_box_comes_to_rest_and_then_feels_gravity_alone(step_s):
    stage = Stage(f"{FLOOR} DEF B Solid {{ translation 0 0 0.1 {BOX} }}", step_s=step_s)
    stage.run(round(2.0 / step_s))
    state = stage.state("B")
    np.testing.assert_allclose(state.acceleration, 0.0, atol=1e-9)
    np.testing.assert_allclose(state.velocity, 0.0, atol=1e-9)
    np.testing.assert_allclose(state.position, [0.0, 0.0, 0.1], atol=1e-3)


def test_a_pile_rests_though_the_lightest_box_is_at_the_bottom():
    light, heavy = (BOX.replace("mass 2", f"mass {mass}") for mass in (0.05, 50))
    stage = Stage(
        f"{FLOOR} DEF A Solid {{ translation 0 0 0.1 {light} }}"
        f' DEF B Solid {{ name "b" translation 0 0 0.3 {heavy} }}'
    )
    stage.run(60)
    for name, height in (("A", 0.1), ("B", 0.3)):
        np.testing.assert_allclose(stage.state(name).position, [0, 0, height], atol=2e-3)
        np.testing.assert_allclose(stage.state(name).acceleration, 0.0, atol=1e-6)


def slope(friction, degrees=20.0):
    """Return a box on a plane that descends toward x, and the unit vector down the slope."""
    angle = math.radians(degrees)
    sine, cosine = math.sin(angle), math.cos(angle)
    turn = f"rotation 0 1 0 {angle}"
    stage = Stage(
        f'Solid {{ name "slope" {turn} boundingObject Plane {{ }} }}'
        f" DEF B Solid {{ {turn} translation {0.1 * sine} 0 {0.1 * cosine} {BOX} }}",
        info=f"contactProperties [ ContactProperties {{ coulombFriction [ {friction} ] }} ]",
    )
    return stage, np.array([cosine, 0.0, -sine])


def test_a_box_sticks_on_a_slope_within_the_cone_of_friction():
    stage, down = slope(0.5)
    stage.run(30)
    assert abs(stage.state("B").velocity @ down) < 1e-4
    np.testing.assert_allclose(stage.state("B").acceleration, 0.0, atol=1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.05, 0.2])
def test_a_box_slides_down_a_slope_with_what_friction_leaves_of_gravity(friction):
    stage, down = slope(friction)
    stage.run(15)
    before = stage.state("B").velocity @ down
    stage.run(30)
    found = (stage.state("B").velocity @ down - before) / 0.96
    expected = G * (math.sin(math.radians(20)) - friction * math.cos(math.radians(20)))
    assert found == pytest.approx(expected, rel=2e-3)


def test_friction_is_that_of_the_first_rule_for_both_materials():
    rules = (
        'ContactProperties { material1 "ice" coulombFriction [ 0 ] }'
        ' ContactProperties { material2 "ice" coulombFriction [ 1 ] }'
    )
    stage = Stage(
        f"{FLOOR} DEF A Solid {{ translation 0 0 0.1 linearVelocity 1 0 0 {BOX}"
        f' contactMaterial "ice" }} DEF B Solid {{ name "b" translation 0 1 0.1'
        f" linearVelocity 1 0 0 {BOX} }}",
        info=f"contactProperties [ {rules} ]",
    )
    stage.run(20)
    assert stage.state("A").velocity[0] == pytest.approx(1.0, abs=1e-9)
    assert stage.state("B").velocity[0] == pytest.approx(0.0, abs=1e-3)


# -- impacts -------------------------------------------------------------------------------------


def test_a_collision_keeps_the_momentum():
    stage = Stage(
        f"DEF A Solid {{ linearVelocity 2 0.3 0 {BALL} }}"
        f' DEF B Solid {{ name "b" translation 1 0.05 0 {BALL.replace("mass 2", "mass 3")} }}',
        info="gravity 0",
    )
    stage.run(60)
    a, b = stage.state("A").velocity, stage.state("B").velocity
    assert b[0] > 0.5
    np.testing.assert_allclose(2.0 * a + 3.0 * b, [4.0, 0.6, 0.0], atol=1e-9)


def test_a_landing_takes_all_momentum_however_long_the_steps():
    for step_s in (0.004, 0.032):
        stage = Stage(f"{FLOOR} DEF B Solid {{ translation 0 0 0.6 {BOX} }}", step_s=step_s)
        velocities = [0.0]
        steps = round(2.0 / step_s)
        for _ in range(steps):
            stage.run(1)
            velocities.append(stage.state("B").velocity[2])
        impulse = np.sum(np.diff(velocities) + G * step_s)  # of the floor, for 1 kg
        assert impulse == pytest.approx(G * steps * step_s, rel=1e-6)
        assert min(velocities) == pytest.approx(-math.sqrt(2 * G * 0.5), rel=0.1)


@pytest.mark.parametrize(("bounce", "tolerance"), [(0.3, 0.03), (0.5, 0.02), (0.8, 0.02)])
def test_a_written_bounce_is_the_share_of_velocity_that_comes_back(bounce, tolerance):
    stage = Stage(
        f"{FLOOR} DEF B Solid {{ translation 0 0 1.1 {BALL} }}",
        info=f"contactProperties [ ContactProperties {{ bounce {bounce} }} ]",
        step_s=0.002,
    )
    velocities = []
    for _ in range(400):
        stage.run(1)
        velocities.append(stage.state("B").velocity[2])
    assert max(velocities) / -min(velocities) == pytest.approx(bounce, abs=tolerance)


# -- joints and motors ---------------------------------------------------------------------------


def test_a_pendulum_has_the_acceleration_of_its_angle_and_rate_at_every_instant():
    stage = Stage(rod(position=1.0), step_s=0.004)
    exact = solve_ivp(
        lambda _, y: [y[1], -G * 0.5 / ROD_INERTIA * math.sin(y[0])],
        (0.0, 1.0),
        [1.0, 0.0],
        rtol=1e-9,
    )
    for steps in (1, 120, 129):
        stage.run(steps)
        angle, tip = stage.position("P"), stage.state("TIP")
        rate, spin_up = tip.angular_velocity[1], -G * 0.5 / ROD_INERTIA * math.sin(angle)
        along_rod = tip.R_world_from_body @ [-spin_up, 0.0, rate**2]
        np.testing.assert_allclose(tip.acceleration, along_rod, atol=1e-10)
        np.testing.assert_allclose(tip.angular_acceleration, [0.0, spin_up, 0.0], atol=1e-10)
    assert stage.position("P") == pytest.approx(exact.y[0, -1], abs=0.01)


def test_a_motor_without_a_command_holds_from_the_first_instant():
    stage = Stage(rod(motor=FAST, position=1.0))
    np.testing.assert_allclose(stage.state("TIP").acceleration, 0.0, atol=0.01)
    stage.run(20)
    assert stage.position("M") == pytest.approx(1.0, abs=1e-4)


def test_a_motor_runs_at_the_commanded_velocity_against_gravity():
    stage = Stage(rod(motor=FAST))
    stage.spin("M", 3.0)
    stage.run(5)
    begin = stage.position("M")
    for _ in range(4):
        stage.run(10)
        assert stage.state("ROD").angular_velocity[1] == pytest.approx(3.0, abs=1e-4)
    assert stage.position("M") - begin == pytest.approx(3.0 * 1.28, abs=1e-4)
    np.testing.assert_allclose(stage.position("P"), stage.position("M"))
    tip = stage.state("TIP")
    expected = tip.R_world_from_body @ [0.0, 0.0, 9.0]
    np.testing.assert_allclose(tip.acceleration, expected, atol=1e-2)


def test_a_motor_speeds_up_with_its_whole_torque_and_no_more():
    stage = Stage(rod(motor="maxVelocity 100 maxTorque 0.5"), info="gravity 0")
    stage.spin("M", 50.0)
    stage.run(10)
    expected = 0.5 / ROD_INERTIA
    assert stage.state("ROD").angular_velocity[1] == pytest.approx(expected * 0.32, rel=1e-6)
    assert stage.state("ROD").angular_acceleration[1] == pytest.approx(expected, rel=1e-6)


def test_a_torque_turns_with_torque_over_inertia_and_velocity_control_brakes_again():
    stage = Stage(rod(motor=FAST), info="gravity 0")
    stage.command("M", "torque", 0.5)
    stage.run(10)
    expected = 0.5 / ROD_INERTIA
    assert stage.state("ROD").angular_acceleration[1] == pytest.approx(expected, rel=1e-9)
    assert stage.state("ROD").angular_velocity[1] == pytest.approx(expected * 0.32, rel=1e-9)
    stage.spin("M", 0.0)
    stage.run(2)
    assert stage.state("ROD").angular_velocity[1] == pytest.approx(0.0, abs=1e-5)


def test_wheels_that_a_torque_spins_faster_and_faster_stay_stable():
    stage = Stage(FLOOR + ROVER, info=SMOOTH, step_s=0.008)
    stage.command("L", "torque", 5.0)
    stage.run(100)
    assert np.isfinite(stage.state("A").acceleration).all()


def test_a_bar_that_turns_about_its_middle_stops_at_a_wall():
    stage = Stage(
        """Robot { children [ HingeJoint { jointParameters HingeJointParameters { axis 0 0 1 }
            device DEF M RotationalMotor { maxTorque 2 } endPoint DEF A Solid {
                boundingObject Box { size 0.8 0.05 0.05 } physics Physics { mass 1 } } } ] }
        Solid { name "wall" translation 0.25 0.3 0 boundingObject Box { size 0.1 0.1 0.1 } }""",
        info="gravity 0",
    )
    stage.spin("M", 2.0)
    stage.run(60)
    before = stage.position("M")
    assert 0.5 < before < 0.7
    stage.run(20)
    assert stage.position("M") == pytest.approx(before, abs=1e-6)
    np.testing.assert_allclose(stage.state("A").angular_acceleration, 0.0, atol=1e-3)


def test_position_control_reaches_its_target_and_holds_it_without_droop():
    stage = Stage(rod(motor=FAST))
    stage.command("M", "position", 1.0)
    stage.run(100)
    assert stage.position("M") == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(stage.state("TIP").acceleration, 0.0, atol=1e-3)


def test_a_weak_motor_stops_where_gravity_has_its_torque():
    stage = Stage(rod("dampingConstant 2", "maxTorque 2"))
    stage.command("M", "position", 1.5)
    stage.run(300)
    assert stage.position("M") == pytest.approx(math.asin(2.0 / G / 0.5), abs=1e-4)


def test_a_motor_with_an_acceleration_limit_has_that_acceleration():
    stage = Stage(rod(motor=f"{FAST} acceleration 2"))
    stage.spin("M", 3.0)
    stage.run(10)
    assert stage.state("ROD").angular_velocity[1] == pytest.approx(0.64, abs=1e-5)
    assert stage.state("ROD").angular_acceleration[1] == pytest.approx(2.0, abs=1e-2)


def test_a_command_out_of_range_is_warned_of():
    warnings = []
    stage = Stage(rod(motor="maxVelocity 5"), warn=lambda node, text: warnings.append((node, text)))
    stage.command("M", "velocity", 7.0)
    assert warnings == [
        (stage["M"], "The requested velocity 7 exceeds 'maxVelocity' = 5."),
    ]


def test_an_end_point_without_physics_moves_exactly_as_commanded():
    stage = Stage(rod(motor=FAST, physics=""))
    stage.spin("M", 3.0)
    stage.run(25)
    assert stage.position("M") == pytest.approx(3.0 * 0.8, rel=1e-14)
    tip = stage.state("TIP")
    np.testing.assert_allclose(tip.velocity, tip.R_world_from_body @ [-3.0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(tip.acceleration, tip.R_world_from_body @ [0, 0, 9.0], atol=1e-5)


SLIDER = """Solid {{ children [ SliderJoint {{ jointParameters JointParameters {{ axis 1 0 0 {} }}
    device [ DEF P PositionSensor {{ }} ] endPoint DEF B Solid {{ {} {} }} }} ] }}"""


def test_a_spring_swings_at_the_root_of_stiffness_over_mass():
    at = "position 0.1 springConstant 50"
    stage = Stage(SLIDER.format(at, "translation 0.1 0 0", BOX), step_s=0.004)
    half_period = math.pi * math.sqrt(2.0 / 50.0)
    stage.run(round(half_period / 0.004))
    assert stage.position("P") == pytest.approx(-0.1, rel=1e-3)
    assert stage.state("B").position[0] == pytest.approx(-0.1, rel=1e-3)
    assert stage.state("B").acceleration[0] == pytest.approx(25.0 * 0.1, rel=1e-3)


def test_a_damper_slows_exponentially_and_dry_friction_linearly():
    damped = Stage(SLIDER.format("dampingConstant 4", "", BOX))
    rubbed = Stage(SLIDER.format("staticFriction 1", "", BOX))
    for stage in (damped, rubbed):
        stage.scene._data.qvel[:] = 1.0
        stage.run(25)
    assert damped.state("B").velocity[0] == pytest.approx(math.exp(-4 / 2 * 0.8), rel=5e-3)
    assert rubbed.state("B").velocity[0] == pytest.approx(1.0 - 0.5 * 0.8, rel=1e-3)


def test_stops_hold_where_the_file_has_them():
    stage = Stage(rod("minStop -0.5 maxStop 0.5", position=0.4), info="gravity 0")
    stage.scene._data.qvel[:] = 1.0
    stage.run(60)
    assert stage.position("P") <= 0.5 + 1e-3
    stage.scene._data.qvel[:] = -1.0
    stage.run(60)
    assert stage.position("P") >= -0.5 - 1e-3


def test_the_second_axis_of_a_hinge2_is_carried_by_the_first():
    stage = Stage(
        """Solid { children [ Hinge2Joint {
            jointParameters HingeJointParameters { axis 0 0 1 anchor 1 0 0 }
            jointParameters2 JointParameters { axis 1 0 0 }
            device [ DEF M RotationalMotor { } ] device2 [ DEF N RotationalMotor { } ]
            endPoint DEF B Solid { translation 1 1 0 } } ] }"""
    )
    stage.command("M", "position", math.pi / 2)
    stage.command("N", "position", math.pi / 2)
    stage.run(300)
    np.testing.assert_allclose(stage.state("B").position, [1.0, 0.0, 1.0], atol=1e-6)
    axes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    np.testing.assert_allclose(stage.state("B").R_world_from_body, axes, atol=1e-6)


def test_a_ball_joint_lets_a_rod_circle_as_a_conical_pendulum():
    angle, length = 0.5, 1.0
    rate = math.sqrt(G / (length * math.cos(angle)))
    stage = Stage(
        f"""Solid {{ children [ BallJoint {{ endPoint DEF B Solid {{
            translation {math.sin(angle)} 0 {-math.cos(angle)}
            boundingObject Sphere {{ radius 0.001 }} physics Physics {{ density -1 mass 1 }} }} }} ]
        }}""",
        step_s=0.004,
    )
    stage.scene._data.qvel[:] = [0.0, 0.0, rate]
    stage.run(500)
    assert stage.state("B").position[2] == pytest.approx(-math.cos(angle), abs=2e-3)


def two_fingers(self_collision):
    """Return a robot with a finger on a motor that pushes against a loosely held one."""
    finger = "boundingObject Box { size 0.1 0.1 0.1 } physics Physics { mass 1 }"
    return Stage(
        f"""Robot {{ selfCollision {self_collision} children [
            SliderJoint {{ jointParameters JointParameters {{ axis 1 0 0 }}
                device DEF M LinearMotor {{ maxForce 200 }}
                endPoint DEF A Solid {{ name "a" {finger} }} }}
            SliderJoint {{ jointParameters JointParameters {{ axis 1 0 0 dampingConstant 50 }}
                endPoint DEF B Solid {{ name "b" translation 0.2 0 0 {finger} }} }} ] }}""",
        info="gravity 0",
    )


@pytest.mark.parametrize(("self_collision", "pushed"), [("TRUE", 0.3), ("FALSE", 0.2)])
def test_parts_of_a_robot_touch_only_where_it_says_so(self_collision, pushed):
    stage = two_fingers(self_collision)
    stage.command("M", "position", 0.2)
    stage.run(100)
    assert stage.state("A").position[0] == pytest.approx(0.2, abs=1e-3)
    assert stage.state("B").position[0] == pytest.approx(pushed, abs=0.03)


def test_coupled_motors_take_each_others_commands():
    arms = "".join(
        f"""HingeJoint {{ device DEF {name} RotationalMotor {{ name "arm::{name}" }}
            endPoint Solid {{ name "{name}" {BOX} }} }}"""
        for name in "LR"
    )
    stage = Stage(f"Robot {{ children [ {arms} ] }}")
    stage.command("L", "position", 0.5)
    stage.run(60)
    assert stage.position("R") == pytest.approx(0.5, abs=1e-4)


# -- robots --------------------------------------------------------------------------------------


def wheel(y, radius=0.05):
    name = "L" if y > 0 else "R"
    return f"""HingeJoint {{ jointParameters HingeJointParameters {{ axis 0 1 0 anchor 0 {y} 0 }}
        device [ DEF {name} RotationalMotor {{ name "{name}" maxVelocity 20 }} ]
        endPoint Solid {{ translation 0 {y} 0 rotation 1 0 0 1.5707963267948966 name "w{name}"
            boundingObject Sphere {{ radius {radius} }}
            physics Physics {{ density -1 mass 0.1 }} }} }}"""


ROVER = f"""Robot {{ translation 0 0 0.05 children [ DEF A Accelerometer {{ }} DEF G Gyro {{ }}
        {wheel(0.1)} {wheel(-0.1)} ] contactMaterial "ball"
    boundingObject Group {{ children [
        Pose {{ translation -0.1 0 -0.03 children [ Sphere {{ radius 0.02 }} ] }}
        Pose {{ translation 0.1 0 -0.03 children [ Sphere {{ radius 0.02 }} ] }} ] }}
    physics Physics {{ density -1 mass 1 centerOfMass [ 0 0 0 ] }} }}"""
SMOOTH = 'contactProperties [ ContactProperties { material1 "ball" coulombFriction [ 0 ] } ]'


def test_a_robot_on_wheels_drives_at_rate_times_radius():
    stage = Stage(FLOOR + ROVER, info=SMOOTH)
    for name in "LR":
        stage.spin(name, 4.0)
    stage.run(60)
    state = stage.state("A")
    np.testing.assert_allclose(state.velocity, [4.0 * 0.05, 0.0, 0.0], rtol=0.01, atol=1e-6)
    np.testing.assert_allclose(state.acceleration, 0.0, atol=1e-4)


def test_a_robot_on_wheels_turns_at_the_difference_over_the_track():
    stage = Stage(FLOOR + ROVER, info=SMOOTH)
    stage.spin("L", 3.0)
    stage.spin("R", 5.0)
    stage.run(60)
    rate = stage.state("G").angular_velocity
    np.testing.assert_allclose(rate, [0.0, 0.0, 2.0 * 0.05 / 0.2], rtol=0.01, atol=1e-5)


def drone(spin_direction):
    return "".join(
        f"""Propeller {{ shaftAxis 0 0 1 centerOfThrust {x} {y} 0.02
            thrustConstants 0.001 0 torqueConstants {sign * 1e-4} 0
            device DEF {name} RotationalMotor {{ name "{name}" maxVelocity 200 }} }}"""
        for name, x, y, sign in (
            ("A", 0.1, 0.1, 1),
            ("B", -0.1, 0.1, -spin_direction),
            ("C", -0.1, -0.1, 1),
            ("D", 0.1, -0.1, -spin_direction),
        )
    )


@pytest.mark.parametrize("direction", [1, -1])
def test_a_drone_hovers_on_thrust_and_turns_by_the_torque_of_its_propellers(direction):
    stage = Stage(
        f"Robot {{ translation 0 0 1 {BOX} children [ DEF U Gyro {{ }} {drone(direction)} ] }}"
    )
    hover = math.sqrt(2.0 * G / 4 / 0.001)
    for name in "ABCD":
        stage.spin(name, hover)
    stage.run(30)
    state = stage.state("U")
    np.testing.assert_allclose(state.velocity, 0.0, atol=1e-9)
    np.testing.assert_allclose(state.acceleration, 0.0, atol=1e-9)
    inertia = 2.0 * 0.2**2 / 6.0
    torque = 0.0 if direction == 1 else -4 * 1e-4 * hover**2
    assert state.angular_acceleration[2] == pytest.approx(torque / inertia, abs=1e-9)


@pytest.mark.parametrize(("linear", "angular"), [(0.2, 0.5), (0.0, 1.0), (-1.0, 1.5)])
def test_damping_takes_its_share_of_the_velocities_in_a_second(linear, angular):
    stage = Stage(
        f"DEF B Solid {{ linearVelocity 3 0 0 angularVelocity 0 0 2 {BOX} }}",
        info=f"gravity 0 defaultDamping Damping {{ linear {linear} angular {angular} }}",
        step_s=0.01,
    )
    stage.run(100)
    state = stage.state("B")
    kept, kept_of_turn = 1.0 - np.clip([linear, angular], 0.0, 1.0)
    np.testing.assert_allclose(state.velocity, [3.0 * kept, 0, 0], atol=1e-9)
    np.testing.assert_allclose(state.angular_velocity, [0, 0, 2.0 * kept_of_turn], atol=1e-9)


def test_worlds_with_y_and_z_upwards_move_alike():
    """The same spinning box on the same floor, with axes named x, y, z and z, x, y."""
    first = Stage(
        f"{FLOOR} DEF B Solid {{ translation 0 0 0.3 {BOX} linearVelocity 1 0.5 0"
        " angularVelocity 1 2 3 }"
    )
    second = Stage(
        f"{FLOOR} DEF B Solid {{ translation 0 0.3 0 {BOX} linearVelocity 0.5 0 1"
        " angularVelocity 2 3 1 }",
        release="R2021a",
        info='coordinateSystem "NUE"',
    )
    for _ in range(12):
        first.run(1)
        second.run(1)
        one, other = first.state("B"), second.state("B")
        np.testing.assert_allclose(one.position[[1, 2, 0]], other.position, atol=1e-6)
        np.testing.assert_allclose(one.velocity[[1, 2, 0]], other.velocity, atol=1e-5)


# -- unsupported content, and errors -------------------------------------------------------------


def test_what_cannot_be_mapped_is_listed_once_each():
    stage = Stage(
        f"""{FLOOR} Solid {{ name "a" translation 0 0 1 boundingObject IndexedFaceSet {{ }}
                physics Physics {{ mass 1 }} children [
            Connector {{ }} Connector {{ }}
            SliderJoint {{ endPoint SolidReference {{ solidName "b" }} }}
            HingeJoint {{ jointParameters HingeJointParameters {{ suspensionSpringConstant 1 }}
                endPoint Solid {{ name "c" {BOX} }} }} ] }}
        Solid {{ name "d" boundingObject Plane {{ }} physics Physics {{ }} translation 0 0 9 }}
        Robot {{ children [ Propeller {{ }} ] }}""",
        info='physics "plugin" contactProperties [ ContactProperties {'
        " rollingFriction 0.1 0 0 coulombFriction [ 1, 2 ] } ]",
    )
    found = [notice.replace(": not simulated", "") for notice in stage.scene.notices]
    assert [" ".join(notice.split(": ")[::2]) for notice in found] == [
        "Solid 'a' bounding object of a body with Physics (none",
        "Solid 'a' IndexedFaceSet as bounding object",
        "Connector holding",
        "SolidReference as the end of a SliderJoint",
        "HingeJointParameters suspension",
        "Solid 'd' bounding object of a body with Physics (none",
        "Solid 'd' Plane as bounding object",
        "Propeller thrust on a Solid without Physics",
        "ContactProperties rollingFriction",
        "ContactProperties coulombFriction in two directions",
        "WorldInfo physics plugin",
    ]


def test_an_unstable_simulation_is_an_error_of_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes a log to the working directory
    stage = Stage(SLIDER.format("position 1 springConstant 1e9", "translation 1 0 0", BOX))
    with pytest.raises(ValueRangeError, match="expected a stable simulation") as caught:
        stage.run(100)
    assert "\n" not in str(caught.value)


def test_a_size_that_mujoco_refuses_is_an_error_of_one_line():
    with pytest.raises(ValueRangeError, match=r"got: .*size") as caught:
        Stage("Solid { boundingObject Sphere { radius 0 } }")
    assert "\n" not in str(caught.value)


def test_a_node_outside_the_world_has_no_state():
    stage, other = Stage(FLOOR), Stage("DEF B Solid { }")
    with pytest.raises(DeviceError, match="a node with a place"):
        stage.scene.watch(other["B"])


def test_physics_looks_one_step_ahead_and_no_further():
    scene = Stage(FLOOR).scene
    assert scene.lookahead == 1
    with pytest.raises(ValueRangeError, match="expected 1 state"):
        scene.ahead(2)


def test_without_mujoco_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(BackendMissingError, match="physics"):
        Stage(FLOOR)


# -- changes by a supervisor ---------------------------------------------------------------------


def test_the_same_commands_give_the_same_bits_whatever_is_read_between():
    def play(*, reads):
        stage = Stage(FLOOR + ROVER, info=SMOOTH)
        stage.spin("L", 3.0)
        stage.command("R", "position", 2.0)
        for _ in range(40):
            stage.run(1)
            if reads:
                stage.state("A")
                stage.scene._engine.settle()
        return np.concatenate([array.ravel() for array in stage.state("A")]).tobytes()

    assert play(reads=False) == play(reads=False) == play(reads=True)


def test_a_horizon_is_the_state_of_the_step_taken():
    stage = Stage(rod(motor=FAST))
    stage.spin("M", 3.0)
    horizon = stage.scene.ahead(1)
    stage.scene.commit(1)
    for one, other in zip(
        horizon.states(stage["TIP"]), stage.scene.present(stage["TIP"]), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert horizon.positions(stage["P"]) == [stage.position("P")]
    assert math.isnan(stage.scene.position(stage["ROD"]))


def test_only_what_was_set_changes_where_a_body_floats():
    stage = Stage(f"DEF B Solid {{ {BOX} linearVelocity 1 0 0 }}", info="gravity 0")
    stage.run(10)
    for _ in range(2):  # the second time to the position that its field already has
        stage["B"].set("translation", [0.0, 0.0, 5.0])
        stage.scene.place(stage["B"])
        state = stage.state("B")
        np.testing.assert_allclose(state.position, [0.0, 0.0, 5.0], atol=1e-12)
        np.testing.assert_allclose(state.velocity, [1.0, 0.0, 0.0], atol=1e-12)
        stage.run(5)
    moved = stage.state("B").position
    stage["B"].set("angularVelocity", [0.0, 0.0, 1.0])
    stage["B"].set("linearVelocity", [0.0, 2.0, 0.0])
    stage.scene.place(stage["B"])
    np.testing.assert_allclose(stage.state("B").position, moved, atol=1e-12)
    np.testing.assert_allclose(stage.state("B").velocity, [0.0, 2.0, 0.0], atol=1e-12)
    stage["B"].set("rotation", [0.0, 0.0, 1.0, 1.0])
    stage.scene.place(stage["B"])
    turned = stage.state("B")
    assert turned.R_world_from_body[1, 0] == pytest.approx(math.sin(1.0))
    np.testing.assert_allclose(turned.angular_velocity, [0.0, 0.0, 1.0], atol=1e-12)


def test_the_velocity_of_a_body_is_that_of_its_centre_of_mass():
    stage = Stage(
        "DEF B Solid { boundingObject Box { size 1 1 1 } angularVelocity 0 0 2"
        " physics Physics { mass 1 density -1 centerOfMass [ 0.1 0 0 ] } }",
        info="gravity 0",
    )
    np.testing.assert_allclose(stage.state("B").velocity, [0.0, -0.2, 0.0], atol=1e-12)
    stage.run(30)
    center = stage.state("B").position + stage.state("B").R_world_from_body @ [0.1, 0.0, 0.0]
    np.testing.assert_allclose(center, [0.1, 0.0, 0.0], atol=1e-3)


def test_what_stands_can_be_moved_and_carries_what_hangs_on_it():
    stage = Stage(f"Pose {{ translation 1 0 0 children [ DEF BASE {rod()} ] }}")
    stage.run(5)
    stage["BASE"].set("translation", [0.0, 0.0, 3.0])
    stage.scene.place(stage["BASE"])
    np.testing.assert_allclose(stage.state("BASE").position, [1.0, 0.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(stage.state("ROD").position, [1.0, 0.0, 2.5], atol=1e-12)
    np.testing.assert_allclose(stage.state("BASE").velocity, 0.0)


def test_a_floor_that_sinks_lets_a_box_down():
    stage = Stage(f"DEF F {FLOOR} DEF B Solid {{ translation 0 0 0.1 {BOX} }}")
    stage.run(10)
    stage["F"].set("translation", [0.0, 0.0, -0.5])
    stage.scene.place(stage["F"])
    stage.run(60)
    np.testing.assert_allclose(stage.state("B").position, [0.0, 0.0, -0.4], atol=1e-3)


def test_a_node_that_comes_leaves_the_others_on_their_way():
    def play(*, insert):
        stage = Stage(FLOOR + ROVER + f"DEF B Solid {{ translation 3 0 2 {BOX} }}", info=SMOOTH)
        stage.spin("L", 3.0)
        stage.spin("R", 4.0)
        stage.run(10)
        if insert:
            text = '#VRML_SIM R2025a utf8\nDEF NEW Solid { name "new" translation 9 9 9 }'
            stage.world.nodes.append(read_world(text).find_def("NEW"))
            stage.scene.rebuild()
        stage.run(10)
        return stage

    plain, grown = play(insert=False), play(insert=True)
    np.testing.assert_array_equal(grown.state("NEW").position, [9.0, 9.0, 9.0])
    for name in "AB":
        for one, other in zip(plain.state(name), grown.state(name), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_body_that_comes_falls_from_where_it_is_put():
    stage = Stage(FLOOR + rod())
    stage.run(10)
    text = f'#VRML_SIM R2025a utf8\nDEF NEW Solid {{ name "new" translation 9 9 9 {BOX} }}'
    stage.world.nodes.append(read_world(text).find_def("NEW"))
    stage.scene.rebuild()
    stage.run(10)
    assert stage.state("NEW").velocity[2] == pytest.approx(-G * 0.32)


def test_a_position_that_is_written_to_a_joint_becomes_its_own():
    stage = Stage(rod(motor=FAST, position=0.2))
    stage.run(5)
    parameters = next(node for node in stage.world.walk() if node.type == "HingeJointParameters")
    parameters.set("position", 0.7)
    stage.scene.rebuild()
    assert stage.position("P") == pytest.approx(0.7)
    stage.run(5)
    assert stage.position("P") == pytest.approx(0.7, abs=1e-4)
    expected = [-0.5 * math.sin(0.7), 0.0, -0.5 * math.cos(0.7)]
    np.testing.assert_allclose(stage.state("ROD").position, expected, atol=1e-4)


def test_a_pose_that_an_end_point_gets_belongs_to_the_present_position():
    stage = Stage(rod(motor=FAST))
    stage.command("M", "position", 1.0)
    stage.run(60)
    stage["ROD"].set("translation", [0.0, 0.0, -0.25])
    stage["ROD"].set("rotation", [0.0, 1.0, 0.0, 0.0])
    stage.scene.place(stage["ROD"])
    np.testing.assert_allclose(stage.state("ROD").position, [0.0, 0.0, -0.25], atol=1e-12)
    assert stage.position("M") == pytest.approx(1.0, abs=1e-4)


def test_gravity_can_be_changed():
    stage = Stage(f"DEF B Solid {{ {BOX} }}")
    stage.world.world_info.set("gravity", 1.6)
    stage.scene.rebuild()
    stage.run(1)
    np.testing.assert_allclose(stage.state("B").acceleration, [0.0, 0.0, -1.6], atol=1e-12)


# -- worlds that need physics --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FLOOR, False),
        (f"Solid {{ {BOX} }}", True),
        ("Robot { physics Physics { } }", False),
        ("Robot { physics Physics { mass 1 } }", True),
        (f"Robot {{ physics Physics {{ }} children [ Solid {{ {BOX} }} ] }}", True),
        (f"Pose {{ children [ Solid {{ {BOX} }} ] }}", True),
        (f"Solid {{ children [ Solid {{ {BOX} }} ] }}", False),
        (rod(), True),
        (rod(motor=FAST), False),
        (rod(physics=""), False),
        (
            f"Solid {{ children [ Slot {{ endPoint Slot {{ endPoint Solid {{ {BOX} }} }} }} ] }}",
            False,
        ),
    ],
)
def test_a_world_needs_physics_where_something_moves_without_a_motor(text, expected):
    world = read_world(f"#VRML_SIM R2025a utf8\n{text}")
    assert needs_physics(world) is expected
