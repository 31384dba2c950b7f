"""Calibration from a smoother: signs, order, accepted elements, agreement of recordings."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.calibration import calibration_from_estimate
from strapdown.errors import ValueRangeError
from strapdown.estimation import ErrorStateSmoother, SelfCalibration, SmootherParams
from strapdown.series import ImuSeries

RATE_HZ = 100
P = SmootherParams(  # a turntable
    gyro_noise=2e-4, gyro_scale_noise=0.0, speed_noise=0.005, speed_turn_noise=0.0, place_noise=0.01
)
MATRIX = np.array([[6.0, -3.0, 2.0], [4.0, -5.0, 1.0], [-2.0, 3.0, 7.0]]) * 1e-3
GYRO_BIAS = np.array([0.003, -0.002, 0.004])
ACCEL_BIAS = np.array([0.03, -0.05, 0.02])


def recording(seed, seconds=30):
    """Return readings of one device in one place, turned about random axes, and the true rates."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(seconds, 3))
    axes *= 5.0 / np.linalg.norm(axes, axis=1, keepdims=True)
    rates = np.repeat(axes, RATE_HZ, axis=0)
    attitude, middle = Rotation.identity(), []
    for rate in rates:
        half = Rotation.from_rotvec(0.5 * rate / RATE_HZ)
        middle.append(attitude * half)
        attitude = middle[-1] * half
    count = len(rates)
    white = np.sqrt(RATE_HZ) * rng.normal(size=(2, count, 3))
    w = rates + GYRO_BIAS + P.gyro_noise * white[0]
    f = Rotation.concatenate(middle).inv().apply([0.0, 0.0, 9.81])
    f += ACCEL_BIAS + P.speed_noise * white[1]
    series = ImuSeries(
        np.arange(1, count + 1) * 10_000_000, np.linalg.solve(np.eye(3) + MATRIX, w.T).T, f
    )
    return series, rates


@pytest.fixture(scope="module")
def learnt():
    found = []
    for seed in (0, 1):
        series, rates = recording(seed)
        estimate = ErrorStateSmoother(P).run(series).self_calibration
        found.append((series, rates, estimate, calibration_from_estimate(estimate, priors=P)))
    return found


def test_the_errors_of_the_sensor_are_gone_after_the_calibration(learnt):
    for series, rates, _, calibration in learnt:
        before = series.angular_velocity - rates
        after = calibration.apply(series).angular_velocity - rates

        def systematic(errors, rates=rates):
            design = np.hstack([rates, np.ones((len(rates), 1))])
            return np.linalg.lstsq(design, errors, rcond=None)[0]

        old, new = systematic(before), systematic(after)
        assert np.abs(old[:3]).max() > 6e-3
        assert np.abs(new[:3]).max() < 2e-3
        assert np.linalg.norm(new[3]) < 0.3 * np.linalg.norm(old[3])


def test_every_parameter_is_within_three_of_its_standard_deviations(learnt):
    for *_, calibration in learnt:
        gyro, accel = calibration.gyro, calibration.accel
        matrix = (gyro.matrix - np.eye(3) - MATRIX) / gyro.sigma_matrix
        bias = (gyro.bias - np.linalg.solve(np.eye(3) + MATRIX, GYRO_BIAS)) / gyro.sigma_bias
        assert np.abs(matrix).max() < 3.0
        assert np.abs(bias).max() < 3.0
        assert np.abs((accel.bias - ACCEL_BIAS) / accel.sigma_bias).max() < 3.0


def test_two_recordings_of_one_device_agree_within_three_standard_deviations(learnt):
    one, other = (calibration for *_, calibration in learnt)
    for name in ("gyro", "accel"):
        a, b = getattr(one, name), getattr(other, name)
        bias = (a.bias - b.bias) / np.hypot(a.sigma_bias, b.sigma_bias)
        assert np.abs(bias).max() < 3.0
    matrix = (one.gyro.matrix - other.gyro.matrix) / np.hypot(
        one.gyro.sigma_matrix, other.gyro.sigma_matrix
    )
    assert np.abs(matrix).max() < 3.0


