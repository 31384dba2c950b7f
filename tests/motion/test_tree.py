"""Kinematic trees against closed forms, numerical derivatives, and MuJoCo's kinematics."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.motion.earth import FlatEarth
from strapdown.motion.joint_laws import Motor, Sine
from strapdown.motion.mount import Mounted
from strapdown.motion.tree import Hinge, KinematicTree, Link, Slider, ball, hinge2

X, Y, Z = np.eye(3)
GRAVITY = np.array([0.0, 0.0, -9.81])
TURN = 0.3826834323650898  # sine of 22.5 degrees
COTURN = 0.9238795325112867

LAWS = [Sine(0.3 + 0.1 * i, 1.0 + 0.37 * i, phase=0.5 * i, offset=0.1 * i) for i in range(8)]

# The same chain in MJCF; its joints in this order follow LAWS.
CHAIN = f"""<mujoco><option gravity="0 0 -9.81"/>
<default><geom type="sphere" size="0.05" contype="0" conaffinity="0"/></default>
<worldbody>
<body pos="0.1 0.2 0.3" quat="{COTURN} 0 0 {TURN}"><geom/>
 <joint type="hinge" axis="1 2 2" pos="0.1 -0.2 0.05"/>
 <body pos="0 0.3 0.1"><geom/>
  <joint type="slide" axis="0 3 4"/>
  <body pos="0.2 0 -0.1" quat="{COTURN} {TURN} 0 0"><geom/>
   <joint type="hinge" axis="0 1 0" pos="0 0.1 0"/><joint type="hinge" axis="1 0 1" pos="0 0.1 0"/>
   <body pos="0.15 0.05 0.25"><geom/>
    <joint type="hinge" axis="0 0 1" pos="0.02 0.03 -0.1"/>
    <joint type="hinge" axis="0 1 0" pos="0.02 0.03 -0.1"/>
    <joint type="hinge" axis="1 0 0" pos="0.02 0.03 -0.1"/>
    <joint type="slide" axis="1 -1 0"/>
    <site name="tip"/>
 </body></body></body></body>
</worldbody>
<sensor><framepos objtype="site" objname="tip"/><framequat objtype="site" objname="tip"/>
<framelinvel objtype="site" objname="tip"/><gyro site="tip"/><accelerometer site="tip"/>
<frameangacc objtype="site" objname="tip"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def chain():
    tree = KinematicTree(
        [
            Link("one", [Hinge([1, 2, 2], LAWS[0], [0.1, -0.2, 0.05])], None, [0.1, 0.2, 0.3],
                 [0.0, 0.0, TURN, COTURN]),
            Link("two", [Slider([0, 3, 4], LAWS[1])], "one", [0.0, 0.3, 0.1]),
            Link("three", hinge2((Y, X + Z), (LAWS[2], LAWS[3]), anchor=[0, 0.1, 0]), "two",
                 [0.2, 0.0, -0.1], [TURN, 0.0, 0.0, COTURN]),
            Link("tip",
                 [*ball(*LAWS[4:7], anchor=[0.02, 0.03, -0.1]), Slider([1, -1, 0], LAWS[7])],
                 "three", [0.15, 0.05, 0.25]),
        ]
    )  # fmt: skip
    return tree.motion("tip")


def test_a_chain_of_all_joints_moves_as_mujoco_says(chain):
    model = mujoco.MjModel.from_xml_string(CHAIN)
    data = mujoco.MjData(model)
    times = np.linspace(0.0, 5.0, 41)
    state = chain.at(times)
    for k, t in enumerate(times):
        values = np.array([law(np.array([t])) for law in LAWS])[:, :, 0]
        data.qpos[:], data.qvel[:], data.qacc[:] = values.T
        mujoco.mj_inverse(model, data)
        data.qfrc_applied[:] = data.qfrc_inverse
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(data.qacc, values[:, 2], atol=1e-9)
        p, wxyz, v, w, f, alpha = np.split(data.sensordata, [3, 7, 10, 13, 16])
        R = Rotation.from_quat(state.q_world_from_body[k])
        assert (R.inv() * Rotation.from_quat(np.roll(wxyz, -1))).magnitude() < 1e-12
        np.testing.assert_allclose(state.position_world[k], p, atol=1e-13)
        np.testing.assert_allclose(state.velocity_world[k], v, atol=1e-12)
        np.testing.assert_allclose(state.angular_velocity[k], w, atol=1e-12)
        np.testing.assert_allclose(R.apply(state.angular_acceleration[k]), alpha, atol=1e-9)
        np.testing.assert_allclose(state.specific_force(GRAVITY)[k], f, atol=1e-9)


