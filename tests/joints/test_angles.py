"""Angles of relative orientations, against SciPy's Euler angles and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.joints.anatomy import JOINTS, JointKind, Side
from strapdown.joints.angles import Pose, measure

UP = np.array([0.0, 1.0, 0.0])
Z = np.array([0.0, 0.0, 1.0])
COUNT = 400
T = np.linspace(0.0, 20.0, COUNT)
AT_REST = T < 1.0


def fade(values):
    return np.where(AT_REST, 0.0, values * np.clip(T - 1.0, 0.0, 1.0))


def pose(relative):
    return Pose(relative.as_quat(), AT_REST, UP)


def angles_of(relative, kind, axes=(Z, Z), *, joint=None, side=Side.RIGHT):
    named = None if joint is None else JOINTS[joint]
    return measure(pose(relative), kind, axes, joint=named, side=side, reverse=False)


@pytest.fixture
def zxy():
    swings = 0.9 * np.sin(T) ** 2, 0.2 * np.sin(2.0 * T), 0.3 * np.sin(3.0 * T)
    return np.stack([fade(swing) for swing in swings], axis=1)


def test_a_ball_joint_has_the_angles_zxy_of_scipy(zxy):
    found = angles_of(Rotation.from_euler("ZXY", zxy), JointKind.BALL, joint="hip")
    first, second = (Rotation.from_matrix(axes) for axes in (found.axes_first, found.axes_second))
    turned = (first.inv() * Rotation.from_euler("ZXY", zxy) * second).as_euler("ZXY")
    np.testing.assert_allclose(found.values, turned, atol=1e-9)
    assert found.names == ("flexion", "adduction", "internal_rotation")
    assert np.degrees(np.arccos(found.axis_first @ Z)) < 10.0
    np.testing.assert_allclose(found.axes_first.T @ found.axes_first, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(found.axes_first), 1.0)


def test_left_joints_mirror_what_is_not_in_the_plane_of_walking(zxy):
    relative = Rotation.from_euler("ZXY", zxy)
    right, left = (
        angles_of(relative, JointKind.BALL, joint="hip", side=side).values
        for side in (Side.RIGHT, Side.LEFT)
    )
    np.testing.assert_array_equal(left, right * [1.0, -1.0, -1.0])


def test_the_knee_flexes_backward_and_the_hip_forward(zxy):
    """About z to the right, the shank turns back by negative angles."""
    flexion = zxy[:, 0]
    for name, sign in (("knee", -1.0), ("hip", 1.0), ("elbow", 1.0)):
        relative = Rotation.from_rotvec(sign * flexion[:, None] * Z)
        for axis in (Z, -Z):  # the motion does not tell
            found = angles_of(relative, JointKind.HINGE, (axis, axis), joint=name)
            np.testing.assert_allclose(found.values[:, 0], flexion, atol=1e-9)
            np.testing.assert_allclose(found.axis_first, Z)
            np.testing.assert_allclose(found.axes_first, np.eye(3), atol=1e-12)


def test_the_ankle_moves_farther_downward(zxy):
    relative = Rotation.from_rotvec(-zxy[:, :1] * Z)
    found = angles_of(relative, JointKind.HINGE, joint="ankle")
    np.testing.assert_allclose(found.values[:, 0], -zxy[:, 0], atol=1e-9)
    assert found.names == ("dorsiflexion",)


@pytest.mark.parametrize("reference", [np.zeros(3), np.array([0.4, -0.2, 0.3])])
def test_the_angles_of_a_saddle_are_those_about_its_axes(reference):
    first, second = Z, np.array([0.1, 0.99, 0.05]) / np.linalg.norm([0.1, 0.99, 0.05])
    neutral = Rotation.from_rotvec(reference)
    second = neutral.inv().apply(second)
    a, b = fade(0.8 * np.sin(T) ** 2), fade(0.4 * np.sin(1.7 * T))
    relative = (
        Rotation.from_rotvec(a[:, None] * first)
        * neutral
        * Rotation.from_rotvec(b[:, None] * second)
    )
    for signs in ((1, 1), (-1, 1), (1, -1)):
        axes = signs[0] * first, signs[1] * second
        found = angles_of(relative, JointKind.SADDLE, axes, joint="elbow")
        np.testing.assert_allclose(found.values, np.stack([a, b], axis=1), atol=1e-9)
        assert found.names == ("flexion", "pronation")


def test_a_joint_without_name_turns_about_the_positive_side_of_its_axis(zxy):
    axis = np.array([0.1, -0.9, 0.3]) / np.linalg.norm([0.1, -0.9, 0.3])
    relative = Rotation.from_rotvec(zxy[:, :1] * axis)
    found = angles_of(relative, JointKind.HINGE, (axis, axis))
    np.testing.assert_allclose(found.values[:, 0], -zxy[:, 0], atol=1e-9)
    np.testing.assert_allclose(found.axis_second, -axis)
    assert found.names == ("angle",)


def test_angles_beyond_half_a_turn_are_continuous():
    turn = fade(0.5 * T)
    found = angles_of(Rotation.from_rotvec(turn[:, None] * Z), JointKind.HINGE)
    np.testing.assert_allclose(found.values[:, 0], turn, atol=1e-9)


def test_gaps_stay_gaps(zxy):
    quaternions = Rotation.from_rotvec(zxy[:, :1] * Z).as_quat()
    quaternions[200:220] = np.nan
    found = measure(
        Pose(quaternions, AT_REST, UP), JointKind.HINGE, (Z, Z), joint=None, side=Side.RIGHT,
        reverse=False,
    )  # fmt: skip
    expected = zxy[:, 0].copy()
    expected[200:220] = np.nan
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-9)
