"""The texts are those that horus-robotics 0.4.1 prints."""

from __future__ import annotations

import copy
import math
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.messages.basic import Quaternion, Vector3

angles = st.floats(-10.0, 10.0)
components = st.floats(-1e6, 1e6)
GOLDEN_ANGLES = (0.3, -0.4, 2.0)
GOLDEN = (0.24442959607853676, 0.01710509924714876, 0.8314780364149006, 0.498603914044254)


def xyz(vector):
    return (vector.x, vector.y, vector.z)


def xyzw(quaternion):
    return (quaternion.x, quaternion.y, quaternion.z, quaternion.w)


def test_a_vector_is_three_little_endian_doubles():
    assert bytes(Vector3(1.0, -2.0, 3.5)) == struct.pack("<3d", 1.0, -2.0, 3.5)
    assert Vector3.dtype.itemsize == 24
    assert xyz(Vector3.from_bytes(struct.pack("<3d", 7.0, 8.0, 9.0))) == (7.0, 8.0, 9.0)


def test_a_quaternion_is_four_little_endian_doubles_with_w_last():
    assert bytes(Quaternion(1.0, 2.0, 3.0, 4.0)) == struct.pack("<4d", 1.0, 2.0, 3.0, 4.0)
    assert Quaternion.dtype.itemsize == 32


def test_defaults_are_zero_and_no_rotation():
    assert xyz(Vector3()) == xyz(Vector3.zero()) == (0.0, 0.0, 0.0)
    assert xyzw(Quaternion()) == xyzw(Quaternion.identity()) == (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("kind", [Vector3, Quaternion])
def test_components_are_numbers(kind):
    for wrong in ("1", None, 1j):
        with pytest.raises(TypeError):
            kind(wrong)
        with pytest.raises(TypeError):
            kind().x = wrong
    with pytest.raises(AttributeError):
        kind().other = 1.0


def test_products_of_vectors():
    a, b = Vector3(1.0, 2.0, 3.0), Vector3(4.0, -5.0, 6.0)
    assert a.dot(b) == 12.0
    assert a.cross(b) == Vector3(27.0, 6.0, -13.0)
    assert Vector3(2.0, 3.0, 6.0).magnitude() == 7.0


@given(st.tuples(components, components, components), st.tuples(components, components, components))
def test_products_of_vectors_agree_with_numpy(p, q):
    a, b = Vector3(*p), Vector3(*q)
    size = np.linalg.norm(p) * np.linalg.norm(q)
    assert a.dot(b) == pytest.approx(np.dot(p, q), abs=1e-14 * size)
    assert xyz(a.cross(b)) == pytest.approx(np.cross(p, q), abs=1e-14 * size)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e200])
def test_normalising_a_vector_of_any_size_gives_length_one(size):
    vector = Vector3(0.0, size, 0.0)
    unit = vector.normalized()
    assert xyz(unit) == (0.0, 1.0, 0.0)
    assert vector.y == size
    vector.normalize()
    assert vector == unit


def test_normalising_zero_leaves_zero():
    vector, quaternion = Vector3(), Quaternion(0.0, 0.0, 0.0, 0.0)
    vector.normalize()
    quaternion.normalize()
    assert vector == vector.normalized() == Vector3.zero()
    assert xyzw(quaternion) == (0.0, 0.0, 0.0, 0.0)


def test_normalising_keeps_the_rotation():
    quaternion = Quaternion(1.0, 2.0, 3.0, 4.0)
    quaternion.normalize()
    assert xyzw(quaternion) == pytest.approx(np.array([1.0, 2.0, 3.0, 4.0]) / math.sqrt(30.0))


def test_euler_angles_give_the_golden_quaternion_within_one_ulp():
    got = xyzw(Quaternion.from_euler(*GOLDEN_ANGLES))
    assert all(abs(a - b) <= math.ulp(b) for a, b in zip(got, GOLDEN, strict=True))


@given(angles, angles, angles)
def test_euler_angles_are_intrinsic_zyx(roll, pitch, yaw):
    expected = Rotation.from_euler("ZYX", [yaw, pitch, roll]).as_matrix()
    got = Rotation.from_quat(xyzw(Quaternion.from_euler(roll, pitch, yaw))).as_matrix()
    assert got == pytest.approx(expected, abs=1e-14)


def test_euler_angles_may_be_left_out():
    assert xyzw(Quaternion.from_euler()) == (0.0, 0.0, 0.0, 1.0)
    assert xyzw(Quaternion.from_euler(yaw=math.pi)) == pytest.approx((0.0, 0.0, 1.0, 0.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(3))
def test_an_angle_that_is_not_finite_gives_nan_and_does_not_raise(bad, place):
    quaternion = Quaternion.from_euler(*[bad if i == place else 0.1 for i in range(3)])
    assert all(math.isnan(component) for component in xyzw(quaternion))
    assert not quaternion.is_valid()


def test_a_valid_quaternion_is_finite_and_not_all_zero():
    assert Quaternion(5.0, 0.0, 0.0, 0.0).is_valid()
    assert Quaternion(0.0, 0.0, 1e-300, 0.0).is_valid()
    assert not Quaternion(0.0, -0.0, 0.0, 0.0).is_valid()
    assert not Quaternion(0.0, 0.0, math.inf, 1.0).is_valid()


def test_the_text_is_that_of_horus():
    assert repr(Vector3(-0.0, math.nan, 0.0005)) == "Vector3(-0.000, NaN, 0.001)"
    assert repr(Quaternion.from_euler(*GOLDEN_ANGLES)) == "Quaternion(0.244, 0.017, 0.831, 0.499)"


def test_values_compare_and_types_do_not():
    assert Vector3(math.nan, 0.0, 1.0) == Vector3(math.nan, -0.0, 1.0)
    assert Vector3(1.0) != Vector3(2.0)
    assert Vector3() != (0.0, 0.0, 0.0)
    assert Vector3() != Quaternion()


@pytest.mark.parametrize("message", [Vector3(1.0, math.nan, 3.0), Quaternion(1.0, 2.0, 3.0, 4.0)])
def test_copies_are_equal_and_independent(message):
    for twin in (copy.copy(message), copy.deepcopy(message), pickle.loads(pickle.dumps(message))):  # noqa: S301 (our own bytes)
        assert twin == message
        twin.x = 9.0
        assert twin != message
