"""``nav_msgs/Odometry`` as a trajectory, against rosbags."""

from __future__ import annotations

import numpy as np
import pytest
from mcap.writer import Writer as McapWriter
from rosbags.typesys import Stores, get_typestore

import strapdown
from strapdown.errors import TruncatedError
from strapdown.formats import Recording
from strapdown.messages import RosOdometry, Wire
from strapdown.messages.conversion import trajectory_from_ros_odometry

STORES = {
    Wire.CDR: get_typestore(Stores.ROS2_HUMBLE),
    Wire.ROS1: get_typestore(Stores.ROS1_NOETIC),
}
T0 = 1_756_402_222_000_000_000
YAW_90 = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))


def foreign(wire, stamp_ns, *, child="base_link"):
    """Return a serialised message of rosbags."""
    store = STORES[wire]
    types = store.types
    seq = (7,) if wire is Wire.ROS1 else ()
    stamp = types["builtin_interfaces/msg/Time"](*divmod(stamp_ns, 10**9))
    vector = types["geometry_msgs/msg/Vector3"]
    pose = types["geometry_msgs/msg/Pose"](
        types["geometry_msgs/msg/Point"](1.0, 2.0, 3.0),
        types["geometry_msgs/msg/Quaternion"](*YAW_90),
    )
    twist = types["geometry_msgs/msg/Twist"](vector(2.0, 0.0, 0.5), vector(0.1, 0.2, 0.3))
    covariance = np.diag([0.04, 0.08, 0.12, 0.1, 0.2, 0.3]).ravel()
    message = types["nav_msgs/msg/Odometry"](
        types["std_msgs/msg/Header"](*seq, stamp, "odom"),
        child,
        types["geometry_msgs/msg/PoseWithCovariance"](pose, covariance),
        types["geometry_msgs/msg/TwistWithCovariance"](twist, covariance),
    )
    serialize = store.serialize_ros1 if wire is Wire.ROS1 else store.serialize_cdr
    return bytes(serialize(message, message.__msgtype__))


@pytest.mark.parametrize("wire", Wire)
@pytest.mark.parametrize("length", range(9))
def test_messages_of_rosbags_are_read_for_every_padding(wire, length):
    data = foreign(wire, T0 + 5, child="c" * length)
    message = RosOdometry.from_wire(data, wire)
    assert message.header_stamp_ns == T0 + 5
    assert (message.frame_id, message.child_frame_id) == ("odom", "c" * length)
    assert message.pose == (1.0, 2.0, 3.0, *YAW_90)
    assert message.twist == (2.0, 0.0, 0.5, 0.1, 0.2, 0.3)
    assert message.pose_covariance[7] == 0.08
    assert message.twist_covariance[-1] == 0.3
    with pytest.raises(TruncatedError):
        RosOdometry.from_wire(data[:-9], wire)


def test_the_twist_is_turned_into_the_world():
    messages = [RosOdometry.from_wire(foreign(Wire.CDR, T0), Wire.CDR)]
    track = trajectory_from_ros_odometry(messages, name="odom")
    assert track.position_world.tolist() == [[1.0, 2.0, 3.0]]
    assert track.velocity_world[0] == pytest.approx([0.0, 2.0, 0.5])
    assert np.diagonal(track.position_covariance[0]) == pytest.approx([0.04, 0.08, 0.12])
    assert np.diagonal(track.velocity_covariance[0]) == pytest.approx([0.08, 0.04, 0.12])


def test_what_is_zero_throughout_is_absent():
    """As navsat_transform_node of robot_localization publishes: a position, and nothing else."""
    pose = (1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0)
    bare = RosOdometry(T0, "map", "", pose, (0.0,) * 36, (0.0,) * 6, (0.0,) * 36)
    track = trajectory_from_ros_odometry([bare])
    assert np.isnan(track.q_world_from_body).all()
    assert track.velocity_world is None
    assert track.position_covariance is None


def test_a_file_with_odometry(tmp_path):
    path = tmp_path / "odometry.mcap"
    with path.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start("ros2")
        schema = writer.register_schema("nav_msgs/msg/Odometry", "ros2msg", b"")
        channel = writer.register_channel("/odom", "cdr", schema)
        for k in range(3):
            data = foreign(Wire.CDR, T0 + k * 100_000_000)
            writer.add_message(channel, k, data, k)
        writer.finish()
    recording = strapdown.open(path)
    track = recording.trajectories["/odom"]
    assert len(track) == recording.report.messages == 3
    assert track.velocity_world[2] == pytest.approx([0.0, 2.0, 0.5])
    strapdown.write(tmp_path / "copy.npz", recording)
    assert strapdown.open(tmp_path / "copy.npz").trajectories["/odom"] == track


def test_formats_of_poses_note_the_covariances_that_they_leave_out(tmp_path):
    messages = [RosOdometry.from_wire(foreign(Wire.CDR, T0 + k), Wire.CDR) for k in range(3)]
    recording = Recording(
        trajectories={"odom": trajectory_from_ros_odometry(messages, name="odom")}
    )
    for name in ("copy.bag", "copy.csv"):
        report = strapdown.write(tmp_path / name, recording)
        assert not report.lost
        assert any("position_covariance" in note for note in report.notes)
