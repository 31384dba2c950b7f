"""PROTOs of the package for robots of the guide of Webots, where a world has only their address."""

import math

import numpy as np
import pytest

from strapdown.webots import Robot, World
from strapdown.webots.file.proto_library import PROTOS
from strapdown.webots.file.world_file import devices_of, read_world

pytest.importorskip("mujoco")

ADDRESS = "https://example.org/webots/projects/robots"
PARTS = PROTOS.with_name("proto_parts")
FLOOR = "Solid { boundingObject Plane { } }"
WHEELED = {
    # name: motors, radius of the wheels and distance between them [m]
    "E-puck": (("left wheel motor", "right wheel motor"), 0.02, 0.052),
    "Pioneer3dx": (("left wheel", "right wheel"), 0.0975, 0.33),
    "TurtleBot3Burger": (("left wheel motor", "right wheel motor"), 0.033, 0.16),
}


def placed(name, fields="", more=FLOOR, info=""):
    return f"""#VRML_SIM R2025a utf8
    EXTERNPROTO "{ADDRESS}/{name}.proto"
    WorldInfo {{ basicTimeStep 8 {info} }}
    {more}
    {name} {{ {fields} }}"""


@pytest.mark.parametrize("name", WHEELED)
def test_it_drives_straight_and_turns_as_its_wheels_say(name):
    motors, radius, track = WHEELED[name]
    world = World(placed(name))
    robot = Robot(world)
    left, right = map(robot.getDevice, motors)
    node = world.file.robots[0]
    for motor in (left, right):
        motor.setPosition(math.inf)
        motor.setVelocity(2.0)
    for _ in range(200):
        robot.step(8)
    state = world.scene.present(node)
    assert state.velocity[0] == pytest.approx([2.0 * radius, 0.0, 0.0], abs=0.02 * radius)
    assert state.R_world_from_body[0][2, 2] == pytest.approx(1.0, abs=1e-4)  # upright
    left.setVelocity(-2.0)
    for _ in range(100):
        robot.step(8)
    rate = 2.0 * radius * 2.0 / track
    assert world.scene.present(node).angular_velocity[0][2] == pytest.approx(rate, rel=0.1)


def test_the_ring_of_an_e_puck_sees_a_wall_where_it_is():
    wall = "Solid { translation 0.1 0 0 children Shape { geometry Box { size 0.1 0.5 0.2 } } }"
    robot = Robot(placed("E-puck", more=f"{FLOOR}\n{wall}"))
    sensors = [robot.getDevice(f"ps{i}") for i in range(8)]
    for sensor in sensors:
        sensor.enable(8)
    robot.step(8)
    values = [sensor.getValue() for sensor in sensors]
    assert max(values[2:6]) < 80 < min(values[0], values[7])  # 20 mm in front, nothing behind


def test_a_sonar_of_a_pioneer_sees_a_wall_where_it_is():
    wall = "Solid { translation 2.18 0 0 boundingObject Box { size 2 9 2 } }"
    robot = Robot(placed("Pioneer3dx", more=f"{FLOOR}\n{wall}"))
    front, rear = robot.getDevice("so3"), robot.getDevice("so12")
    for sensor in (front, rear):
        sensor.enable(8)
    robot.step(8)
    at = 0.03 + 0.15 * math.cos(math.radians(10))
    distance = (1.18 - at) / math.cos(math.radians(10))
    assert front.getValue() == pytest.approx(1024 * (1 - distance / 5), abs=1.0)
    assert rear.getValue() == 0.0


