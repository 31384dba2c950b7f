"""Piecewise laws against SciPy's, and the motions that calibrate a sensor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import PPoly
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.motion.mount import Mounted
from strapdown.motion.piecewise import (
    PiecewisePolynomial,
    SixPosition,
    Turntable,
    holds_and_blends,
)

G = 9.80665
EDGES = np.array([-1.0, 0.5, 0.75, 4.0])
COEFFICIENTS = np.random.default_rng(2).normal(size=(3, 5))


def test_a_piecewise_law_and_its_integral_agree_with_scipy():
    law = PiecewisePolynomial(EDGES, COEFFICIENTS)
    reference = PPoly(COEFFICIENTS.T[::-1], EDGES)
    t = np.linspace(-1.0, 4.0, 101)
    for order, values in enumerate(law.derivatives(t)):
        np.testing.assert_allclose(values, reference(t, order), rtol=1e-12, atol=1e-12)
    whole = law.integral(0.5).derivatives(t)[0]
    np.testing.assert_allclose(whole, 0.5 + reference.antiderivative()(t), rtol=1e-12, atol=1e-12)


def test_a_law_at_an_edge_is_that_of_the_piece_that_begins_there():
    law = PiecewisePolynomial([0.0, 1.0, 2.0], [[1.0, 1.0], [5.0, -1.0]])
    value, first, second = law.derivatives(np.array([0.0, 1.0, 2.0]))
    assert (value.tolist(), first.tolist()) == ([1.0, 5.0, 4.0], [1.0, -1.0, -1.0])
    assert second.tolist() == [0.0] * 3
    assert (law.start_s, law.end_s, law.breaks_s.tolist()) == (0.0, 2.0, [1.0])


def test_holds_and_blends_are_smooth_and_stay_between_the_values():
    law = holds_and_blends([1.0, -2.0, 3.0], hold_s=2.0, blend_s=0.5)
    assert law.breaks_s.tolist() == [2.0, 2.5, 4.5, 5.0]
    assert law.end_s == 7.0
    value, first, second = law.derivatives(np.array([0.0, 1.9, 3.0, 4.4, 5.1, 7.0]))
    np.testing.assert_allclose(value, [1.0, 1.0, -2.0, -2.0, 3.0, 3.0], rtol=1e-14)
    np.testing.assert_array_equal([first, second], np.zeros((2, 6)))
    before, after = (law.derivatives(t) for t in (np.nextafter(law.breaks_s, 0.0), law.breaks_s))
    np.testing.assert_allclose(before, after, atol=1e-11, rtol=0.0)
    blend = law.derivatives(np.linspace(2.0, 2.5, 50))[0]
    assert np.all(np.diff(blend) < 0.0)
    assert law.derivatives(np.array([2.25]))[0] == pytest.approx(-0.5, abs=1e-14)


def test_a_turntable_holds_its_rates_and_has_turned_by_their_integral():
    rates, axis = np.array([0.0, 2.0, -1.0]), np.array([0.0, 3.0, 4.0])
    table = Turntable.from_rates(rates, hold_s=3.0, ramp_s=1.0, axis=axis)
    held = table.at([1.0, 5.5, 10.0])
    np.testing.assert_allclose(
        held.angular_velocity, np.outer(rates, axis / 5.0), atol=1e-14, rtol=0.0
    )
    np.testing.assert_array_equal(held.angular_acceleration, 0.0)
    end = Rotation.from_quat(table.at([table.end_s]).q_world_from_body[0])
    turned = 3.0 * rates.sum() + 0.5 * (rates[:-1] + rates[1:]).sum()
    difference = end.inv() * Rotation.from_rotvec(turned * axis / 5.0)
    assert difference.magnitude() < 1e-14
    assert table.end_s == 11.0
    for k in range(2):
        assert table.breaks_s[2 * k : 2 * k + 2].tolist() == [3.0 + 4.0 * k, 4.0 + 4.0 * k]


def test_six_positions_have_each_axis_up_once_and_at_rest():
    motion = SixPosition(dwell_s=4.0, turn_s=1.5)
    middles = 2.0 + 5.5 * np.arange(6)
    angular_velocity, specific_force = Mounted(motion).inputs(middles)
    z = [[0, 0, G], [0, G, 0], [0, 0, -G], [0, -G, 0], [-G, 0, 0], [G, 0, 0]]
    np.testing.assert_allclose(specific_force, z, atol=1e-14, rtol=0.0)
    np.testing.assert_array_equal(angular_velocity, 0.0)
    assert motion.end_s == 31.5
    assert len(motion.breaks_s) == 10


def test_six_positions_recover_the_faults_of_an_accelerometer():
    # f = M f_true + b at rest: 18 equations for 12 numbers
    _, true = Mounted(SixPosition()).inputs(5.0 + 12.0 * np.arange(6))
    matrix = np.eye(3) + 0.02 * np.random.default_rng(0).normal(size=(3, 3))
    bias = np.array([0.1, -0.2, 0.05])
    read = true @ matrix.T + bias
    known = np.array(
        [[0, 0, G], [0, G, 0], [0, 0, -G], [0, -G, 0], [-G, 0, 0], [G, 0, 0]], dtype=float
    )
    found, *_ = np.linalg.lstsq(np.column_stack([known, np.ones(6)]), read, rcond=None)
    np.testing.assert_allclose(found[:3].T, matrix, atol=1e-13, rtol=0.0)
    np.testing.assert_allclose(found[3], bias, atol=1e-13, rtol=0.0)


def test_three_rate_tables_recover_the_faults_of_a_gyro():
    matrix = np.eye(3) + 0.02 * np.random.default_rng(1).normal(size=(3, 3))
    bias = np.array([0.01, -0.02, 0.03])
    held, known = [], []
    for axis in np.eye(3):
        table = Turntable.from_rates([1.0, -1.0], hold_s=5.0, ramp_s=1.0, axis=axis)
        delta_angle, _ = Mounted(table).integrals([0.0, 5.0, 6.0, 11.0])
        held.append(delta_angle[[0, 2]] / 5.0 @ matrix.T + bias)
        known.append([axis, -axis])
    rates = np.column_stack([np.concatenate(known), np.ones(6)])
    found, *_ = np.linalg.lstsq(rates, np.concatenate(held), rcond=None)
    np.testing.assert_allclose(found[:3].T, matrix, atol=1e-13, rtol=0.0)
    np.testing.assert_allclose(found[3], bias, atol=1e-13, rtol=0.0)


@pytest.mark.parametrize(
    ("build", "error", "word"),
    [
        (lambda: PiecewisePolynomial([0.0, 1.0], [[1.0], [2.0]]), ShapeError, "edges_s"),
        (lambda: PiecewisePolynomial([0.0], np.zeros((0, 2))), ShapeError, "1 piece"),
        (lambda: PiecewisePolynomial([0.0, 1.0, 1.0], [[1.0], [2.0]]), ValueRangeError, "ascend"),
        (lambda: PiecewisePolynomial([0.0, math.nan], [[1.0]]), ValueRangeError, "edges_s"),
        (lambda: holds_and_blends([], hold_s=1.0, blend_s=1.0), ShapeError, "values"),
        (lambda: holds_and_blends([1.0], hold_s=0.0, blend_s=1.0), ValueRangeError, "take time"),
        (lambda: SixPosition(turn_s=-1.0), ValueRangeError, "take time"),
        (lambda: SixPosition(dwell_s=math.inf), ValueRangeError, "take time"),
        (
            lambda: Turntable(holds_and_blends([0.0], hold_s=1.0, blend_s=1.0), [0.0] * 3),
            ValueRangeError,
            "axis",
        ),
    ],
)
def test_senseless_parameters_are_refused(build, error, word):
    with pytest.raises(error, match=word):
        build()


def test_a_law_keeps_its_own_copy():
    coefficients = np.ones((1, 2))
    law = PiecewisePolynomial([0.0, 1.0], coefficients)
    coefficients[:] = 7.0
    np.testing.assert_array_equal(law.coefficients, 1.0)
