"""Closed loops of joints: a joint whose end point is a SolidReference."""

import math

import numpy as np
import pytest

from strapdown.webots import Robot, World

pytest.importorskip("mujoco")

LENGTH, START = 0.5, 0.05


def arm(x, name, end):
    """Return a light arm that hangs on a hinge, deflected at the start, and what it carries."""
    place = f"{x - LENGTH * math.sin(START)} 0 {-LENGTH * math.cos(START)}"
    return f"""HingeJoint {{
      jointParameters HingeJointParameters {{ axis 0 1 0 anchor {x} 0 0 position {START} }}
      device PositionSensor {{ name "{name}" }}
      endPoint Solid {{ translation {place} rotation 0 1 0 {START} name "arm {name}"
        boundingObject Pose {{ translation 0 0 0.25 children Box {{ size 0.01 0.01 0.4 }} }}
        physics Physics {{ density -1 mass 1e-4 }}
        children {end} }} }}"""


def parallelogram(loop):
    """Return a bar on two parallel arms."""
    bar = f"""HingeJoint {{
      jointParameters HingeJointParameters {{ axis 0 1 0 position {-START} }}
      endPoint Solid {{ rotation 0 1 0 {-START} name "bar"
        boundingObject Pose {{ translation 0.2 0 0 children Box {{ size 0.3 0.05 0.05 }} }}
        physics Physics {{ density -1 mass 2 }} }} }}"""
    return f"""#VRML_SIM R2025a utf8
    WorldInfo {{ basicTimeStep 4 }}
    Robot {{ translation 0 0 1 children [ {arm(-0.2, "a", bar)} {arm(0.2, "b", loop)} ] }}"""


@pytest.mark.parametrize(
    "loop",
    [
        "HingeJoint { jointParameters HingeJointParameters { axis 0 1 0 } endPoint BAR }",
        "BallJoint { endPoint BAR }",
    ],
)
def test_a_bar_on_two_arms_swings_as_a_point_on_one(loop):
    """It does not turn: its period is that of the mathematical pendulum, T = 2 pi sqrt(L / g)."""
    robot = Robot(World(parallelogram(loop.replace("BAR", 'SolidReference { solidName "bar" }'))))
    sensors = [robot.getDevice(name) for name in "ab"]
    for sensor in sensors:
        sensor.enable(4)
    angles = []
    for _ in range(1500):
        robot.step(4)
        angles.append([sensor.getValue() for sensor in sensors])
    one, other = np.array(angles).T
    assert other == pytest.approx(one, abs=2e-5)
    falling = np.flatnonzero((one[:-1] > 0) & (one[1:] <= 0))
    times = 0.004 * (falling + one[falling] / (one[falling] - one[falling + 1]))
    period = 2 * math.pi * math.sqrt(LENGTH / 9.81) * (1 + START**2 / 16)
    assert np.diff(times) == pytest.approx(period, rel=2e-4)


def leg(side, y):
    """Return a leg with a motor at the hip and a rod that keeps the foot level."""
    foot = f"""HingeJoint {{ jointParameters HingeJointParameters {{ axis 0 1 0 }}
      endPoint Solid {{ name "foot {side}"
        boundingObject Pose {{ translation 0 0 -0.03 children Box {{ size 0.2 0.1 0.02 }} }}
        physics Physics {{ density -1 mass 0.4 }}
        children InertialUnit {{ name "level {side}" }} }} }}"""
    rod = f'BallJoint {{ endPoint SolidReference {{ solidName "foot {side}" }} }}'
    part = """Solid {{ translation {x} {y} -0.4 name "{name}"
        boundingObject Pose {{ translation 0 0 0.2 children Box {{ size 0.02 0.02 0.3 }} }}
        physics Physics {{ density -1 mass 0.3 }} children {end} }}"""
    thigh = part.format(x=0, y=y, name=f"thigh {side}", end=foot)
    link = part.format(x=-0.06, y=y, name=f"rod {side}", end=rod)
    hinge = f"axis 0 1 0 anchor {{x}} {y} 0"
    return f"""
      HingeJoint {{ jointParameters HingeJointParameters {{ {hinge.format(x=0)} }}
        device RotationalMotor {{ name "hip {side}" maxVelocity 0.2 maxTorque 60 }}
        endPoint {thigh} }}
      HingeJoint {{ jointParameters HingeJointParameters {{ {hinge.format(x=-0.06)} }}
        endPoint {link} }}"""


def test_a_biped_with_rods_to_its_feet_stands_and_bows():
    """The rods keep the feet parallel to the torso, as on many real legs."""
    robot = Robot(
        World(
            f"""#VRML_SIM R2025a utf8
    WorldInfo {{ basicTimeStep 8 }}
    Solid {{ boundingObject Plane {{ }} }}
    Robot {{ translation 0 0 0.442 children [ GPS {{ }} {leg("left", 0.1)} {leg("right", -0.1)} ]
      boundingObject Pose {{ translation 0 0 0.1 children Box {{ size 0.1 0.3 0.2 }} }}
      physics Physics {{ density -1 mass 5 }} }}"""
        )
    )
    gps = robot.getDevice("gps")
    feet = [robot.getDevice(f"level {side}") for side in ("left", "right")]
    for sensor in (gps, *feet):
        sensor.enable(8)
    for angle in (0.0, 0.15, -0.15, 0.0):
        for side in ("left", "right"):
            robot.getDevice(f"hip {side}").setPosition(angle)
        for _ in range(220):
            robot.step(8)
        assert gps.getValues()[2] == pytest.approx(0.04 + 0.4 * math.cos(angle), abs=5e-3)
        for foot in feet:
            q = np.array(foot.getQuaternion())
            assert 2 * np.linalg.norm(q[:3]) < 0.01  # level with the world


def test_a_reference_to_nothing_is_listed(capsys):
    World(parallelogram('BallJoint { endPoint SolidReference { solidName "nobody" } }'))
    assert "SolidReference to 'nobody', which the Robot does not have" in capsys.readouterr().err


def test_the_world_itself_can_be_the_other_end():
    """A hanging chain that is also fixed at its lower end does not fall."""
    world = """#VRML_SIM R2025a utf8
    WorldInfo { basicTimeStep 4 }
    Robot { translation 0 0 1 children [ GPS { }
      BallJoint { jointParameters BallJointParameters { anchor 0.3 0 0 }
        endPoint SolidReference { solidName "<static environment>" } } ]
      boundingObject Box { size 0.6 0.1 0.1 } physics Physics { } }"""
    robot = Robot(world)
    gps = robot.getDevice("gps")
    gps.enable(4)
    lowest = 1.0
    for _ in range(1000):
        robot.step(4)
        x, _, z = gps.getValues()
        assert math.hypot(x - 0.3, z - 1.0) == pytest.approx(0.3, abs=1e-4)
        lowest = min(lowest, z)
    assert lowest == pytest.approx(0.7, abs=1e-2)
