"""Quaternions against their algebra, SciPy, and the attitude tests of PX4-Matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from scipy.spatial.transform import Rotation, Slerp

from strapdown._kernels.compilation import compiled
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import formulas, quaternion
from strapdown.geometry.quaternion import (
    IDENTITY,
    angle_between,
    canonical,
    conjugate,
    exp,
    from_matrix,
    from_rotation_vector,
    from_wxyz,
    log,
    make_continuous,
    mean,
    multiply,
    normalize,
    rotate,
    slerp,
    to_matrix,
    to_rotation_vector,
    to_wxyz,
)

TIGHT = {"rtol": 0.0, "atol": 4e-15}


def some_rotations(seed, shape, closeness):
    """Unit quaternions of which a smaller closeness is nearer to the identity."""
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    q[..., :3] *= closeness
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@st.composite
def rotations(draw, count):
    """As many arrays of rotations, of shapes that broadcast, far from and near the identity."""
    shapes = draw(mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_dims=2))
    return [
        some_rotations(draw(st.integers(0, 2**32)), shape, draw(st.sampled_from([1, 1e-4, 1e-9])))
        for shape in shapes.input_shapes
    ]


def same_rotation(p, q, atol=1e-15):
    p, q = np.broadcast_arrays(p, q)
    aligned = np.where(np.sum(p * q, axis=-1, keepdims=True) < 0.0, -q, q)
    np.testing.assert_allclose(p, aligned, rtol=0.0, atol=atol)


# The group, and its action on vectors.


@given(rotations(3))
def test_the_product_is_associative(pqr):
    p, q, r = pqr
    np.testing.assert_allclose(
        multiply(multiply(p, q), r), multiply(p, multiply(q, r)), rtol=0, atol=1e-15
    )


@given(rotations(1))
def test_the_identity_is_neutral_and_the_conjugate_inverts(q):
    (q,) = q
    assert np.array_equal(multiply(IDENTITY, q), q)
    assert np.array_equal(multiply(q, IDENTITY), q)
    expected = np.broadcast_to(IDENTITY, q.shape)
    np.testing.assert_allclose(multiply(q, conjugate(q)), expected, rtol=0, atol=1e-15)


@given(rotations(2), st.integers(0, 2**32))
def test_rotating_by_a_product_is_rotating_twice(pq, seed):
    p, q = pq
    v = np.random.default_rng(seed).normal(size=3)
    size = float(np.abs(v).max())
    np.testing.assert_allclose(
        rotate(multiply(p, q), v), rotate(p, rotate(q, v)), rtol=0, atol=1e-14 * max(size, 1.0)
    )


@given(rotations(1), st.integers(0, 2**32))
def test_the_matrix_rotates_as_the_quaternion_does(q, seed):
    (q,) = q
    v = np.random.default_rng(seed).normal(size=3)
    np.testing.assert_allclose(to_matrix(q) @ v, rotate(q, v), **TIGHT)


@given(rotations(1))
def test_the_matrix_leads_back_to_the_quaternion(q):
    (q,) = q
    back = from_matrix(to_matrix(q))
    same_rotation(back, q)
    assert np.all(back[..., 3] >= 0.0)


@given(rotations(1))
def test_exp_and_log_are_inverse(q):
    (q,) = q
    np.testing.assert_allclose(exp(log(q)), q, rtol=0, atol=1e-15)
    assert np.all(np.linalg.norm(log(q), axis=-1) <= np.pi)


@given(rotations(1))
def test_a_rotation_vector_is_the_same_for_both_signs(q):
    (q,) = q
    v = to_rotation_vector(q)
    assert np.array_equal(to_rotation_vector(-q), v)
    assert np.all(np.linalg.norm(v, axis=-1) <= np.pi * (1 + 4e-16))
    same_rotation(from_rotation_vector(v), q)


@given(rotations(2), st.floats(0.0, 1.0))
def test_slerp_divides_the_angle(pq, fraction):
    p, q = pq
    middle, whole = slerp(p, q, fraction), angle_between(p, q)
    np.testing.assert_allclose(angle_between(p, middle), fraction * whole, rtol=0, atol=2e-15)
    np.testing.assert_allclose(angle_between(middle, q), (1 - fraction) * whole, rtol=0, atol=2e-15)


@given(rotations(2))
def test_slerp_starts_and_ends_at_its_ends(pq):
    p, q = pq
    assert np.array_equal(slerp(p, q, 0.0), np.broadcast_to(p, np.broadcast(p, q).shape))
    same_rotation(slerp(p, q, 1.0), q)


# Another implementation.


@pytest.fixture(scope="module")
def pairs():
    return some_rotations(1, (200,), 1.0), some_rotations(2, (200,), 1.0)


def test_products_matrices_and_vectors_agree_with_scipy(pairs):
    p, q = pairs
    rp, rq = Rotation.from_quat(p), Rotation.from_quat(q)
    v = np.random.default_rng(3).normal(size=(200, 3))
    same_rotation(multiply(p, q), (rp * rq).as_quat())
    np.testing.assert_allclose(rotate(p, v), rp.apply(v), **TIGHT)
    np.testing.assert_allclose(to_matrix(p), rp.as_matrix(), **TIGHT)
    same_rotation(from_matrix(rp.as_matrix()), p)
    np.testing.assert_allclose(to_rotation_vector(p), rp.as_rotvec(), **TIGHT)
    same_rotation(from_rotation_vector(3.0 * v), Rotation.from_rotvec(3.0 * v).as_quat())
    np.testing.assert_allclose(angle_between(p, q), (rp.inv() * rq).magnitude(), **TIGHT)


def test_slerp_agrees_with_scipy(pairs):
    p, q = pairs
    fractions = np.linspace(0.0, 1.0, 7)
    for one, other in zip(p[:20], q[:20], strict=True):
        expected = Slerp([0.0, 1.0], Rotation.from_quat([one, other]))(fractions).as_quat()
        same_rotation(slerp(one, other, fractions), expected)


def test_the_weighted_mean_agrees_with_scipy(pairs):
    q, _ = pairs
    weights = np.random.default_rng(4).uniform(size=200)
    same_rotation(mean(q), Rotation.from_quat(q).mean().as_quat(), 1e-13)
    same_rotation(mean(q, weights), Rotation.from_quat(q).mean(weights).as_quat(), 1e-13)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("quaternion_multiply", (4, 4)),
        ("quaternion_rotate", (4, 3)),
        ("quaternion_to_matrix", (4,)),
        ("quaternion_from_half_angles_zyx", (6,)),
        ("quaternion_exp", (3,)),
        ("quaternion_log", (4,)),
    ],
)
def test_a_compiled_kernel_gives_what_the_plain_one_gives(name, sizes):
    kernel = getattr(formulas, name)
    values = np.random.default_rng(5).normal(size=sum(sizes)).tolist()
    np.testing.assert_allclose(compiled(kernel)(*values), kernel(*values), rtol=4e-16, atol=4e-16)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-9, 0.99e-4, 1.01e-4, 1e-2, 1.0, 3.0])
def test_the_streaming_exponential_is_the_batched_one(size):
    u = size * np.array([0.48, -0.6, 0.64])
    np.testing.assert_allclose(formulas.quaternion_exp(*u.tolist()), exp(u), rtol=4e-16)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 1e-4, 1.0, 3.0, 3.2, 6.2])
def test_the_streaming_logarithm_is_half_the_rotation_vector(angle):
    q = exp(0.5 * angle * np.array([0.48, -0.6, 0.64]))
    half = 0.5 * to_rotation_vector(q)
    np.testing.assert_allclose(formulas.quaternion_log(*q.tolist()), half, rtol=4e-16, atol=1e-199)


# Published values: the attitude tests of PX4-Matrix (w first there).

PX4_MATRIX = [
    [-0.6949206, 0.713521, 0.089292854],
    [-0.19200698, -0.30378509, 0.93319237],
    [0.69297814, 0.63134968, 0.34810752],
]


def test_the_square_of_a_quaternion():
    q = from_wxyz([0.98334744, 0.0342708, 0.10602051, 0.14357218])
    expected = [0.93394439, 0.0674002, 0.20851, 0.28236266]
    np.testing.assert_allclose(to_wxyz(multiply(q, q)), expected, atol=1e-7)


def test_a_matrix_and_its_quaternion():
    q = from_wxyz([0.98334744, 0.0342708, 0.10602051, 0.14357218])
    R = [
        [0.93629336, -0.27509585, 0.21835066],
        [0.28962948, 0.95642509, -0.03695701],
        [-0.19866933, 0.0978434, 0.97517033],
    ]
    np.testing.assert_allclose(to_matrix(q), R, atol=1e-7)
    np.testing.assert_allclose(from_matrix(R), q, atol=1e-7)


@pytest.mark.parametrize(
    ("u", "expected"),
    [
        (
            (1e-3, 2e-3, -3e-3),
            (0.999993000008167, 0.000999997666668, 0.001999995333337, -0.002999993000005),
        ),
        (
            (1, -2, 3),
            (-0.825299062075259, -0.150921327219964, 0.301842654439929, -0.452763981659893),
        ),
        ((0, 0, 0), (1, 0, 0, 0)),
    ],
)
def test_the_exponential_of_a_half_angle_vector(u, expected):
    np.testing.assert_allclose(to_wxyz(exp(u)), expected, rtol=0, atol=1e-15)


def test_rotation_vectors_and_their_quaternions():
    q = from_wxyz([-0.29555113, 0.25532186, 0.51064372, 0.76596558])
    np.testing.assert_allclose(from_rotation_vector([1, 2, 3]), q, atol=1e-7)
    np.testing.assert_allclose(to_matrix(q), PX4_MATRIX, atol=1e-7)
    same_rotation(from_matrix(PX4_MATRIX), q, 1e-7)
    turned = multiply(from_rotation_vector([1.1, 2.5, 3.8]), from_rotation_vector([5.1, 3.2, 8.4]))
    np.testing.assert_allclose(to_wxyz(turned), [0.3019, 0.2645, 0.2268, 0.8874], atol=1e-4)
    full_turn = np.full(3, np.sqrt(4 * np.pi**2 / 3))
    np.testing.assert_allclose(from_rotation_vector(full_turn), -IDENTITY, atol=1e-15)
    v = 3 * np.array([1, 2, 3]) / np.sqrt(14)
    np.testing.assert_allclose(v, [0.80178373, 1.60356745, 2.40535118], atol=1e-8)
    np.testing.assert_allclose(to_rotation_vector(from_rotation_vector(v)), v, **TIGHT)


def test_half_turns_survive_the_matrix_exactly():
    half_turns = np.eye(4)[:3]
    assert np.array_equal(from_matrix(to_matrix(half_turns)), half_turns)
    np.testing.assert_array_equal(to_rotation_vector(-half_turns), np.pi * np.eye(3))


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ((-0.7, 0.4, 0.3, -0.3), (0.7, -0.4, -0.3, 0.3)),
        ((0, -1, 0, 0), (0, 1, 0, 0)),
        ((0, 0, -0.6, 0.8), (0, 0, 0.6, -0.8)),
        ((0, 0, 0, -1), (0, 0, 0, 1)),
        ((0, 0, 0, 0), (0, 0, 0, 0)),
    ],
)
def test_the_canonical_sign_makes_the_first_component_positive(q, expected):
    np.testing.assert_array_equal(to_wxyz(canonical(from_wxyz(q))), expected)


# Edges.


def test_the_order_wxyz_is_read_and_written():
    assert from_wxyz([1, 2, 3, 4]).tolist() == [2, 3, 4, 1]
    assert to_wxyz([[1, 2, 3, 4]]).tolist() == [[4, 1, 2, 3]]


@pytest.mark.parametrize("angle", [1e-300, 1e-160, 1e-12, 1e-5, 1.0])
def test_small_angles_keep_all_their_digits(angle):
    axis = np.array([0.48, -0.6, 0.64])
    q = np.append(np.sin(angle / 2) * axis, np.cos(angle / 2))
    np.testing.assert_allclose(from_rotation_vector(angle * axis), q, rtol=1e-15)
    np.testing.assert_allclose(to_rotation_vector(q), angle * axis, rtol=1e-15)
    np.testing.assert_allclose(angle_between(IDENTITY, q), angle, rtol=1e-15)


@pytest.mark.parametrize("missing", [0.0, 1e-300, 1e-12, 1e-5])
def test_angles_near_a_half_turn_keep_all_their_digits(missing):
    axis = np.array([0.48, -0.6, 0.64])
    q = np.append(np.cos(missing / 2) * axis, np.sin(missing / 2))
    np.testing.assert_allclose(to_rotation_vector(q), (np.pi - missing) * axis, rtol=1e-15)
    np.testing.assert_allclose(angle_between(IDENTITY, q), np.pi - missing, rtol=1e-15)


def test_the_logarithm_of_minus_one_is_a_half_turn_that_exp_brings_back():
    assert log([0, 0, 0, -1]).tolist() == [np.pi, 0, 0]
    assert log([0, 0, 0, 1]).tolist() == [0, 0, 0]


def test_slerp_takes_the_short_way_between_opposite_signs():
    p = from_rotation_vector([0, 0, 0.2])
    q = -from_rotation_vector([0, 0, 0.6])
    np.testing.assert_allclose(slerp(p, q, 0.5), from_rotation_vector([0, 0, 0.4]), **TIGHT)


def test_slerp_between_equal_ends_stays_there():
    q = some_rotations(6, (), 1.0)
    for end in (q, -q):
        np.testing.assert_allclose(slerp(q, end, [0.0, 0.3, 1.0]), [q, q, q], rtol=0, atol=4e-16)


def test_the_mean_does_not_see_signs():
    q = from_rotation_vector([[0, 0, 0.1], [0, 0, 0.3]])
    np.testing.assert_allclose(mean(q * [[1], [-1]]), from_rotation_vector([0, 0, 0.2]), **TIGHT)


def test_the_mean_runs_over_the_axis_before_the_last():
    q = some_rotations(7, (3, 5), 0.1)
    weights = np.random.default_rng(8).uniform(size=(3, 5))
    each = [mean(rows, row) for rows, row in zip(q, weights, strict=True)]
    np.testing.assert_allclose(mean(q, weights), each, **TIGHT)


def test_the_mean_refuses_what_has_none():
    with pytest.raises(ValueRangeError, match="at least one"):
        mean(np.empty((0, 4)))
    with pytest.raises(ValueRangeError, match="non-negative"):
        mean([IDENTITY, IDENTITY], [1.0, -0.5])
    with pytest.raises(ValueRangeError, match="not all zero"):
        mean([IDENTITY, IDENTITY], [0.0, 0.0])
    with pytest.raises(ValueRangeError, match="finite"):
        mean([IDENTITY, [np.nan] * 4])
    with pytest.raises(ShapeError, match=r"N, 4"):
        mean(IDENTITY)
    with pytest.raises(ShapeError, match="weights"):
        mean([IDENTITY, IDENTITY], [1.0])


def test_continuous_signs_follow_the_first_row_across_unknown_rows():
    turning = from_rotation_vector(np.linspace(0, 20, 101)[:, np.newaxis] * [0, 0, 1])
    flipped = turning * np.random.default_rng(9).choice([-1, 1], size=(101, 1))
    flipped[0] = -turning[0]
    flipped[40:43] = np.nan
    result = make_continuous(flipped)
    known = ~np.isnan(flipped[:, 0])
    np.testing.assert_array_equal(result[known], -turning[known])
    assert np.isnan(result[~known]).all()


def test_continuous_signs_need_a_sequence():
    assert make_continuous(np.empty((0, 4))).shape == (0, 4)
    with pytest.raises(ShapeError, match=r"\(N, 4\)"):
        make_continuous(IDENTITY)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-3, 2.0, 1e200])
def test_normalize_gives_unit_length_at_any_scale(scale):
    q = normalize(scale * np.array([[1.0, -1.0, 1.0, 1.0], [0.0, 0.0, -1.0, 0.0]]))
    np.testing.assert_allclose(q, [[0.5, -0.5, 0.5, 0.5], [0, 0, -1, 0]], rtol=1e-15)


@pytest.mark.parametrize("bad", [(0, 0, 0, 0), (0, np.inf, 0, 1)])
def test_normalize_refuses_what_has_no_direction(bad):
    with pytest.raises(ValueRangeError, match=r"q\[1\]"):
        normalize([IDENTITY, bad])
    with pytest.raises(ValueRangeError, match="got q = "):
        normalize(bad)


@pytest.mark.parametrize(
    "R",
    [
        pytest.param(np.diag([1.0, 1.0, -1.0]), id="reflection"),
        pytest.param(1.01 * np.eye(3), id="scaled"),
        pytest.param(np.zeros((3, 3)), id="zero"),
        pytest.param(np.eye(3) + np.eye(3, k=2) / 10, id="sheared"),
    ],
)
def test_a_matrix_that_is_no_rotation_is_refused(R):
    with pytest.raises(ValueRangeError, match="determinant"):
        from_matrix([np.eye(3), R])


def test_unknown_rows_stay_unknown_and_touch_no_other():
    q = some_rotations(10, (3,), 1.0)
    q[1] = np.nan
    outputs = [
        multiply(q, q),
        rotate(q, [1.0, 2.0, 3.0]),
        normalize(q),
        canonical(q),
        exp(q[:, :3]),
        log(q),
        to_rotation_vector(q),
        to_matrix(q).reshape(3, 9),
        from_matrix(to_matrix(q)),
        slerp(q, IDENTITY, 0.5),
        angle_between(q, IDENTITY)[:, np.newaxis],
    ]
    for output in outputs:
        assert np.isnan(output).all(axis=1).tolist() == [False, True, False]
        assert np.isfinite(output[[0, 2]]).all()


def test_the_wrong_number_of_components_is_refused():
    with pytest.raises(ShapeError, match=r"q of shape \(\.\.\., 4\), got \(3,\)"):
        multiply(IDENTITY, [1, 2, 3])
    with pytest.raises(ShapeError, match="v of shape"):
        rotate(IDENTITY, IDENTITY)


def test_the_identity_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        quaternion.IDENTITY[0] = 1.0
