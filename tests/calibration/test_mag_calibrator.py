"""Calibration of a magnetometer sample by sample."""

import json
from itertools import pairwise

import numpy as np
import pytest

from strapdown.calibration import MagCalibrator, MagCalibratorState
from strapdown.calibration.magnetometer.gyro_pairs import GyroPairs
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples import ImuSample

RATE_HZ = 20.0
FIELD = 1e-6 * np.array([0.0, 20.0, -44.0])
BIAS = 1e-6 * np.array([20.0, -30.0, 10.0])


def samples(seconds=40.0, *, turning=(1.0, 1.0, 1.0), bias=BIAS, start_s=0.0, noise=0.2e-6):
    """Return samples of a device that turns; the magnetometer has a hard iron."""
    rng = np.random.default_rng(1)
    t = start_s + np.arange(0.0, seconds, 1.0 / RATE_HZ)
    rate = np.array(turning) * np.column_stack(
        [0.9 * np.sin(0.9 * t), 1.0 * np.sin(0.53 * t + 1.0), 0.8 * np.sin(0.37 * t + 2.0) + 0.4]
    )
    q = [np.array([0.0, 0.0, 0.0, 1.0])]
    for step in quaternion.from_rotation_vector(rate / RATE_HZ)[1:]:
        q.append(quaternion.multiply(q[-1], step))
    body_from_world = np.transpose(quaternion.to_matrix(np.array(q)), (0, 2, 1))
    field = body_from_world @ FIELD + bias + rng.normal(0.0, noise, rate.shape)
    rows = zip((t * 1e9).astype(int).tolist(), rate.tolist(), field.tolist(), strict=True)
    return [ImuSample(t_ns, w, None, m) for t_ns, w, m in rows]


def published(calibrator, data):
    return [(s.t_ns, fit) for s in data if (fit := calibrator.update(s)) is not None]


def test_pairs_give_the_hard_iron_exactly():
    rng, pairs = np.random.default_rng(2), GyroPairs()
    R = np.eye(3)
    for _ in range(40):
        pairs.add(tuple((R.T @ FIELD + BIAS).tolist()))
        rate = rng.normal(0.0, 0.2, 3)
        pairs.turn(tuple(rate.tolist()), 1.0)
        R = R @ quaternion.to_matrix(quaternion.from_rotation_vector(rate))
    bias, _, unseen = pairs.solution()
    np.testing.assert_allclose(bias, BIAS, rtol=0, atol=1e-15)
    assert len(unseen) == 0
    again = GyroPairs.of_numbers(pairs.numbers())
    assert again.numbers() == pairs.numbers()


def test_the_gyro_gives_hard_iron_after_a_quarter_turn():
    calibrator = MagCalibrator()
    found = published(calibrator, samples(3.0, turning=(0.0, 0.0, 1.0)))
    assert len(found) == 1
    fit = found[0][1]
    assert fit.kind == "hard"
    turned = sum(np.linalg.norm(s.angular_velocity) for s in samples(3.0, turning=(0.0, 0.0, 1.0))
                 if s.t_ns <= found[0][0]) / RATE_HZ  # fmt: skip
    assert 90.0 <= np.degrees(turned) < 130.0
    np.testing.assert_allclose(fit.triad.bias[:2], BIAS[:2], rtol=0, atol=1.5e-6)
    # along the axis of the rotation nothing is known
    assert fit.triad.sigma_bias[2] > 20e-6
    assert fit.warnings[0].startswith("no rotation about another axis than (")


@pytest.mark.slow
def test_more_of_the_sphere_gives_better_calibrations():
    calibrator = MagCalibrator()
    found = [fit for _, fit in published(calibrator, samples(60.0))]
    shares = [fit.coverage.share for fit in found]
    assert shares[-1] > 0.8
    last = found[-1]
    assert calibrator.published is last
    assert (abs(last.triad.bias - BIAS) < 4.0 * last.triad.sigma_bias).all()
    assert last.triad.sigma_bias.max() < 0.2e-6
    assert last.calibration.body == "FLU"
    assert len(calibrator.state.readings) <= 3 * 32 * 8


@pytest.mark.slow
def test_a_new_magnet_on_the_device_is_followed():
    calibrator = MagCalibrator()
    published(calibrator, samples(30.0))
    moved = BIAS + np.array([15e-6, 0.0, 10e-6])
    later = published(calibrator, samples(60.0, bias=moved, start_s=70.0))
    assert later
    np.testing.assert_allclose(later[-1][1].triad.bias, moved, rtol=0, atol=0.5e-6)


@pytest.mark.parametrize("cut", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_a_saved_state_goes_on_bit_for_bit(cut):
    data = samples(30.0)
    whole, first, second = MagCalibrator(), MagCalibrator(), MagCalibrator()
    expected = [fit for t, fit in published(whole, data) if t >= data[cut].t_ns]
    published(first, data[:cut])
    saved = json.loads(json.dumps(first.state.to_dict()))
    second.reset(MagCalibratorState.from_dict(saved))
    assert (first.published is None) == (second.published is None)
    if first.published is not None:
        assert second.published.triad == first.published.triad
    got = [fit for _, fit in published(second, data[cut:])]
    assert [fit.triad for fit in got] == [fit.triad for fit in expected]
    assert second.state == whole.state


def test_without_a_gyro_the_sphere_is_enough():
    data = [ImuSample(s.t_ns, None, None, s.magnetic_field) for s in samples(40.0)]
    found = published(MagCalibrator(norm=50e-6), data)
    fit = found[-1][1]
    np.testing.assert_allclose(fit.triad.bias, BIAS, rtol=0, atol=0.3e-6)
    assert fit.norm == 50e-6


def test_what_cannot_be_used_is_left_out_and_counted():
    data = samples(25.0)
    bad = []
    for one, other in pairwise(data):
        bad += [one, ImuSample(one.t_ns, (9.0, 9.0, 9.0), None, (1.0, 1.0, 1.0))]  # repeats
        if one.t_ns % 1_000_000_000 == 0:
            middle = (one.t_ns + other.t_ns) // 2
            bad += [ImuSample(middle, one.angular_velocity, None, None)]
    calibrator, plain = MagCalibrator(), MagCalibrator()
    published(calibrator, bad)
    published(plain, data)
    assert calibrator.published.invalid > 10
    np.testing.assert_allclose(
        calibrator.published.triad.bias, plain.published.triad.bias, rtol=0, atol=0.2e-6
    )


def test_bad_input_is_named():
    with pytest.raises(ValueRangeError, match="norm above 0, got 0"):
        MagCalibrator(norm=0.0)
    calibrator = MagCalibrator()
    state = calibrator.state.to_dict()
    with pytest.raises(UnknownNameError, match="vqf"):
        calibrator.reset(MagCalibratorState.from_dict(state | {"calibrator": "vqf"}))
    with pytest.raises(ShapeError, match="of other sizes"):
        calibrator.reset(MagCalibratorState.from_dict(state | {"pairs": [1.0]}))
