"""Fusion of bias estimates, and detection of jumps and drifts."""

import numpy as np
import pytest

from strapdown.calibration import BiasTrack, BiasTrackParams
from strapdown.detection import Events
from strapdown.errors import ShapeError, ValueRangeError

MINUTE = 60_000_000_000
STEADY = BiasTrackParams(random_walk=0.0, floor=0.0)


def estimates(count, seed=0, sigma=1e-4):
    rng = np.random.default_rng(seed)
    return [0.5, -0.1, 0.0] + sigma * rng.normal(size=(count, 3))


def followed(track, biases, sigma=1e-4, **options):
    events = (track.update(k * MINUTE, b, [sigma] * 3, **options) for k, b in enumerate(biases))
    return [event for event in events if event]


def test_a_constant_bias_becomes_the_weighted_mean():
    biases, sigmas = estimates(50), np.linspace(1e-4, 3e-4, 50)
    track = BiasTrack(STEADY)
    for k in range(50):
        track.update(k * MINUTE, biases[k], [sigmas[k]] * 3)
    weights = 1.0 / sigmas**2
    np.testing.assert_allclose(track.bias, weights @ biases / weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(track.sigma, weights.sum() ** -0.5)


def test_the_random_walk_grows_the_variance_between_estimates():
    track = BiasTrack(BiasTrackParams(random_walk=2e-5, floor=0.0))
    track.update(0, [0.0] * 3, [1e-4] * 3)
    track.update(100_000_000_000, [1e-4] * 3, [3e-4] * 3)
    predicted = 1e-8 + 4e-10 * 100.0
    gain = predicted / (predicted + 9e-8)
    np.testing.assert_allclose(track.bias, gain * 1e-4)
    np.testing.assert_allclose(track.sigma**2, (1 - gain) * predicted)


def test_the_standard_deviation_has_a_floor():
    track = BiasTrack(BiasTrackParams(random_walk=0.0, floor=8e-5))
    followed(track, estimates(100))
    np.testing.assert_allclose(track.sigma, 8e-5, rtol=1e-12)


@pytest.mark.parametrize("shock", [True, False])
def test_a_jump_is_an_event_and_not_an_average(shock):
    biases = estimates(40)
    biases[30:, 1] += 2e-3
    track = BiasTrack()
    events = followed(track, biases, shock=shock)
    assert [event.kind for event in events] == ["bias_jump"]
    assert events[0].flags == ({"shock"} if shock else set())
    assert (events[0].t_start_ns, events[0].t_end_ns) == (29 * MINUTE, 30 * MINUTE)
    assert events[0].values["change_y"] == pytest.approx(2e-3, abs=3e-4)
    assert abs(events[0].values["change_x"]) < 4e-4
    np.testing.assert_allclose(track.bias, biases[30:].mean(axis=0), atol=3e-4)
    assert Events.of(events).counts == {"bias_jump": 1}


def test_a_drift_is_found_by_its_sum():
    biases = estimates(60)
    biases[30:, 2] -= 1e-4 * np.arange(30)  # each step is within one standard deviation
    events = followed(BiasTrack(BiasTrackParams(random_walk=1e-6, floor=2e-5)), biases)
    drift = events[0]
    assert drift.kind == "bias_drift"
    assert 27 * MINUTE <= drift.t_start_ns <= 33 * MINUTE
    assert drift.t_end_ns < 42 * MINUTE
    assert drift.values["change_z"] < -5e-5


def test_false_alarms_are_rare():
    # walk as modelled: 8 sigma of a CUSUM with a slack of 0.5 has a run length above 1e4 per side
    events = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        walk = np.cumsum(3e-5 * np.sqrt(60.0) * rng.normal(size=(200, 3)), axis=0)
        biases = walk + 1e-4 * rng.normal(size=(200, 3))
        events += len(followed(BiasTrack(), biases))
    assert events <= 4


def test_bad_input_is_named():
    track = BiasTrack()
    assert np.isnan(track.bias).all()
    with pytest.raises(ShapeError, match="bias of shape"):
        track.update(0, [1.0], [1.0] * 3)
    with pytest.raises(ValueRangeError, match="sigma above 0"):
        track.update(0, [1.0] * 3, [0.0] * 3)
    with pytest.raises(ValueRangeError, match="jump_sigmas"):
        BiasTrackParams(jump_sigmas=0.0)
