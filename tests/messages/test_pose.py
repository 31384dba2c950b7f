"""The texts are those that horus-robotics 0.4.1 prints."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
import struct
import time

import numpy as np
import pytest

from strapdown.errors import ShapeError, TruncatedError, ValueRangeError
from strapdown.messages.plane import Pose2D, Twist
from strapdown.messages.pose import Odometry, Pose3D

ODOMETRY = "<3dQ6dQ36d36d32s32sQ"


@pytest.fixture
def odometry():
    message = Odometry(1.0, 2.0, 0.5, 0.3, 0.1, 7)
    message.set_frames("odom", "base_link")
    return message


# Pose3D


def test_a_pose_is_seven_doubles_and_a_stamp():
    pose = Pose3D(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2**64 - 1)
    assert bytes(pose) == struct.pack("<7dQ", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2**64 - 1)
    assert ctypes.sizeof(Pose3D) == Pose3D.dtype.itemsize == 64
    assert [Pose3D.dtype.fields[name][1] for name in Pose3D.dtype.names] == [0, 24, 56]
    assert pose.position.tolist() == [1.0, 2.0, 3.0]
    assert pose.orientation.tolist() == [4.0, 5.0, 6.0, 7.0]


def test_a_pose_is_by_default_the_origin_without_rotation():
    assert Pose3D() == Pose3D(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, timestamp_ns=0)


def test_the_identity_is_stamped_by_the_wall_clock():
    before = time.time_ns()
    pose = Pose3D.identity()
    assert before <= pose.timestamp_ns <= time.time_ns()
    assert pose == Pose3D(timestamp_ns=pose.timestamp_ns)


def test_a_pose_in_the_plane_turns_about_z():
    pose = Pose3D.from_pose_2d(Pose2D(1.0, 2.0, math.pi / 3.0, 99))
    assert pose.position.tolist() == [1.0, 2.0, 0.0]
    assert pose.orientation == pytest.approx([0.0, 0.0, 0.5, math.sqrt(0.75)])
    assert pose.timestamp_ns == 99


def test_distance_is_that_of_the_positions():
    far = Pose3D(2.0, 3.0, 6.0, 1.0, 0.0, 0.0, 0.0)
    assert Pose3D().distance_to(far) == far.distance_to(Pose3D()) == 7.0
    assert math.isnan(far.distance_to(Pose3D(math.nan)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("place", range(7))
def test_a_pose_is_valid_when_its_seven_values_are_finite(bad, place):
    assert not Pose3D(*[bad if i == place else 0.0 for i in range(7)]).is_valid()
    assert Pose3D(*[0.0] * 7).is_valid()


def test_the_text_of_a_pose_is_that_of_horus():
    expected = (
        "Pose3D(pos=[1.000, 2.000, 3.000], quat=[0.000, 0.000, 0.000, 1.000], timestamp_ns=0)"
    )
    assert repr(Pose3D(1.0, 2.0, 3.0)) == expected


def test_a_vector_of_a_pose_takes_its_own_length_only():
    pose = Pose3D()
    pose.orientation = (0.0, 1.0, 0.0, 0.0)
    assert (pose.qy, pose.qw) == (1.0, 0.0)
    with pytest.raises(ShapeError, match="position as 3 numbers, got 4 in shape"):
        pose.position = pose.orientation


# The layout of odometry


def test_odometry_has_736_bytes_in_the_order_of_the_table():
    message = Odometry(1.0, 2.0, 3.0, 5.0, 10.0, 2**64 - 1)
    message.pose_timestamp_ns, message.twist_timestamp_ns = 4, 11
    message.linear[1:] = 6.0, 7.0
    message.angular[:2] = 8.0, 9.0
    message.pose_covariance = range(100, 136)
    message.twist_covariance = np.arange(200.0, 236.0).reshape(6, 6)
    message.set_frames("odom", "bäse")
    expected = struct.pack(
        ODOMETRY,
        *(1.0, 2.0, 3.0, 4),
        *(5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11),
        *range(100, 136),
        *range(200, 236),
        *(b"odom", "bäse".encode(), 2**64 - 1),
    )
    assert bytes(message) == expected
    assert Odometry.from_bytes(expected) == message
    assert ctypes.sizeof(Odometry) == Odometry.dtype.itemsize == len(expected) == 736


@pytest.mark.parametrize(
    ("name", "offset"),
    [
        *zip(
            ("x", "y", "theta", "pose_timestamp_ns", "linear", "angular", "twist_timestamp_ns"),
            (0, 8, 16, 24, 32, 56, 80),
            strict=True,
        ),
        *zip(("pose_covariance", "twist_covariance"), (88, 376), strict=True),
        *zip(("frame_id", "child_frame_id", "timestamp_ns"), (664, 696, 728), strict=True),
    ],
)
def test_a_field_lies_where_the_table_says(name, offset):
    assert Odometry.dtype.fields[name][1] == offset


def test_the_velocities_are_forward_speed_and_turn_rate():
    message = Odometry(linear_velocity=0.3, angular_velocity=0.1)
    assert message.linear.tolist() == [0.3, 0.0, 0.0]
    assert message.angular.tolist() == [0.0, 0.0, 0.1]
    assert Odometry.linear_velocity.offset == 32
    assert Odometry.angular_velocity.offset == 72


def test_the_text_of_odometry_is_that_of_horus(odometry):
    expected = "Odometry(x=1.000, y=2.000, theta=0.500, v_lin=0.300, v_ang=0.100, timestamp_ns=7)"
    assert repr(odometry) == expected


@pytest.mark.parametrize("name", ["timestamp_ns", "pose_timestamp_ns", "twist_timestamp_ns"])
def test_no_stamp_wraps(odometry, name):
    with pytest.raises(OverflowError, match=name):
        setattr(odometry, name, -1)
    with pytest.raises(TypeError, match=f"{name} as an int"):
        setattr(odometry, name, 1.5)


@pytest.mark.parametrize("name", ["pose_covariance", "twist_covariance"])
def test_a_covariance_has_36_numbers(odometry, name):
    with pytest.raises(ShapeError, match=f"{name} as 36 numbers or a 6x6 matrix, got 9 in shape"):
        setattr(odometry, name, np.eye(3))


# The frames of odometry


@pytest.mark.parametrize("name", ["", "odom", "a" * 31, "ü" * 15, "ü" * 15 + "x"])
def test_a_frame_name_of_31_bytes_fits(odometry, name):
    odometry.frame_id = name
    odometry.child_frame_id = name
    assert odometry.frame_id == odometry.child_frame_id == name
    assert bytes(odometry)[664:696] == bytes(odometry)[696:728] == name.encode().ljust(32, b"\0")


@pytest.mark.parametrize(("name", "length"), [("a" * 32, 32), ("ü" * 16, 32), ("a\0b", 3)])
@pytest.mark.parametrize("field", ["frame_id", "child_frame_id"])
def test_a_frame_name_that_does_not_fit_is_refused_with_its_length(odometry, field, name, length):
    before = bytes(odometry)
    with pytest.raises(ValueRangeError, match=f"{field} of at most 31 bytes.*got {length} bytes"):
        setattr(odometry, field, name)
    assert bytes(odometry) == before


def test_a_frame_name_is_a_string(odometry):
    with pytest.raises(TypeError, match="str"):
        odometry.set_frames(b"odom", "base_link")


def test_a_received_frame_name_without_end_or_of_other_bytes_reads():
    raw = bytearray(736)
    raw[664:696] = b"x" * 32
    raw[696:700] = b"b\xffx\0"
    message = Odometry.from_bytes(raw)
    assert message.frame_id == "x" * 32
    assert message.child_frame_id == "b\ufffdx"
    assert bytes(message) == bytes(raw)


# Its parts


def test_an_update_takes_a_pose_and_a_twist_with_their_stamps(odometry):
    kept = bytes(odometry)[88:-8]
    before = time.time_ns()
    odometry.update(Pose2D(11.0, 12.0, 13.0, 101), Twist(21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 202))
    assert before <= odometry.timestamp_ns <= time.time_ns()
    assert struct.unpack_from("<3dQ6dQ", odometry) == (
        *(11.0, 12.0, 13.0, 101),
        *(21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 202),
    )
    assert bytes(odometry)[88:-8] == kept


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_odometry_is_valid_when_pose_and_twist_are_finite(odometry, bad):
    odometry.pose_covariance[3] = bad
    assert odometry.is_valid()
    for name in ("x", "y", "theta", "linear_velocity", "angular_velocity"):
        broken = copy.copy(odometry)
        setattr(broken, name, bad)
        assert not broken.is_valid()
    odometry.linear[2] = bad
    assert not odometry.is_valid()


# Both


def test_every_field_of_odometry_counts_in_equality(odometry):
    for name in Odometry.dtype.names:
        other = copy.deepcopy(odometry)
        record = other.to_numpy()
        record[name] = b"elsewhere" if record[name].dtype.kind == "S" else 99
        assert other != odometry, name


@pytest.mark.parametrize(("kind", "size"), [(Pose3D, 64), (Odometry, 736)])
def test_bytes_pickles_and_batches_keep_every_byte(kind, size):
    raw = np.random.default_rng(1).bytes(size)
    message = kind.from_bytes(raw)
    assert bytes(message) == raw
    assert bytes(pickle.loads(pickle.dumps(message))) == raw  # noqa: S301 (our own bytes)
    assert kind.array([message, message]).tobytes() == raw * 2
    assert message == copy.copy(message)
    with pytest.raises(TruncatedError, match=kind.__name__):
        kind.from_bytes(raw[:-1])
    with pytest.raises(AttributeError):
        message.other = 1.0
