"""The texts of repr, and the errors' types, are those of horus-robotics 0.4.1."""

from __future__ import annotations

import copy
import ctypes
import doctest
import gc
import inspect
import itertools
import math
import pickle
import struct
import time
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import FormatError, ShapeError, TruncatedError
from strapdown.messages import imu as imu_module
from strapdown.messages.basic import Quaternion, Vector3
from strapdown.messages.covariance import CovarianceStatus
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry, Pose3D

LAYOUT = "<37dQ"
DISTINCT = [*(1.5 + i for i in range(37)), 2**63 + 11]
FIELDS = {
    "orientation": (0, 4),
    "orientation_covariance": (32, 9),
    "angular_velocity": (104, 3),
    "angular_velocity_covariance": (128, 9),
    "linear_acceleration": (200, 3),
    "linear_acceleration_covariance": (224, 9),
}
SCALARS = {
    **dict(zip(("qx", "qy", "qz", "qw"), (0, 8, 16, 24), strict=True)),
    **dict(zip(("gyro_x", "gyro_y", "gyro_z"), (104, 112, 120), strict=True)),
    **dict(zip(("accel_x", "accel_y", "accel_z"), (200, 208, 216), strict=True)),
}
COVARIANCES = [name for name in FIELDS if name.endswith("covariance")]
BLOCKS = {
    CovarianceStatus.ABSENT: [-1.0] + [0.0] * 8,
    CovarianceStatus.UNKNOWN: [0.0] * 9,
    CovarianceStatus.KNOWN: np.diag([1.0, 2.0, 3.0]),
}
any_message = st.binary(min_size=304, max_size=304).map(Imu.from_bytes)


@pytest.fixture
def imu():
    return Imu.from_bytes(struct.pack(LAYOUT, *DISTINCT))


# Layout


def test_the_bytes_are_37_doubles_and_a_stamp_in_the_order_of_the_table():
    imu = Imu(31.0, 32.0, 33.0, 21.0, 22.0, 23.0, 2**64 - 1)
    imu.orientation = [1.0, 2.0, 3.0, 4.0]
    imu.orientation_covariance = range(5, 14)
    imu.angular_velocity_covariance = np.arange(41.0, 50.0).reshape(3, 3)
    imu.linear_acceleration_covariance = tuple(range(51, 60))
    assert bytes(imu) == struct.pack(
        LAYOUT,
        *range(1, 14),
        *(21, 22, 23),
        *range(41, 50),
        *(31, 32, 33),
        *range(51, 60),
        2**64 - 1,
    )


def test_a_message_takes_304_bytes_aligned_to_8():
    assert ctypes.sizeof(Imu) == Imu.dtype.itemsize == struct.calcsize(LAYOUT) == 304
    assert ctypes.alignment(Imu) == 8


@pytest.mark.parametrize(("name", "place"), FIELDS.items())
def test_a_field_lies_where_the_table_says(imu, name, place):
    offset, length = place
    first = DISTINCT.index(1.5 + offset / 8)
    assert getattr(imu, name).tolist() == DISTINCT[first : first + length]
    assert Imu.dtype.fields[name][1] == offset
    assert Imu.dtype[name].shape == (length,)


@pytest.mark.parametrize(("name", "offset"), SCALARS.items())
def test_a_scalar_lies_where_the_table_says(imu, name, offset):
    assert getattr(imu, name) == 1.5 + offset / 8
    assert getattr(Imu, name).offset == offset


def test_the_record_has_the_seven_field_names_of_the_message():
    assert Imu.dtype.names == (*FIELDS, "timestamp_ns")
    assert Imu.dtype.fields["timestamp_ns"] == (np.dtype("<u8"), 296)


# Construction


def test_a_new_message_has_no_orientation_and_does_not_state_the_rest():
    imu = Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert imu.orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
    assert imu.orientation_covariance.tolist() == [-1.0] * 9
    assert imu.angular_velocity.tolist() == [4.0, 5.0, 6.0]
    assert imu.angular_velocity_covariance.tolist() == [0.0] * 9
    assert imu.linear_acceleration.tolist() == [1.0, 2.0, 3.0]
    assert imu.linear_acceleration_covariance.tolist() == [0.0] * 9
    assert imu.timestamp_ns == 0
    assert not imu.has_orientation()
    assert imu.is_valid()


def test_arguments_may_be_named():
    names = {"gyro_z": 6, "gyro_y": 5, "gyro_x": 4, "accel_z": 3, "accel_y": 2, "accel_x": 1}
    assert Imu(**names, timestamp_ns=7) == Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7)


