"""``MagneticField``: the independent implementation of its bytes is rosbags."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from strapdown.errors import FormatError, ShapeError, TruncatedError, ValueRangeError
from strapdown.messages import MagneticField, Wire

STORES = {
    Wire.CDR: get_typestore(Stores.ROS2_HUMBLE),
    Wire.ROS1: get_typestore(Stores.ROS1_NOETIC),
}
NAME = "sensor_msgs/msg/MagneticField"
FIELD = MagneticField(
    1_756_402_239_749_000_001, "imu_link", (2e-5, -1e-5, -4e-5), tuple(k * 1e-14 for k in range(9))
)


def foreign(wire, message):
    """Return the bytes of rosbags of a message with the same content."""
    store = STORES[wire]
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](*divmod(message.header_stamp_ns, 10**9))
    seq_of_ros1 = (7,) if wire is Wire.ROS1 else ()
    header = types["std_msgs/msg/Header"](*seq_of_ros1, stamp, message.frame_id)
    vector = types["geometry_msgs/msg/Vector3"](*message.magnetic_field)
    theirs = types[NAME](header, vector, np.array(message.magnetic_field_covariance))
    write = store.serialize_ros1 if wire is Wire.ROS1 else store.serialize_cdr
    return bytes(write(theirs, NAME))


@pytest.mark.parametrize("wire", Wire)
def test_bytes_equal_those_of_rosbags_for_every_padding(wire):
    for length in range(9):
        field = MagneticField(**{**vars(FIELD), "frame_id": "f" * length})
        assert field.to_wire(wire, seq=7) == foreign(wire, field)
        assert MagneticField.from_wire(foreign(wire, field), wire) == field


@pytest.mark.parametrize("wire", Wire)
def test_nan_and_unknown_covariances_pass_unchanged(wire):
    covariance = (-1.0, *[0.0] * 8)
    back = MagneticField.from_wire(
        foreign(wire, MagneticField(5, "", (math.nan, 1e-5, math.inf), covariance)), wire
    )
    assert math.isnan(back.magnetic_field[0])
    assert back.magnetic_field[1:] == (1e-5, math.inf)
    assert back.magnetic_field_covariance == covariance
    again = MagneticField.from_wire(back.to_wire(wire), wire)
    assert np.array_equal(again.magnetic_field, back.magnetic_field, equal_nan=True)


@pytest.mark.parametrize("wire", Wire)
def test_every_cut_and_what_follows_is_noticed(wire):
    data = FIELD.to_wire(wire)
    for length in range(len(data)):
        with pytest.raises(TruncatedError):
            MagneticField.from_wire(data[:length], wire)
    with pytest.raises(FormatError):
        MagneticField.from_wire(data + bytes(8), wire)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"magnetic_field": (1e-5, 2e-5)}, ShapeError, r"magnetic_field of shape \(..., 3\)"),
        ({"magnetic_field_covariance": (0.0,) * 3}, ShapeError, r"covariance of shape \(..., 9\)"),
        ({"header_stamp_ns": 2**63}, ValueRangeError, "header_stamp|stamp"),
        ({"frame_id": "a\0b"}, ValueRangeError, "frame"),
    ],
)
def test_what_does_not_fit_the_message_is_refused(fields, error, words):
    with pytest.raises(error, match=words):
        MagneticField(**fields).to_cdr()


def test_arrays_are_written_like_tuples():
    arrays = MagneticField(
        FIELD.header_stamp_ns,
        FIELD.frame_id,
        np.array(FIELD.magnetic_field),
        np.array(FIELD.magnetic_field_covariance),
    )
    assert arrays.to_ros1() == FIELD.to_ros1()
