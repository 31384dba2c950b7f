"""The attitude algebra that PX4 pins down by numbers, order w x y z, NED and FRD.

Numbers are those of PX4's own matrix library tests, checked with scipy.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.geometry import euler, quaternion, rotations
from strapdown.geometry.frames import convert_quaternion

TOLERANCE = 1e-4
Q = np.array([0.98334744, 0.0342708, 0.10602051, 0.14357218])
DCM = np.array(
    [
        [0.93629336, -0.27509585, 0.21835066],
        [0.28962948, 0.95642509, -0.03695701],
        [-0.19866933, 0.0978434, 0.97517033],
    ]
)
NED_FROM_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FROM_FLU = np.diag([1.0, -1.0, -1.0])


def ours(*wxyz):
    return quaternion.from_wxyz(wxyz)


def close(actual, desired, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance)


def test_euler_angles_quaternion_and_matrix_are_one_attitude():
    angles = [0.1, 0.2, 0.3]
    q = euler.to_quaternion(angles, "zyx")
    close(quaternion.to_wxyz(q), Q, 1e-8)
    close(quaternion.to_matrix(q), DCM, 1e-8)
    close(euler.from_quaternion(quaternion.from_matrix(DCM), "zyx"), angles, 1e-7)
    close(
        quaternion.to_wxyz(quaternion.multiply(ours(*Q), ours(*Q))),
        [0.93394439, 0.0674002, 0.20851, 0.28236266],
    )


def test_the_antisymmetric_part_of_the_matrix_is_the_axis_times_twice_the_sine():
    turn = quaternion.to_rotation_vector(ours(*Q))
    angle = np.linalg.norm(turn)
    close(2.0 * np.sin(angle) * turn / angle, [0.1348, 0.4170, 0.5647])


def test_a_thousand_products_stay_a_rotation():
    product, step = quaternion.IDENTITY, quaternion.from_matrix(DCM)
    for _ in range(1000):
        product = quaternion.normalize(quaternion.multiply(product, step))
    close(np.linalg.norm(quaternion.to_matrix(product), axis=1), 1.0, 1e-12)
    # 1000 turns about one axis are one turn by 1000 times the angle
    vector = 1000.0 * Rotation.from_quat(step).as_rotvec()
    expected = Rotation.from_rotvec(vector).as_matrix()
    close(quaternion.to_matrix(product), expected, 1e-10)


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        (
            (0.001, 0.002, -0.003),
            (0.999993000008167, 0.000999997666668, 0.001999995333337, -0.002999993000005),
        ),
        (
            (1.0, -2.0, 3.0),
            (-0.825299062075259, -0.150921327219964, 0.301842654439929, -0.452763981659893),
        ),
        ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_the_exponential_of_half_the_rotation_vector(u, expected):
    close(quaternion.to_wxyz(quaternion.exp(u)), expected, 1e-12)


@pytest.mark.parametrize(
    ("u", "rows"),
    [
        (
            (1.0, -2.0, 3.0),
            [
                (2.574616981530584, -1.180828156687602, -1.478757764968596),
                (1.819171843312398, 2.095859216561988, 0.457515529937193),
                (0.521242235031404, 1.457515529937193, 1.297929608280994),
            ],
        ),
        ((0.001, 0.002, -0.003), [(0.499997833331311, 0.001500333333644, 0.000999499999533)]),
        ((0.0, 0.0, 0.0), np.eye(3) / 2.0),
    ],
)
def test_the_inverse_right_jacobian(u, rows):
    close(rotations.inverse_right_jacobian(u)[: len(rows)], rows, 1e-12)


@given(seed=st.integers(0, 2**32 - 1), length=st.floats(1e-3, 1.5))
def test_the_jacobian_is_the_derivative_of_the_logarithm(seed, length):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=3)
    u *= length / np.linalg.norm(u)
    step = 1e-5
    columns = []
    for axis in np.eye(3):
        ends = [
            quaternion.log(
                quaternion.multiply(quaternion.exp(u), quaternion.exp(sign * step * axis / 2.0))
            )
            for sign in (1.0, -1.0)
        ]
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    close(rotations.inverse_right_jacobian(u), np.array(columns).T, 1e-7)


@pytest.mark.parametrize("angle", [0.049999, 0.050001])
def test_the_jacobian_has_no_step_where_its_formula_changes(angle):
    u = angle * np.array([2.0, -1.0, 2.0]) / 3.0
    skew = Rotation.from_rotvec(u * 1e-9).as_matrix()
    skew = 0.5e9 * (skew - skew.T)
    factor = (np.sin(angle) - angle * np.cos(angle)) / (angle**2 * np.sin(angle))
    expected = (np.eye(3) + skew + factor * skew @ skew) / 2.0
    close(rotations.inverse_right_jacobian(u), expected, 1e-12)


def test_the_derivative_for_a_rate_of_the_body_and_of_the_reference():
    q, rate = ours(0.0, 1.0, 0.0, 0.0), np.array([1.0, 2.0, 3.0, 0.0])
    body = 0.5 * quaternion.multiply(q, rate)
    reference = 0.5 * quaternion.multiply(rate, q)
    close(quaternion.to_wxyz(body), [-0.5, 0.0, -1.5, 1.0], 0.0)
    close(quaternion.to_wxyz(reference), [-0.5, 0.0, 1.5, -1.0], 0.0)


def test_an_euler_step_normalised_is_the_exponential_step():
    h, rate, q = 0.001, np.array([0.1, 0.2, 0.3]), ours(*Q)
    derivative = 0.5 * quaternion.multiply(q, np.append(rate, 0.0))
    exact = quaternion.multiply(q, quaternion.exp(h * rate / 2.0))
    close(quaternion.normalize(q + h * derivative), exact, 1e-8)


def test_rotations_by_axis_and_angle():
    n = np.sqrt(4.0 * np.pi**2 / 3.0)
    close(quaternion.to_wxyz(quaternion.from_rotation_vector([n, n, n])), [-1, 0, 0, 0], 1e-12)
    back = quaternion.to_rotation_vector(ours(-0.29555113, 0.25532186, 0.51064372, 0.76596558))
    axis = np.array([1.0, 2.0, 3.0])
    turn = quaternion.from_rotation_vector(axis)
    close(quaternion.angle_between(turn, quaternion.from_rotation_vector(back)), 0.0, 1e-7)
    thrice = quaternion.from_rotation_vector(3.0 * axis / np.linalg.norm(axis))
    vector = quaternion.to_rotation_vector(thrice)
    close(vector, [0.80178373, 1.60356745, 2.40535118], 1e-8)


def test_a_rotation_before_a_rotation():
    first = quaternion.from_rotation_vector([5.1, 3.2, 8.4])
    then = quaternion.from_rotation_vector([1.1, 2.5, 3.8])
    product = quaternion.canonical(quaternion.multiply(then, first))
    close(quaternion.to_wxyz(product), [0.3019, 0.2645, 0.2268, 0.8874])


def test_the_matrix_of_an_axis_and_angle_and_half_turns_come_back():
    q = ours(-0.29555113, 0.25532186, 0.51064372, 0.76596558)
    dcm = [
        (-0.6949206, 0.713521, 0.089292854),
        (-0.19200698, -0.30378509, 0.93319237),
        (0.69297814, 0.63134968, 0.34810752),
    ]
    close(quaternion.to_matrix(q), dcm, 1e-7)
    close(quaternion.from_matrix(np.array(dcm)), quaternion.canonical(q), 1e-7)
    close(quaternion.from_rotation_vector([1.0, 2.0, 3.0]), q, 1e-7)
    for half_turn in np.eye(4)[:3]:
        close(quaternion.from_matrix(quaternion.to_matrix(half_turn)), half_turn, 0.0)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ((-0.7, 0.4, 0.3, -0.3), (0.7, -0.4, -0.3, 0.3)),
        ((0.0, -1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_the_canonical_sign(q, expected):
    assert quaternion.to_wxyz(quaternion.canonical(ours(*q))).tolist() == list(expected)


def test_the_inverse_undoes_a_rotation_of_any_length():
    q = ours(0.1, 0.2, 0.3, 0.4)
    inverse = quaternion.conjugate(q) / np.sum(q * q)
    close(quaternion.multiply(inverse, q), quaternion.IDENTITY, 1e-15)


def test_angles_of_every_upright_and_upside_down_attitude_come_back():
    cases = itertools.product((-90, 0, 90), (-90, 0, 90), (-179, -89, 1, 91))
    angles = np.array(list(cases), np.float64)
    q = euler.to_quaternion(np.radians(angles), "zyx")
    back = euler.from_quaternion(q, "zyx")
    close(quaternion.angle_between(euler.to_quaternion(back, "zyx"), q), 0.0, 1e-7)
    roll, pitch, yaw = angles.T
    locked = np.abs(pitch) == 90
    expected = np.column_stack(
        [np.where(locked, 0.0, roll), pitch, np.where(locked, yaw - np.sign(pitch) * roll, yaw)]
    )
    wrapped = (np.degrees(back) - expected + 180.0) % 360.0 - 180.0
    close(wrapped, 0.0, 1e-5)


@pytest.mark.parametrize("v", [(0, 1, 1), (1, 2, 0), (0, 0, 1), (1, 1, 1)])
def test_the_shortest_rotation_between_opposite_vectors_is_half_a_turn(v):
    v = np.array(v, np.float64)
    q = rotations.shortest(v, -v)
    close(quaternion.rotate(q, v), -v, 1e-12)
    assert q[3] == 0.0
    assert q[:3] @ v == pytest.approx(0.0, abs=1e-15)
    assert rotations.shortest(v, v) == pytest.approx(quaternion.IDENTITY, abs=1e-15)


@given(seed=st.integers(0, 2**32 - 1), closeness=st.sampled_from([1.0, 1e-3, 1e-7, 1e-11]))
def test_the_shortest_rotation_maps_one_direction_to_the_other(seed, closeness):
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(5, 3))
    w = 3.0 * (closeness * rng.normal(size=(5, 3)) - v)
    q = rotations.shortest(v, w)
    lengths = np.linalg.norm(v, axis=1, keepdims=True), np.linalg.norm(w, axis=1, keepdims=True)
    close(quaternion.rotate(q, v / lengths[0]), w / lengths[1], 2e-12)
    cosine = np.sum(v * w, axis=1) / (lengths[0] * lengths[1])[:, 0]
    angle = np.linalg.norm(quaternion.to_rotation_vector(q), axis=1)
    close(np.cos(angle), cosine, 1e-9)


@pytest.mark.parametrize("bad", [[0.0, 0.0, 0.0], [np.nan, 0.0, 1.0]])
def test_vectors_without_a_direction_are_refused(bad):
    with pytest.raises(ValueRangeError, match="expected"):
        rotations.shortest([1.0, 0.0, 0.0], bad)


def test_ned_from_frd_becomes_enu_from_flu():
    q = ours(-0.5090381, 0.77062242, -0.29022966, -0.2505754)
    w, x, y, z = quaternion.to_wxyz(q)
    change = {"world": ("NED", "ENU"), "body": ("FRD", "FLU")}
    converted = quaternion.to_wxyz(convert_quaternion(q, **change))
    closed_form = np.array([w + z, x + y, x - y, w - z]) / np.sqrt(2.0)
    for found in (converted, closed_form):
        expected = np.array([-0.53712786, 0.33968898, 0.75013571, -0.18276073])
        close(found * np.sign(found @ expected), expected, 1e-7)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_change_of_both_frames_equals_the_product_of_matrices_both_ways(seed):
    q = Rotation.random(4, rng=np.random.default_rng(seed)).as_quat()
    enu = convert_quaternion(q, world=("NED", "ENU"), body=("FRD", "FLU"))
    # The matrices are their own inverses.
    expected = NED_FROM_ENU @ Rotation.from_quat(q).as_matrix() @ FRD_FROM_FLU
    close(Rotation.from_quat(enu).as_matrix(), expected, 1e-12)
    w, x, y, z = quaternion.to_wxyz(q).T
    closed_form = np.stack([w + z, x + y, x - y, w - z], axis=-1) / np.sqrt(2.0)
    close(np.abs(np.sum(quaternion.to_wxyz(enu) * closed_form, axis=1)), 1.0, 1e-12)
    back = convert_quaternion(enu, world=("ENU", "NED"), body=("FLU", "FRD"))
    close(quaternion.angle_between(back, q), 0.0, 1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_a_local_frame_with_z_down_changes_two_signs(seed):
    q = Rotation.random(rng=np.random.default_rng(seed)).as_quat()
    w, x, y, z = quaternion.to_wxyz(q)
    flu = convert_quaternion(q, world=("NED", "NWU"), body=("FRD", "FLU"))
    assert quaternion.to_wxyz(flu) == pytest.approx([w, x, -y, -z], abs=1e-15)
