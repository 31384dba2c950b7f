"""How messages of topics are written for ROS, held against rosbags and the conversions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from strapdown.errors import FormatError, TransportError, ValueRangeError
from strapdown.messages import (
    ROS_TYPES,
    Imu,
    Odometry,
    Pose3D,
    RosImu,
    VehicleAttitude,
    VehicleImu,
    Wire,
    conversion,
)
from strapdown.transport.ros_messages import message_type_of, ros_form, type_carried
from strapdown.transport.wire import wire_form

ROS2 = get_typestore(Stores.ROS2_HUMBLE)
ROS1 = get_typestore(Stores.ROS1_NOETIC)


def distinct_imu() -> Imu:
    imu = Imu(*np.arange(1.0, 7.0), timestamp_ns=1_700_000_001_000_000_002)
    imu.orientation = np.arange(10.0, 14.0)
    imu.orientation_covariance = np.arange(20.0, 29.0)
    imu.angular_velocity_covariance = np.arange(30.0, 39.0)
    imu.linear_acceleration_covariance = np.arange(40.0, 49.0)
    return imu


def numbers(message) -> list[float]:
    """Return the 37 numbers of a message as rosbags reads it."""
    quantities = [
        [getattr(message.orientation, axis) for axis in "xyzw"],
        message.orientation_covariance,
        [getattr(message.angular_velocity, axis) for axis in "xyz"],
        message.angular_velocity_covariance,
        [getattr(message.linear_acceleration, axis) for axis in "xyz"],
        message.linear_acceleration_covariance,
    ]
    return np.concatenate(quantities).tolist()


@pytest.mark.parametrize("frame_id", ["", "imu", "base_link", "żyroskop"])
def test_rosbags_reads_every_field_of_an_imu_in_both_serialisations(frame_id):
    imu = distinct_imu()
    form = ros_form(Imu)
    for message in (
        ROS2.deserialize_cdr(form.encode(bytes(imu), frame_id, Wire.CDR), "sensor_msgs/msg/Imu"),
        ROS1.deserialize_ros1(
            form.encode(bytes(imu), frame_id, Wire.ROS1, 7), "sensor_msgs/msg/Imu"
        ),
    ):
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_700_000_001, 2)
        assert message.header.frame_id == frame_id
        assert numbers(message) == [*range(10, 14), *range(20, 29), 4, 5, 6, *range(30, 39), 1, 2,
                                    3, *range(40, 49)]  # fmt: skip


def test_the_sequence_number_stands_in_the_header_of_ros_1():
    data = ros_form(Imu).encode(bytes(distinct_imu()), "", Wire.ROS1, 7)
    assert ROS1.deserialize_ros1(data, "sensor_msgs/msg/Imu").header.seq == 7


def test_an_absent_orientation_is_written_as_ros_does_and_read_as_horus_does():
    imu = Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 5)
    assert imu.orientation_covariance.tolist() == [-1.0] * 9
    form = ros_form(Imu)
    data = form.encode(bytes(imu), "", Wire.CDR)
    message = ROS2.deserialize_cdr(data, "sensor_msgs/msg/Imu")
    assert message.orientation_covariance.tolist() == [-1.0] + [0.0] * 8
    assert form.decode(data, Wire.CDR) == bytes(imu)


blocks = st.lists(st.floats(), min_size=9, max_size=9) | st.sampled_from(
    [[-1.0] * 9, [-1.0, *[0.0] * 8], [0.0] * 9, [-0.0] * 9, [float("nan")] * 9]
)


@given(blocks=st.tuples(blocks, blocks, blocks), stamp=st.integers(0, 2**31 * 10**9 - 1))
def test_an_imu_is_converted_as_everywhere_else(blocks, stamp):
    imu = Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, stamp)
    imu.orientation_covariance, imu.angular_velocity_covariance = blocks[:2]
    imu.linear_acceleration_covariance = blocks[2]
    form = ros_form(Imu)
    data = form.encode(bytes(imu), "imu", Wire.CDR)
    assert data == conversion.ros_from_imu(imu, frame_id="imu").to_cdr()
    back = conversion.imu_from_ros(RosImu.from_cdr(data))
    assert form.decode(data, Wire.CDR) == bytes(back)


def test_a_ros_message_keeps_its_own_frame_and_gets_one_where_it_has_none():
    form = ros_form(RosImu)
    named = RosImu(3, "own", orientation_covariance=np.arange(9.0))
    bare = RosImu(3, orientation_covariance=np.arange(9.0))
    encode = wire_form(RosImu).encode
    assert RosImu.from_cdr(form.encode(encode(named), "given", Wire.CDR)) == named
    assert RosImu.from_cdr(form.encode(encode(bare), "given", Wire.CDR)).frame_id == "given"
    assert RosImu.from_ros1(form.encode(encode(named), "", Wire.ROS1, 9)).seq == 9
    assert form.decode(named.to_ros1(), Wire.ROS1) == named.to_cdr()


def test_a_pose_is_a_pose_stamped():
    pose = Pose3D(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.4, 2_000_000_007)
    form = ros_form(Pose3D)
    data = form.encode(bytes(pose), "map", Wire.CDR)
    message = ROS2.deserialize_cdr(data, "geometry_msgs/msg/PoseStamped")
    position, orientation = message.pose.position, message.pose.orientation
    assert (position.x, position.y, position.z) == (1.0, 2.0, 3.0)
    assert [getattr(orientation, axis) for axis in "xyzw"] == [0.1, 0.2, 0.3, 0.4]
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (2, 7)
    assert message.header.frame_id == "map"
    assert form.decode(data, Wire.CDR) == bytes(pose)


def test_rosbags_reads_a_message_of_px4():
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(VehicleAttitude.definition, "px4_msgs/msg/VehicleAttitude"))
    attitude = VehicleAttitude(timestamp=11, timestamp_sample=10, q=[1.0, 0.5, 0.25, 0.125])
    form = ros_form(VehicleAttitude)
    data = form.encode(bytes(attitude), "", Wire.CDR)
    message = store.deserialize_cdr(data, "px4_msgs/msg/VehicleAttitude")
    assert (message.timestamp, message.timestamp_sample) == (11, 10)
    assert message.q.tolist() == [1.0, 0.5, 0.25, 0.125]
    assert form.decode(data, Wire.CDR) == bytes(attitude)


@pytest.mark.parametrize("kind", [ros.uorb for ros in ROS_TYPES.values() if ros.uorb])
def test_messages_of_px4_come_back_also_where_the_transport_filled_the_last_word(kind):
    message = kind.from_bytes(bytes(kind.dtype.itemsize))
    message.timestamp = 123
    form = ros_form(kind)
    data = form.encode(bytes(message), "", Wire.CDR)
    filled = data + bytes(-len(data) % 4)
    assert form.decode(filled, Wire.CDR) == bytes(message)
    with pytest.raises(FormatError):
        form.decode(data + bytes(4), Wire.CDR)


@given(cut=st.integers(0, 323))
def test_a_message_that_ends_early_is_malformed(cut):
    form = ros_form(Imu)
    data = form.encode(bytes(distinct_imu()), "imu_link", Wire.CDR)
    with pytest.raises(FormatError):
        form.decode(data[:cut], Wire.CDR)


@pytest.mark.parametrize(
    ("at", "change", "reason"),
    [(4, (2**31).to_bytes(4, "little"), "stamp_ns"), (16, b"i\0u", "NUL")],
)
def test_what_ros_1_can_say_and_a_message_here_cannot_is_malformed(at, change, reason):
    data = bytearray(RosImu(5, "imu").to_ros1())
    data[at : at + len(change)] = change
    with pytest.raises(FormatError, match=reason):
        ros_form(RosImu, Wire.ROS1).decode(bytes(data), Wire.ROS1)


def test_a_stamp_beyond_the_header_is_refused():
    late = Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2**63)
    with pytest.raises(ValueRangeError, match="stamp_ns"):
        ros_form(Imu).encode(bytes(late), "", Wire.CDR)


def test_a_type_that_ros_lacks_is_refused_and_the_possible_ones_are_named():
    with pytest.raises(TransportError, match=r"ROS 2 has no message for Odometry; .* Imu, RosImu"):
        ros_form(Odometry)
    with pytest.raises(TransportError, match=r"ROS 1 has .* VehicleImu; possible are Imu, RosImu"):
        ros_form(VehicleImu, Wire.ROS1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sensor_msgs/msg/Imu", Imu),
        ("sensor_msgs/Imu", Imu),
        ("sensor_msgs::msg::dds_::Imu_", Imu),
        ("geometry_msgs/PoseStamped", Pose3D),
        ("px4_msgs::msg::dds_::VehicleImu_", VehicleImu),
        ("std_msgs/msg/String", None),
        ("", None),
    ],
)
def test_types_are_found_by_their_names_in_ros_and_dds(name, kind):
    assert message_type_of(name) is kind
    if kind:
        assert message_type_of(ros_form(kind).dds_name) is kind


def test_of_several_types_on_a_topic_one_that_is_known_counts():
    assert type_carried("imu", []) is None
    assert type_carried("imu", ["std_msgs/msg/String", "sensor_msgs/msg/Imu"]) is Imu
    with pytest.raises(TransportError, match="'imu' carries std_msgs/msg/String; expected one of"):
        type_carried("imu", ["std_msgs/msg/String"])