@pytest.mark.parametrize("values", [(), (1.0,) * 5, (1.0,) * 8])
def test_six_values_are_required(values):
    with pytest.raises(TypeError, match="argument"):
        Imu(*values)


def test_a_value_that_is_no_number_is_a_type_error(subtests):
    for wrong, place in itertools.product(["1.0", None, 1j, [1.0]], range(6)):
        with (
            subtests.test(wrong=wrong, place=place),
            pytest.raises(TypeError, match="six numbers, got"),
        ):
            Imu(*[wrong if i == place else 0.0 for i in range(6)])


@pytest.mark.parametrize("wrong", [1.0, "1", None, np.float64(1.0)])
def test_a_stamp_that_is_no_int_is_a_type_error(imu, wrong):
    with pytest.raises(TypeError, match="timestamp_ns as an int"):
        Imu(*[0.0] * 6, wrong)
    with pytest.raises(TypeError, match="timestamp_ns as an int"):
        imu.timestamp_ns = wrong


@pytest.mark.parametrize("wrong", [-1, 2**64, -(2**64), 2**70, np.int64(-1)])
def test_a_stamp_outside_64_bits_is_an_overflow_and_does_not_wrap(imu, wrong):
    with pytest.raises(OverflowError, match=r"0 <= timestamp_ns < 2\*\*64"):
        Imu(*[0.0] * 6, wrong)
    with pytest.raises(OverflowError, match=r"0 <= timestamp_ns < 2\*\*64"):
        imu.timestamp_ns = wrong
    assert imu.timestamp_ns == DISTINCT[-1]


@pytest.mark.parametrize("stamp", [0, 1, 2**63, 2**64 - 1, np.uint64(2**64 - 1), np.int32(5)])
def test_a_stamp_within_64_bits_is_kept(stamp):
    assert Imu(*[0.0] * 6, stamp).timestamp_ns == int(stamp)


def test_new_and_now_read_the_wall_clock():
    before = time.time_ns()
    new, now = Imu.new(), Imu.now(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert before <= new.timestamp_ns <= now.timestamp_ns <= time.time_ns()
    assert new == Imu(*[0.0] * 6, new.timestamp_ns)
    assert now == Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, now.timestamp_ns)


# Attributes


@pytest.mark.parametrize(("name", "offset"), SCALARS.items())
def test_a_scalar_is_read_and_written(name, offset):
    imu = Imu.from_bytes(bytes(304))
    setattr(imu, name, 0.25)
    assert getattr(imu, name) == 0.25
    assert bytes(imu) == bytes(offset) + struct.pack("<d", 0.25) + bytes(296 - offset)
    with pytest.raises(TypeError):
        setattr(imu, name, "0.25")


@pytest.mark.parametrize("name", FIELDS)
def test_a_vector_is_a_writable_float64_view(imu, name):
    view = getattr(imu, name)
    assert view.dtype == np.float64
    view[1] = 0.25
    assert getattr(imu, name)[1] == 0.25
    assert imu.to_numpy()[name][1] == 0.25


def test_the_rust_idiom_marks_the_orientation_as_present():
    imu = Imu.new()
    imu.orientation_covariance[0] = 0.01
    assert imu.has_orientation()


def test_the_class_can_be_inspected():
    assert dict(inspect.getmembers(Imu))["orientation"] is vars(Imu)["orientation"]


