"""Slow motion at 50 Hz, as of limbs, is not taken for rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.estimation.error_state.recording import steady_rests
from strapdown.evaluation import orientation_error
from strapdown.series import ImuSeries
from strapdown.units import STANDARD_GRAVITY

RATE_HZ = 50.0


def read(attitude, bias_dps=(0.0, 0.0, 0.0), noise=True):
    """Return mean rates and forces of a consumer sensor that only turns."""
    rng = np.random.default_rng(1)
    rate = (attitude[:-1].inv() * attitude[1:]).as_rotvec() * RATE_HZ + np.radians(bias_dps)
    middle = attitude[:-1] * Rotation.from_rotvec(0.5 / RATE_HZ * rate)
    force = middle.inv().apply([0.0, 0.0, STANDARD_GRAVITY])
    rate += noise * np.radians(0.07) * rng.normal(size=rate.shape)
    force += noise * 0.01 * rng.normal(size=force.shape)
    return ImuSeries((np.arange(len(rate)) * 1e9 / RATE_HZ).astype(np.int64), rate, force)


def swing(seconds, pace_hz, size_deg):
    """Return attitudes of a joint that swings about three axes and pauses every 20 s."""
    t = np.arange(round(seconds * RATE_HZ) + 1) / RATE_HZ
    w = 2.0 * np.pi * 0.05
    phase = 2.0 * np.pi * pace_hz * (t - np.sin(w * t) / w)
    paces, starts = np.array([1.0, 0.7, 1.3]), np.array([0.0, 1.0, 2.0])
    angles = np.sin(np.multiply.outer(phase, paces) + starts)
    return Rotation.from_euler("ZYX", size_deg * angles, degrees=True)


@pytest.mark.parametrize("bias_dps", [(0.0, 0.0, 0.0), (0.4, -0.3, 0.2)])
@pytest.mark.parametrize("pace_hz", [0.1, 0.3])
def test_a_slow_swing_with_pauses_keeps_tilt_and_bias(pace_hz, bias_dps):
    attitude = swing(90.0, pace_hz, 25.0)
    result = FILTERS["eskf"]().run(read(attitude, bias_dps))
    error = orientation_error(result.q_world_from_body, attitude[1:].as_quat())
    assert np.degrees(np.sqrt(np.mean(error.inclination**2))) < 2.0
    assert np.degrees(np.abs(result.gyro_bias[-1] - np.radians(bias_dps))).max() < 0.6


@pytest.mark.parametrize("bias_dps", [(0.0, 0.0, 0.0), (0.4, -0.3, 0.2)])
@pytest.mark.parametrize("pace_hz", [0.1, 0.3])
def test_the_smoother_likewise(pace_hz, bias_dps):
    attitude = swing(90.0, pace_hz, 25.0)
    result = SMOOTHERS["eskf"]().run(read(attitude, bias_dps))
    error = orientation_error(result.q_world_from_body, attitude[1:].as_quat())
    assert np.degrees(np.sqrt(np.mean(error.inclination**2))) < 0.9
    assert np.degrees(np.abs(result.gyro_bias - np.radians(bias_dps))).max() < 0.9


@pytest.mark.parametrize(
    ("seconds", "rate_dps", "counts"),
    [(0.4, 0.0, True), (0.4, 0.4, True), (0.4, 2.0, False), (1.5, 2.0, True)],
)
def test_a_short_rest_counts_for_the_smoother_if_its_rate_is_a_usual_bias(
    seconds, rate_dps, counts
):
    t = np.arange(500) / 100.0
    flags = (t >= 2.0) & (t < 2.0 + seconds)
    rate = np.tile(np.radians([0.0, 0.0, rate_dps]), (500, 1))
    force = np.tile([0.0, 0.0, STANDARD_GRAVITY], (500, 1))
    found = steady_rests(flags, t, rate, force)
    np.testing.assert_array_equal(found, flags & counts)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_turn_that_begins_slowly_is_no_rest(axis):
    t = np.arange(round(3.0 * RATE_HZ) + 1) / RATE_HZ
    turn = np.outer(np.radians(0.5) * t**2, np.eye(3)["xyz".index(axis)])  # 1 deg/s^2
    attitude = Rotation.from_rotvec(turn)
    result = FILTERS["eskf"]().run(read(attitude))
    assert not result.rest[t[1:] > 1.5].any()


@pytest.mark.parametrize("bias_dps", [(0.5, -0.5, 0.5), (4.0, 0.0, -3.0)])
def test_a_rest_after_motion_is_found_within_seconds(bias_dps):
    attitude = swing(20.0, 0.5, 40.0)
    held = Rotation.concatenate([attitude, *[attitude[-1:]] * 500])
    result = FILTERS["eskf"]().run(read(held, bias_dps))
    assert result.rest[-250:].all()
    assert np.degrees(np.abs(result.gyro_bias[-1] - np.radians(bias_dps))).max() < 0.1
