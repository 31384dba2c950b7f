"""One declaration gives attributes, views, bytes and the numpy record."""

from __future__ import annotations

import struct
from typing import Annotated

import numpy as np
import pytest

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.messages import Imu, Odometry, RosImu, VehicleImu
from strapdown.messages._fields import F64, U32, U64, F64x3, F64x3x3, Text32, fields_of, packed
from strapdown.messages._record import Record


@packed
class Sample(Record):
    __slots__ = ()

    position: Annotated[F64x3, "x y z"]
    weight: F64
    covariance: F64x3x3
    name: Text32
    count: U64

    x: float
    y: float
    z: float


def test_the_bytes_are_the_fields_one_after_another():
    sample = Sample()
    sample.position = [1.0, 2.0, 3.0]
    sample.weight = 4.0
    sample.covariance = np.arange(9.0).reshape(3, 3)
    sample.name = "imu"
    sample.count = 7
    expected = struct.pack("<13d32sQ", 1.0, 2.0, 3.0, 4.0, *range(9), b"imu", 7)
    assert bytes(sample) == expected
    assert Sample.dtype.itemsize == len(expected)
    assert np.frombuffer(expected, Sample.dtype)["covariance"].tolist() == [list(range(9))]


def test_the_components_of_a_vector_are_attributes_of_the_same_memory():
    sample = Sample()
    sample.y = 5.0
    assert sample.position.tolist() == [0.0, 5.0, 0.0]
    sample.position[2] = 6.0
    assert sample.z == 6.0


def test_fields_refuse_what_they_cannot_hold():
    sample = Sample()
    with pytest.raises(OverflowError, match="count"):
        sample.count = 2**64
    with pytest.raises(ValueRangeError, match="at most 31 bytes"):
        sample.name = "x" * 32
    with pytest.raises(ShapeError, match="9 numbers or a 3x3 matrix"):
        sample.covariance = [1.0, 2.0]
    with pytest.raises(AttributeError):
        sample.other = 1.0


def test_a_type_that_is_spelled_wrong_is_named():
    class Wrong(Record):
        value: Annotated[float, "float32[3"]

    with pytest.raises(TypeError, match=r"of value, got 'float32\[3'"):
        fields_of(Wrong)


def test_fields_that_would_need_padding_are_refused():
    class Unaligned(Record):
        count: U32
        value: F64

    with pytest.raises(TypeError, match="got 12 bytes that ctypes stores in 16"):
        packed(Unaligned)


@pytest.mark.parametrize("kind", [Imu, Odometry, VehicleImu])
def test_a_message_has_the_declared_fields_in_its_record(kind):
    declared = {field.name for field in fields_of(kind)}
    assert set(kind.dtype.names) == declared


def test_a_ros_message_declares_its_block():
    assert sum(field.times for field in fields_of(RosImu)) == len(RosImu().block)