def test_a_view_keeps_the_message_alive():
    imu = Imu(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    views = imu.linear_acceleration, imu.to_numpy()
    del imu
    gc.collect()
    ballast = [Imu(*[9.0] * 6) for _ in range(1000)]
    assert views[0].tolist() == [1.0, 2.0, 3.0]
    assert views[1]["angular_velocity"].tolist() == [4.0, 5.0, 6.0]
    assert len(ballast) == 1000


@pytest.mark.parametrize(("name", "place"), FIELDS.items())
def test_a_vector_takes_any_sequence_of_its_length(imu, name, place):
    numbers = [0.5 * i for i in range(place[1])]
    for kind in (
        list,
        tuple,
        np.array,
        lambda v: np.array(v, np.float32),
        lambda v: np.array(v)[:],
    ):
        setattr(imu, name, [0.0] * place[1])
        setattr(imu, name, kind(numbers))
        assert getattr(imu, name).tolist() == numbers


@pytest.mark.parametrize("name", COVARIANCES)
def test_a_covariance_takes_a_matrix_by_rows(imu, name):
    matrix = np.arange(9.0).reshape(3, 3)
    setattr(imu, name, matrix.T)
    assert getattr(imu, name).tolist() == [0.0, 3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0]
    setattr(imu, name, matrix.tolist())
    assert getattr(imu, name).tolist() == list(range(9))


def test_another_length_is_refused_with_the_field_and_the_length(imu, subtests):
    for (name, place), shape in itertools.product(
        FIELDS.items(), [(), (0,), (2,), (8,), (10,), (2, 2), (1, 3), (9, 1), (1, 3, 3)]
    ):
        with subtests.test(name=name, place=place, shape=shape):
            check_length(imu, name, place, shape)


def check_length(imu, name, place, shape):
    before = bytes(imu)
    size = math.prod(shape)
    with pytest.raises(ShapeError, match=f"{name} as {place[1]} numbers.*, got {size} in shape"):
        setattr(imu, name, np.zeros(shape))
    assert bytes(imu) == before


def test_a_ragged_list_is_refused_with_the_field(imu):
    with pytest.raises(ValueError, match="orientation_covariance as 9 numbers or a 3x3 matrix"):
        imu.orientation_covariance = [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize("wrong", [["1", "2", "3"], [1.0, None, 3.0], [1j, 0, 0], "123", None])
def test_a_sequence_of_other_than_numbers_is_a_type_error(imu, wrong):
    before = bytes(imu)
    with pytest.raises(TypeError, match="angular_velocity as 3 numbers"):
        imu.angular_velocity = wrong
    assert bytes(imu) == before


@pytest.mark.parametrize("name", ["linear_acceleration_x", "frame_id", "timestamp", "__topic__"])
def test_another_attribute_is_refused(imu, name):
    with pytest.raises(AttributeError):
        setattr(imu, name, 1.0)
    assert not hasattr(imu, "__dict__")


# Methods


def test_euler_angles_store_the_golden_quaternion_and_leave_the_covariance(imu):
    before = imu.orientation_covariance.tolist()
    imu.set_orientation_from_euler(0.3, -0.4, 2.0)
    golden = [0.24442959607853676, 0.01710509924714876, 0.8314780364149006, 0.498603914044254]
    assert np.abs(imu.orientation - golden).max() <= np.spacing(0.25)
    assert imu.orientation_covariance.tolist() == before
    assert not Imu.new().has_orientation()


@pytest.mark.parametrize(
    ("given_covariance", "stored"),
    [
        (0.04, [0.04, 0, 0, 0, 0.04, 0, 0, 0, 0.04]),
        (0, [0] * 9),
        (np.float32(0.5), [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5]),
        (range(9), list(range(9))),
        (np.arange(9).reshape(3, 3), list(range(9))),
    ],
)
def test_euler_angles_may_come_with_a_covariance(given_covariance, stored):
    imu = Imu.new()
    imu.set_orientation_from_euler(0.0, 0.0, 1.0, covariance=given_covariance)
    assert imu.orientation_covariance.tolist() == stored
    assert imu.has_orientation()


@pytest.mark.parametrize("wrong", ["0.1", [1.0] * 3, np.eye(2), [None] * 9])
def test_a_bad_covariance_beside_euler_angles_changes_nothing(imu, wrong):
    before = bytes(imu)
    with pytest.raises((ShapeError, TypeError), match="orientation_covariance"):
        imu.set_orientation_from_euler(0.0, 0.0, 1.0, covariance=wrong)
    assert bytes(imu) == before


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_euler_angles_that_are_not_finite_store_nan_and_do_not_raise(bad):
    imu = Imu.new()
    imu.set_orientation_from_euler(0.0, bad, 0.0)
    assert np.isnan(imu.orientation).all()
    assert not imu.is_valid()


@pytest.mark.parametrize(
    ("firsts", "present"),
    [((0.0, -0.0, 1e-300, math.inf), True), ((-1.0, -1e-300, -math.inf, math.nan), False)],
)
def test_orientation_is_there_when_its_first_covariance_is_not_negative(firsts, present):
    imu = Imu.new()
    for first in firsts:
        imu.orientation_covariance[0] = first
        assert imu.has_orientation() is present


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_validity_is_that_of_the_ten_measured_values_alone(bad):
    for name, (_, length) in FIELDS.items():
        for i in range(length):
            imu = Imu.new()
            getattr(imu, name)[i] = bad
            assert imu.is_valid() is (name in COVARIANCES)


def test_a_zero_quaternion_is_no_reason_to_be_invalid():
    assert Imu.from_bytes(bytes(304)).is_valid()


def test_vectors_and_quaternion_are_copies(imu):
    angular, linear, attitude = (
        imu.angular_velocity_vec(),
        imu.linear_acceleration_vec(),
        imu.orientation_quat(),
    )
    assert angular == Vector3(*imu.angular_velocity)
    assert linear == Vector3(*imu.linear_acceleration)
    assert attitude == Quaternion(*imu.orientation)
    before = bytes(imu)
    angular.x = linear.y = attitude.w = 0.0
    assert bytes(imu) == before


@pytest.mark.parametrize("said", CovarianceStatus)
@pytest.mark.parametrize("name", COVARIANCES)
def test_each_block_tells_its_own_status(name, said):
    imu = Imu.from_bytes(bytes(304))
    setattr(imu, name, BLOCKS[said])
    for block in COVARIANCES:
        found = getattr(imu, block.replace("covariance", "status"))
        assert found is (said if block == name else CovarianceStatus.UNKNOWN)
    with pytest.raises(AttributeError):
        imu.orientation_status = said


def test_the_text_is_that_of_horus():
    expected = "Imu(accel=[0.000, 0.000, 9.810], gyro=[0.000, 0.000, 0.100], timestamp_ns=0)"
    assert repr(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1)) == expected
    assert repr(Imu(math.nan, math.inf, -math.inf, -0.0, 0.0005, 1e20)) == (
        "Imu(accel=[NaN, inf, -inf], gyro=[-0.000, 0.001, 100000000000000000000.000], "
        "timestamp_ns=0)"
    )


def test_topic_names_are_those_of_horus():
    assert [kind.__topic_name__ for kind in (Imu, Pose3D, Odometry)] == ["imu", "pose3d", "odom"]


def test_the_examples_of_the_docstring_print_what_they_say():
    assert doctest.testmod(imu_module).failed == 0


# Equality


def test_nan_equals_nan_and_minus_zero_equals_zero():
    assert Imu(math.nan, -0.0, 1.0, 2.0, 3.0, 4.0) == Imu(-math.nan, 0.0, 1.0, 2.0, 3.0, 4.0)


def test_every_field_counts(imu, subtests):
    for place in range(38):
        with subtests.test(place=place):
            values = DISTINCT.copy()
            values[place] += 1
            assert Imu.from_bytes(struct.pack(LAYOUT, *values)) != imu
            if place < 37:
                values[place] = math.nan
                assert Imu.from_bytes(struct.pack(LAYOUT, *values)) != imu


def test_stamps_that_differ_by_one_nanosecond_differ():
    assert Imu(*[0.0] * 6, 2**64 - 1) != Imu(*[0.0] * 6, 2**64 - 2)


def test_other_types_are_left_to_answer_themselves(imu):
    assert imu.__eq__(bytes(imu)) is NotImplemented
    assert imu != bytes(imu)
    assert imu == type("Anything", (), {"__eq__": lambda *_: True})()


def test_a_message_can_change_and_has_no_hash(imu):
    with pytest.raises(TypeError, match="unhashable"):
        hash(imu)


# Bytes, copies, buffers


@given(any_message, st.integers(2, 5))
def test_pickle_keeps_every_byte(imu, protocol):
    twin = pickle.loads(pickle.dumps(imu, protocol))  # noqa: S301 (our own bytes)
    assert type(twin) is Imu
    assert bytes(twin) == bytes(imu)
    assert twin == imu


@given(any_message)
def test_bytes_there_and_back_keep_every_byte(imu):
    assert bytes(Imu.from_bytes(bytes(imu))) == bytes(imu)
    assert bytes(Imu.from_record(imu.to_numpy())) == bytes(imu)
    assert bytes(Imu.from_record(Imu.array([imu])[0])) == bytes(imu)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, Imu.from_bytes])