def estimate(**changes):
    fields = {
        "t_ns": np.array([0, 1]),
        "gyro_bias": np.array([[0.01, 0.02, 0.03], [0.012, 0.02, 0.03]]),
        "gyro_bias_sigma": np.array([[1e-3, 1e-3, 3e-3], [1e-3, 1e-3, 3e-3]]),
        "accel_bias": np.array([0.1, 0.2, 0.3]),
        "accel_bias_sigma": np.array([0.01, 0.02, 0.026]),
        "gyro_matrix": np.full((3, 3), 0.01),
        "gyro_matrix_sigma": np.array([[1, 4, 4], [4, 2, 4], [2.9, 4, 3]]) * 1e-3,
        "gyro_matrix_prior": 0.006,
    }
    return SelfCalibration(**(fields | changes))


def test_only_elements_below_half_of_their_prior_are_accepted():
    c = calibration_from_estimate(estimate())
    kept = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(c.gyro.matrix, np.eye(3) + 0.01 * kept)
    np.testing.assert_allclose(
        c.gyro.sigma_matrix, np.where(kept, estimate().gyro_matrix_sigma, 0.006)
    )
    np.testing.assert_array_equal(c.accel.bias, [0.1, 0.2, 0.0])
    np.testing.assert_allclose(c.accel.sigma_bias, [0.01, 0.02, 0.05])
    np.testing.assert_allclose(c.gyro.matrix @ c.gyro.bias, [0.011, 0.02, 0.0], atol=1e-15)
    notes = "\n".join(c.provenance.notes)
    for text in ("gyro bias", "accelerometer bias", "gyro scale"):
        assert f"{text} not determined: z;" in notes
    assert "gyro misalignment not determined: xy xz yx yz zy;" in notes


def test_the_change_of_the_bias_is_in_its_standard_deviation():
    c = calibration_from_estimate(estimate(gyro_matrix=np.zeros((3, 3))))
    # 1e-3 of the estimate, 1e-3 of its change
    assert c.gyro.sigma_bias[0] == pytest.approx(np.hypot(1e-3, 1e-3), rel=1e-2)
    assert c.provenance.residuals["gyro_bias_change_rad_s"] == pytest.approx(1e-3)


def test_the_covariance_is_that_of_bias_and_matrix():
    e = estimate(gyro_bias=np.full((2, 3), 0.5))
    c = calibration_from_estimate(e, priors=SmootherParams(bias_prior=1.0))
    rng = np.random.default_rng(2)
    M = c.gyro.matrix - np.eye(3) + c.gyro.sigma_matrix * rng.normal(size=(100_000, 3, 3))
    b = 0.5 + e.gyro_bias_sigma[0] * rng.normal(size=(100_000, 3))
    A = np.eye(3) + M
    draws = np.hstack([np.linalg.solve(A, b[:, :, None])[:, :, 0], A.reshape(-1, 9)])
    sampled, size = np.cov(draws.T), np.sqrt(np.diag(c.gyro.covariance))
    np.testing.assert_allclose(
        c.gyro.covariance / np.outer(size, size), sampled / np.outer(size, size), atol=0.02
    )


def test_hard_iron_becomes_the_bias_of_the_magnetometer():
    iron = np.array([1e-6, -2e-6, 3e-6])
    c = calibration_from_estimate(estimate(hard_iron=iron, hard_iron_sigma=np.full(3, 1e-7)))
    np.testing.assert_array_equal(c.magnetometer.bias, iron)
    np.testing.assert_allclose(c.magnetometer.sigma_bias, 1e-7)


def test_other_axes_are_kept():
    e = estimate().in_frame("FRD")
    c = calibration_from_estimate(e)
    assert c.body == "FRD"
    turned = calibration_from_estimate(estimate()).in_frame("FRD")
    np.testing.assert_allclose(c.gyro.matrix, turned.gyro.matrix)
    np.testing.assert_allclose(c.gyro.bias, turned.gyro.bias)


def test_bad_input_is_named():
    with pytest.raises(TypeError, match=r"estimate as SelfCalibration, got NoneType; pass result"):
        calibration_from_estimate(None)
    with pytest.raises(ValueRangeError, match="gyro bias, got none"):
        calibration_from_estimate(replace(estimate(), gyro_bias=np.full((2, 3), np.nan)))
