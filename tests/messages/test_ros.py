"""The independent implementation of types, definitions and hashes is rosbags."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from strapdown.errors import ShapeError
from strapdown.messages.covariance import CovarianceStatus
from strapdown.messages.ros import RosImu
from strapdown.messages.ros_types import IMU, ROS_TYPES

FIELDS = {
    "orientation": 4,
    "orientation_covariance": 9,
    "angular_velocity": 3,
    "angular_velocity_covariance": 9,
    "linear_acceleration": 3,
    "linear_acceleration_covariance": 9,
}


@pytest.fixture
def message():
    parts = np.split(np.arange(1.0, 38.0), np.cumsum(list(FIELDS.values()))[:-1])
    fields = dict(zip(FIELDS, parts, strict=True))
    return RosImu(1_000_000_002, "imu_link", 5, **fields)


def test_fields_are_writable_views_of_one_block_in_message_order(message):
    assert message.block.tolist() == list(range(1, 38))
    message.angular_velocity[2] = -7.0
    assert message.block[15] == -7.0
    assert message.block.flags.c_contiguous
    kept = message.orientation
    message = None
    assert kept.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_rosbags_reads_every_field(message):
    store = get_typestore(Stores.ROS2_HUMBLE)
    theirs = store.deserialize_cdr(message.to_cdr(), IMU.name)
    assert (theirs.header.stamp.sec, theirs.header.stamp.nanosec) == (1, 2)
    assert theirs.header.frame_id == "imu_link"
    assert theirs.angular_velocity.z == 16.0
    assert theirs.linear_acceleration_covariance.tolist() == list(range(29, 38))


def test_both_wires_give_the_message_back(message):
    assert RosImu.from_ros1(message.to_ros1()) == message
    message.seq = 0
    assert RosImu.from_cdr(message.to_cdr()) == message


def test_a_new_message_is_the_identity_with_unknown_covariances():
    message = RosImu()
    assert message.orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert not message.block[4:].any()
    assert message.orientation_status is CovarianceStatus.UNKNOWN


def test_each_block_has_its_own_status(message):
    message.orientation_covariance = [-1.0] + [0.0] * 8
    message.linear_acceleration_covariance = np.zeros((3, 3))
    assert message.orientation_status is CovarianceStatus.ABSENT
    assert message.angular_velocity_status is CovarianceStatus.KNOWN
    assert message.linear_acceleration_status is CovarianceStatus.UNKNOWN


def test_equality_looks_at_header_and_numbers_and_lets_nan_equal_nan(message):
    twin = copy.deepcopy(message)
    message.block[20] = twin.block[20] = np.nan
    assert twin == message
    for name, value in (("header_stamp_ns", 1), ("frame_id", "x"), ("seq", 6)):
        other = copy.copy(message)
        setattr(other, name, value)
        assert other != message
    twin.block[36] = 0.0
    assert twin != message
    assert message != "message"
    assert RosImu.__hash__ is None


def test_pickle_and_copy_are_independent_twins(message):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(message, protocol)) == message  # noqa: S301 (our bytes)
    twin = copy.copy(message)
    twin.block[:] = 0.0
    assert message.block[0] == 1.0


def test_repr_names_what_was_measured(message):
    assert repr(message) == (
        "RosImu(header_stamp_ns=1000000002, frame_id='imu_link', "
        "orientation=[1.000, 2.000, 3.000, 4.000], angular_velocity=[14.000, 15.000, 16.000], "
        "linear_acceleration=[26.000, 27.000, 28.000])"
    )


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_another_length_is_refused_by_name(message, field):
    with pytest.raises(ShapeError, match=field):
        setattr(message, field, [1.0, 2.0])


def test_unknown_fields_are_refused():
    with pytest.raises(TypeError, match="acceleration"):
        RosImu(acceleration=[0.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="block"):
        RosImu(block=np.zeros(37))
    with pytest.raises(AttributeError):
        RosImu().acceleration = 1.0


@pytest.mark.parametrize("kind", ROS_TYPES.values(), ids=lambda kind: kind.name)
class TestDefinition:
    def test_its_ros_2_hash_is_what_rosbags_computes(self, kind):
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(kind.definition, kind.name))
        assert store.hash_rihs01(kind.name) == kind.rihs01

    def test_it_has_the_fields_of_the_ros_distributions(self, kind):
        parsed = get_types_from_msg(kind.definition, kind.name)
        for stores in (Stores.ROS2_HUMBLE, Stores.ROS2_JAZZY):
            known = get_typestore(stores).fielddefs
            assert all(known[name][1] == parsed[name][1] for name in parsed if name in known)

    def test_its_ros_1_hash_is_what_rosbags_computes(self, kind):
        store = get_typestore(Stores.ROS1_NOETIC)
        if kind.name not in store.fielddefs:
            assert kind.md5 is None
        else:
            assert store.generate_msgdef(kind.name)[1] == kind.md5

    def test_the_number_of_floats_is_that_of_the_definition(self, kind):
        types = get_types_from_msg(kind.definition, kind.name)

        def count(name):
            total = 0
            for _, (node, detail) in types[name][1]:
                if node.name == "NAME" and not detail.endswith("Header"):
                    total += count(detail)
                total += {"BASE": 1, "ARRAY": detail[-1]}.get(node.name, 0)
            return total

        if kind.floats is not None:
            assert count(kind.name) == kind.floats


def test_the_parts_of_the_imu_definition_stand_in_depth_first_order():
    separator = "=" * 80 + "\nMSG: "
    parts = [part.split("\n")[0] for part in IMU.definition.split(separator)[1:]]
    assert parts == [
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "geometry_msgs/Quaternion",
        "geometry_msgs/Vector3",
    ]
    assert not re.search("#", IMU.definition)
    assert IMU.ros1_name == "sensor_msgs/Imu"