def test_a_mavic_hovers_at_the_velocity_of_the_guide():
    """The constants of the controller in the guide: 68.5 rad/s, and 3 times the cube of an offset.

    With its offset of 0.6 m it hovers at the target, as the guide has it.
    """
    damped = "defaultDamping Damping { linear 0.5 angular 0.5 }"
    robot = Robot(World(placed("Mavic2Pro", info=damped)))
    unit, gps, gyro = (robot.getDevice(name) for name in ("inertial unit", "gps", "gyro"))
    for sensor in (unit, gps, gyro):
        sensor.enable(8)
    signs = {"front left": 1, "front right": -1, "rear left": -1, "rear right": 1}
    motors = {place: robot.getDevice(f"{place} propeller") for place in signs}
    for motor in motors.values():
        motor.setPosition(math.inf)
        motor.setVelocity(1.0)
    heights = []
    for _ in range(3000):
        robot.step(8)
        x, y, z, w = unit.getQuaternion()
        roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
        rate_x, rate_y, _ = gyro.getValues()
        roll_input = 50.0 * max(-1.0, min(1.0, roll)) + rate_x
        pitch_input = 30.0 * max(-1.0, min(1.0, pitch)) + rate_y
        heights.append(gps.getValues()[2])
        lift = 3.0 * max(-1.0, min(1.0, 2.0 - heights[-1] + 0.6)) ** 3
        for place, motor in motors.items():
            left = 1 if "left" in place else -1
            nose = 1 if "front" in place else -1
            share = 68.5 + lift - left * roll_input + nose * pitch_input
            motor.setVelocity(signs[place] * share)
    assert np.mean(heights[-500:]) == pytest.approx(2.0, abs=0.1)
    assert np.ptp(heights[-500:]) < 0.3


def test_a_crazyflie_hangs_from_its_thrust():
    """m g = 4 k w |w|: the velocity at which it neither rises nor falls."""
    world = World(placed("Crazyflie", "translation 0 0 5", more=""))
    robot = Robot(world)
    hover = math.sqrt(0.05 * 9.81 / (4 * 4e-5))
    for i, sign in enumerate((-1, 1, -1, 1), 1):
        motor = robot.getDevice(f"m{i}_motor")
        motor.setPosition(math.inf)
        motor.setVelocity(sign * hover)
    for _ in range(100):
        robot.step(8)
    state = world.scene.present(world.file.robots[0])
    assert state.position[0] == pytest.approx([0, 0, 5], abs=1e-2)
    assert state.angular_velocity[0] == pytest.approx([0, 0, 0], abs=1e-6)
    below = robot.getDevice("range_front")
    below.enable(8)
    robot.step(8)
    assert below.getValue() == 2000.0


@pytest.mark.parametrize("part", sorted(path.stem for path in PARTS.glob("*.proto")))
def test_a_part_of_the_robots_is_nothing_that_a_world_can_use(part):
    address = f"{ADDRESS}/{part}.proto"
    reason = f"no effect, nothing can rest on it: PROTO at '{address}' is not fetched"
    assert read_world(placed(part, more="")).notices == [f"{part}: line 5: {reason}"]


def test_a_robot_keeps_its_wheels_and_carries_one_of_the_user(tmp_path):
    (tmp_path / "Wheel.proto").write_text(
        '#VRML_SIM R2025a utf8\nPROTO Wheel [ ] { Gyro { name "of the user" } }'
    )
    text = placed("Pioneer3dx", "extensionSlot Wheel { }")
    plain = devices_of(read_world(placed("Pioneer3dx")).robots[0])
    for declared in ("", f'EXTERNPROTO "{tmp_path}/Wheel.proto"\n'):
        world = text.replace("EXTERNPROTO", f"{declared}EXTERNPROTO", 1)
        devices = devices_of(read_world(world, proto_dirs=[tmp_path]).robots[0])
        assert [d.get("name") for d in devices[:-1]] == [d.get("name") for d in plain]
        assert devices[-1].get("name") == "of the user"


def test_a_file_of_the_user_is_preferred_and_a_note_says_what_was_used(tmp_path):
    (own,) = read_world(placed("Crazyflie")).notices
    assert own == (
        f"Crazyflie: line 5: PROTO at '{ADDRESS}/Crazyflie.proto' is not fetched: a simpler one of"
        " strapdown with the same devices is used"
    )
    (tmp_path / "Crazyflie.proto").write_text(
        "#VRML_SIM R2025a utf8\nPROTO Crazyflie [ ] { Robot { children Gyro { } } }"
    )
    theirs = read_world(placed("Crazyflie"), proto_dirs=[tmp_path])
    assert theirs.notices == []
    assert len(devices_of(theirs.robots[0])) == 1