def test_a_copy_is_independent(imu, copied):
    twin = copied(imu)
    before = bytes(imu)
    twin.orientation_covariance[0] = 99.0
    twin.timestamp_ns = 1
    assert bytes(imu) == before


@pytest.mark.parametrize("length", [0, 1, 303])
def test_fewer_bytes_are_truncated_where_they_end(length):
    with pytest.raises(TruncatedError, match=f"expected 304 bytes for Imu, got {length}") as caught:
        Imu.from_bytes(bytes(length))
    assert (caught.value.offset, caught.value.topic) == (length, "Imu")


@pytest.mark.parametrize("length", [305, 608])
def test_more_bytes_are_no_message(length):
    with pytest.raises(FormatError, match=f"expected 304 bytes for Imu, got {length}") as caught:
        Imu.from_bytes(bytes(length))
    assert type(caught.value) is FormatError
    assert caught.value.offset == 304


@pytest.mark.parametrize("wrong", ["x" * 304, 304, None, [0] * 304])
def test_other_than_bytes_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="bytes-like"):
        Imu.from_bytes(wrong)


def test_bytes_are_counted_whatever_their_item_is(imu):
    words = np.frombuffer(bytes(imu), np.uint64)
    assert Imu.from_bytes(words) == imu


def test_a_message_in_a_buffer_shares_it():
    buffer = bytearray(700)
    imu = Imu.from_buffer(buffer, 8)
    imu.accel_x = 1.25
    assert buffer[208:216] == struct.pack("<d", 1.25)
    buffer[8 + 296] = 7
    assert imu.timestamp_ns == 7


