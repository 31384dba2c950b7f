"""The texts are those that horus-robotics 0.4.1 prints."""

from __future__ import annotations

import math
import struct
import time

import pytest

from strapdown.messages.plane import Pose2D, Twist


def test_a_pose_in_the_plane_is_three_doubles_and_a_stamp():
    pose = Pose2D(1.0, 2.0, 3.0, 2**64 - 1)
    assert bytes(pose) == struct.pack("<3dQ", 1.0, 2.0, 3.0, 2**64 - 1)
    assert Pose2D.from_bytes(bytes(pose)) == pose
    assert repr(Pose2D(1.0, 2.0, 3.0)) == "Pose2D(x=1.000, y=2.000, theta=3.000, timestamp_ns=0)"


def test_a_twist_is_six_doubles_and_a_stamp():
    twist = Twist(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7)
    assert bytes(twist) == struct.pack("<6dQ", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7)
    assert (twist.linear.tolist(), twist.angular.tolist()) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert repr(twist) == (
        "Twist(lin=[1.000, 2.000, 3.000], ang=[4.000, 5.000, 6.000], timestamp_ns=7)"
    )


def test_ready_made_ones_are_stamped_by_the_wall_clock():
    before = time.time_ns()
    made = [Pose2D.origin(), Twist.stop(), Twist.new_2d(1.0, 2.0)]
    after = time.time_ns()
    for message in made:
        assert before <= message.timestamp_ns <= after
        message.timestamp_ns = 0
    assert made == [Pose2D(0.0, 0.0, 0.0), Twist(), Twist(linear_x=1.0, angular_z=2.0)]


def test_the_distance_does_not_look_at_headings():
    assert Pose2D(1.0, 2.0, 3.0).distance_to(Pose2D(4.0, 6.0, -1.0)) == 5.0


@pytest.mark.parametrize(
    ("angle", "expected"),
    [(4.0, 4.0 - math.tau), (-4.0, math.tau - 4.0), (math.pi, math.pi), (0.5, 0.5)],
)
def test_an_angle_is_brought_into_half_a_turn(angle, expected):
    pose = Pose2D(0.0, 0.0, angle)
    pose.normalize_angle()
    assert pose.theta == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_not_valid(bad):
    pose = Pose2D(0.0, 0.0, bad)
    pose.normalize_angle()
    assert not pose.is_valid()
    assert not Twist(0.0, 0.0, 0.0, 0.0, bad).is_valid()
    assert Pose2D(1.0, 2.0, 3.0).is_valid()
    assert Twist(1.0).is_valid()


@pytest.mark.parametrize("stamp", [-1, 2**64])
def test_a_stamp_out_of_range_is_refused(stamp):
    with pytest.raises(OverflowError):
        Twist(timestamp_ns=stamp)
    with pytest.raises(OverflowError):
        Pose2D(0.0, 0.0, 0.0, stamp)