def test_rates_are_the_derivatives_of_the_pose(chain):
    t, h = np.linspace(0.2, 3.0, 30), 1e-5
    before, now, after = chain.at(t - h), chain.at(t), chain.at(t + h)

    def slope(name):
        return (getattr(after, name) - getattr(before, name)) / (2.0 * h)

    np.testing.assert_allclose(now.velocity_world, slope("position_world"), atol=1e-8)
    np.testing.assert_allclose(now.acceleration_world, slope("velocity_world"), atol=1e-8)
    np.testing.assert_allclose(now.angular_acceleration, slope("angular_velocity"), atol=1e-8)
    turn = Rotation.from_quat(before.q_world_from_body).inv() * Rotation.from_quat(
        after.q_world_from_body
    )
    np.testing.assert_allclose(now.angular_velocity, turn.as_rotvec() / (2.0 * h), atol=1e-8)


def test_a_rotating_arm_feels_minus_omega_squared_r():
    arm = Link("hub", [Hinge(Z, lambda t: (3.0 * t, 3.0, 0.0))])
    tree = KinematicTree([arm, Link("tip", parent="hub", position=[0.5, 0.0, 0.0])])
    state = tree.motion("tip").at([0.0, 0.4, 7.0])
    np.testing.assert_allclose(
        state.specific_force(GRAVITY), np.tile([-4.5, 0.0, 9.81], (3, 1)), atol=1e-12
    )
    np.testing.assert_allclose(state.angular_velocity, np.tile([0.0, 0.0, 3.0], (3, 1)))


def test_a_slider_on_a_turning_hinge_feels_the_coriolis_acceleration():
    """r = u t, so that in the turning axes a = (-w^2 r, 2 w u, 0)."""
    w, u = 2.0, 0.7
    bead = Link(
        "bead",
        [Hinge(Z, lambda t: (w * t, w, 0.0)), Slider(X, lambda t: (u * t, u, 0.0))],
    )
    t = np.array([0.0, 0.5, 2.0])
    state = KinematicTree([bead]).motion("bead").at(t)
    expected = np.column_stack([-(w**2) * u * t, np.full(3, 2.0 * w * u), np.full(3, 9.81)])
    np.testing.assert_allclose(state.specific_force(GRAVITY), expected, atol=1e-12)


def test_an_anchor_is_a_fixed_point_of_its_hinge():
    door = Link("door", [Hinge(Z, Sine(1.0, 2.0), anchor=[0.0, -0.4, 0.0])], position=[1, 2, 3])
    state = KinematicTree([door]).motion("door").at(np.linspace(0.0, 3.0, 20))
    hinge = Rotation.from_quat(state.q_world_from_body).apply([0.0, -0.4, 0.0])
    np.testing.assert_allclose(state.position_world + hinge, np.tile([1, 1.6, 3], (20, 1)))


def test_a_tree_stands_on_a_moving_base(chain):
    base = KinematicTree([Link("cart", [Slider(X, Sine(0.5, 2.0)), Hinge(Y, Sine(0.4, 1.1))])])
    whole = KinematicTree(
        [Link("cart", [Slider(X, Sine(0.5, 2.0)), Hinge(Y, Sine(0.4, 1.1))])]
        + [Link(k.name, k.joints, k.parent or "cart", k.position, k.q_parent_from_link)
           for k in chain.chain]
    ).motion("tip")  # fmt: skip
    stacked = KinematicTree(chain.chain, base=base.motion("cart")).motion("tip")
    t = np.linspace(0.0, 4.0, 17)
    for name, value in vars(whole.at(t)).items():
        np.testing.assert_allclose(getattr(stacked.at(t), name), value, atol=1e-12, err_msg=name)


