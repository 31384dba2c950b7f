"""Joint nodes against the reference manual."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.webots.file.node import Node
from strapdown.webots.scene.joints import read_joint, rotation_matrix, unit_vector


def axes(node):
    return [axis.axis.tolist() for axis in read_joint(node).axes]


def test_axes_that_are_not_given_have_their_defaults():
    assert axes(Node("HingeJoint")) == [[1, 0, 0]]
    assert axes(Node("SliderJoint")) == [[0, 0, 1]]
    assert axes(Node("Hinge2Joint")) == [[1, 0, 0], [0, 0, 1]]
    assert axes(Node("BallJoint")) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert axes(Node("HingeJoint", {"jointParameters": Node("HingeJointParameters")})) == [
        [1, 0, 0]
    ]
    assert axes(Node("SliderJoint", {"jointParameters": Node("JointParameters")})) == [[0, 0, 1]]


def test_a_joint_has_its_axes_anchor_positions_and_devices():
    motors = [Node("RotationalMotor", {"name": name}) for name in "ab"]
    node = Node(
        "Hinge2Joint",
        {
            "jointParameters": Node(
                "HingeJointParameters",
                {"axis": (0, 3, 4), "anchor": (1, 2, 3), "position": 0.5},
            ),
            "jointParameters2": Node("JointParameters", {"axis": (0, 0, -2), "position": -0.25}),
            "device": [motors[0]],
            "device2": [motors[1]],
            "endPoint": Node("Solid"),
        },
    )
    joint = read_joint(node)
    np.testing.assert_allclose(joint.axes[0].axis, [0, 0.6, 0.8], atol=1e-15)
    assert joint.axes[1].axis.tolist() == [0, 0, -1]
    assert joint.anchor.tolist() == [1, 2, 3]
    assert [axis.position for axis in joint.axes] == [0.5, -0.25]
    assert [axis.devices for axis in joint.axes] == [[motors[0]], [motors[1]]]
    assert not any(axis.slides for axis in joint.axes)
    assert joint.end is node.node("endPoint")
    assert read_joint(Node("SliderJoint")).axes[0].slides


def test_parallel_axes_of_a_double_hinge_become_x_and_z():
    parameters = Node("HingeJointParameters", {"axis": (0, 0, 1)})
    assert axes(Node("Hinge2Joint", {"jointParameters": parameters})) == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("second", "third", "expected"),
    [
        ((0, 1, 0), (0, 0, 1), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
        ((0, 1, 0), None, [[0, 1, 0], [1, 0, 0], [0, 0, -1]]),
        ((1, 0, 0), None, [[1, 0, 0], [0, 0, 1], [0, -1, 0]]),
        (None, (0, 1, 0), [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        (None, (0, 0, 1), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]),
    ],
)
def test_the_middle_axis_of_a_ball_is_perpendicular_to_the_others(second, third, expected):
    node = Node("BallJoint")
    for field, axis in (("jointParameters2", second), ("jointParameters3", third)):
        if axis is not None:
            node.set(field, Node("JointParameters", {"axis": axis}))
    assert axes(node) == expected


def test_a_ball_has_one_position_for_each_axis():
    node = Node("BallJoint")
    node.set("jointParameters", Node("BallJointParameters", {"position": 0.1, "anchor": (0, 0, 2)}))
    node.set("jointParameters3", Node("JointParameters", {"position": 0.3}))
    joint = read_joint(node)
    assert [axis.position for axis in joint.axes] == [0.1, 0.0, 0.3]
    assert joint.anchor.tolist() == [0, 0, 2]


def test_a_zero_vector_points_along_z():
    assert unit_vector((0.0, 0.0, 0.0)).tolist() == [0, 0, 1]
    np.testing.assert_allclose(unit_vector((3.0, 0.0, -4.0)), [0.6, 0, -0.8], atol=1e-16)


def test_a_rotation_matrix_is_that_of_the_axis_and_angle():
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    for angle in (-math.pi, -0.3, 1e-9, 1.5708, 4.0):
        expected = Rotation.from_rotvec(axis * angle).as_matrix()
        np.testing.assert_allclose(rotation_matrix(axis, angle), expected, atol=1e-15)
    assert rotation_matrix(axis, 0.0).tolist() == np.eye(3).tolist()