def test_a_message_in_a_batch_shares_it():
    batch = np.zeros(3, Imu.dtype)
    Imu.from_buffer(batch, 2 * 304).gyro_z = 0.5
    assert batch["angular_velocity"][:, 2].tolist() == [0.0, 0.0, 0.5]


def test_a_message_keeps_its_buffer_alive():
    batch = np.ones(1, Imu.dtype)
    gone = weakref.ref(batch)
    imu = Imu.from_buffer(batch)
    del batch
    gc.collect()
    assert gone() is not None
    assert imu.timestamp_ns == 1


@pytest.mark.parametrize(("size", "offset"), [(303, 0), (304, 1), (304, 304), (10, 400)])
def test_a_buffer_that_ends_inside_the_message_is_truncated(size, offset):
    with pytest.raises(TruncatedError, match=f"304 bytes for Imu at byte {offset}") as caught:
        Imu.from_buffer(bytearray(size), offset)
    assert caught.value.offset == size


def test_a_buffer_must_be_writable_and_its_offset_not_negative():
    with pytest.raises(TypeError, match="writable"):
        Imu.from_buffer(bytes(304))
    with pytest.raises(ValueError, match="negative"):
        Imu.from_buffer(bytearray(304), -1)


def test_a_message_is_a_buffer(imu):
    assert memoryview(imu).nbytes == 304
    assert np.frombuffer(imu, Imu.dtype)["timestamp_ns"].tolist() == [DISTINCT[-1]]


# Batches


def test_the_record_view_shares_the_message(imu):
    record = imu.to_numpy()
    assert record.shape == ()
    assert record.dtype == Imu.dtype
    record["timestamp_ns"] = 5
    record["linear_acceleration"] = [1.0, 2.0, 3.0]
    assert imu.timestamp_ns == 5
    assert (imu.accel_x, imu.accel_y, imu.accel_z) == (1.0, 2.0, 3.0)


def test_many_messages_decode_without_a_copy():
    messages = [Imu(float(i), 0.0, 0.0, 0.0, 0.0, 0.0, i) for i in range(5)]
    raw = b"".join(messages)
    batch = np.frombuffer(raw, Imu.dtype)
    assert batch["timestamp_ns"].tolist() == [0, 1, 2, 3, 4]
    assert batch["linear_acceleration"][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert np.shares_memory(batch, np.frombuffer(raw, np.uint8))
    assert [Imu.from_record(record) for record in batch] == messages


@given(st.lists(any_message, max_size=4))
def test_messages_become_one_writable_array_and_come_back(messages):
    batch = Imu.array(iter(messages))
    assert batch.shape == (len(messages),)
    assert batch.flags.writeable
    assert batch.tobytes() == b"".join(messages)
    batch["timestamp_ns"] = 3
    assert batch.tobytes().count(struct.pack("<Q", 3)) >= len(messages)


def test_an_array_of_mixed_messages_is_refused(imu):
    with pytest.raises(TypeError, match="expected Imu messages, got Pose3D in row 1"):
        Imu.array([imu, Pose3D()])


@pytest.mark.parametrize(
    "wrong", [np.zeros(1, Imu.dtype), np.zeros((), Pose3D.dtype), np.float64(1.0)]
)
def test_a_record_of_another_type_or_shape_is_refused(wrong):
    with pytest.raises(ShapeError, match=r"one record of Imu\.dtype"):
        Imu.from_record(wrong)