def test_a_link_without_joints_or_base_rests():
    motion = KinematicTree([Link("post", position=[1.0, 0.0, 0.0])]).motion("post")
    assert (motion.start_s, motion.end_s, motion.has_acceleration) == (-math.inf, math.inf, True)
    assert motion.breaks_s.shape == (0,)
    np.testing.assert_array_equal(motion.at([3.0]).position_world, [[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(motion.at([3.0]).specific_force(GRAVITY), [[0.0, 0.0, 9.81]])


def commanded(**limits):
    motor = Motor(step_s=0.02, max_velocity=2.0, **limits)
    for k in range(100):
        motor.step(math.sin(0.1 * k))
    tree = KinematicTree(
        [
            Link("base", [Hinge(Z, Sine(0.2, 1.0))]),
            Link("tip", [Hinge(Y, motor)], "base", [0.3, 0.0, 0.1]),
            Link("end", parent="tip", position=[0.0, 0.0, 0.4]),
        ]
    )
    return motor, tree


def test_jumping_velocities_give_no_acceleration_downstream_but_exact_states():
    motor, tree = commanded()
    end, base = tree.motion("end"), tree.motion("base")
    assert not end.has_acceleration
    assert base.has_acceleration
    assert (end.start_s, end.end_s) == (0.0, 2.0)
    np.testing.assert_array_equal(end.breaks_s, motor.breaks_s)
    t = np.array([0.0, 0.013, 1.0, 1.511])
    state = end.at(t)
    assert np.isnan(state.acceleration_world).all()
    assert np.isnan(state.angular_acceleration).all()
    assert np.isfinite(base.at(t).acceleration_world).all()
    yaw, yaw_rate, _ = Sine(0.2, 1.0)(t)
    pitch, pitch_rate, _ = motor(t)
    R = Rotation.from_euler("ZY", np.column_stack([yaw, pitch]))
    assert (Rotation.from_quat(state.q_world_from_body).inv() * R).magnitude().max() < 1e-14
    across = Rotation.from_euler("Z", yaw[:, None]).apply(Y)
    w = yaw_rate[:, None] * Z + pitch_rate[:, None] * across
    np.testing.assert_allclose(R.apply(state.angular_velocity), w, atol=1e-13)
    arm = R.apply([0.0, 0.0, 0.4])
    elbow = Rotation.from_euler("Z", yaw[:, None]).apply([0.3, 0.0, 0.1])
    velocity = np.cross(yaw_rate[:, None] * Z, elbow) + np.cross(w, arm)
    np.testing.assert_allclose(state.velocity_world, velocity, atol=1e-13)


def test_an_acceleration_limit_gives_the_acceleration_back():
    _, tree = commanded(max_acceleration=30.0)
    end = tree.motion("end")
    assert end.has_acceleration
    t, h = np.array([0.013, 0.51, 1.511]), 1e-6
    slope = (end.at(t + h).velocity_world - end.at(t - h).velocity_world) / (2.0 * h)
    np.testing.assert_allclose(end.at(t).acceleration_world, slope, atol=1e-6)


def test_a_sensor_behind_jumping_velocities_measures_velocity_differences_only():
    _, tree = commanded()
    end = tree.motion("end")
    sensor = Mounted(end, earth=FlatEarth(9.81))
    assert not sensor.has_acceleration
    assert np.isnan(sensor.inputs([0.5])[1]).all()
    edges = np.linspace(0.0, 2.0, 51)
    state = end.at(edges)
    change = np.diff(state.velocity_world, axis=0) / 0.04 - GRAVITY
    expected = Rotation.from_quat(state.q_world_from_body[1:]).inv().apply(change)
    np.testing.assert_allclose(sensor.velocity_change(edges) / 0.04, expected, atol=1e-10)


def test_bad_trees_are_refused():
    with pytest.raises(ValueRangeError, match="different names, got 'a' twice"):
        KinematicTree([Link("a"), Link("a")])
    with pytest.raises(UnknownNameError, match="no link 'b'; the nearest names: 'a'"):
        KinematicTree([Link("a"), Link("c", parent="b")])
    with pytest.raises(UnknownNameError, match="no link 'tip'"):
        KinematicTree([Link("top")]).motion("tip")
    with pytest.raises(ValueRangeError, match="axis of some length"):
        Hinge([0.0, 0.0, 0.0], Sine(1.0, 1.0))
    with pytest.raises(ShapeError, match="anchor"):
        Hinge(Z, Sine(1.0, 1.0), [0.0, 0.0])
    with pytest.raises(ValueRangeError, match="non-zero length"):
        Link("a", q_parent_from_link=np.zeros(4))


def test_laws_of_the_wrong_shape_or_without_a_number_are_refused():
    bad = KinematicTree([Link("a", [Slider(X, lambda t: (t[:-1], 1.0, 0.0))])]).motion("a")
    with pytest.raises(ShapeError, match=r"one number or \(3,\), got \(2,\)"):
        bad.at([0.0, 1.0, 2.0])
    bad = KinematicTree([Link("a", [Slider(X, lambda t: (t, np.nan, 0.0))])]).motion("a")
    with pytest.raises(ValueRangeError, match="finite a joint's first derivative"):
        bad.at([0.0])


def test_the_arrays_that_describe_a_tree_may_change_afterwards():
    axis, anchor, position = np.array([0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3)
    motion = KinematicTree(
        [Link("a", [Hinge(axis, Sine(1.0, 1.0), anchor)], None, position)]
    ).motion("a")
    before = motion.at([0.3])
    axis[:], anchor[:], position[:] = [1.0, 0.0, 0.0], 5.0, 7.0
    np.testing.assert_array_equal(motion.at([0.3]).q_world_from_body, before.q_world_from_body)
    np.testing.assert_array_equal(motion.at([0.3]).position_world, before.position_world)
