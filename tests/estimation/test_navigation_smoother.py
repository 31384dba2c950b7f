"""Fixed-interval smoothing of a navigator: against dense least squares, in blocks, of rows."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.estimation.navigation import (
    Aiding,
    NavigationPrior,
    NavigatorParams,
    StrapdownNavigator,
    navigator,
)
from strapdown.inertial import WindowRule, integrate
from strapdown.motion import Mounted, MultiSine, Sines
from strapdown.series import ImuSeries

STEP_NS = 10_000_000
G = 9.80665
NOISY = NavigatorParams(gyro_noise=2e-3, accel_noise=2e-2, gyro_walk=2e-4, accel_walk=2e-3)
SIGMAS = np.repeat([0.1, 0.1, 0.02, 0.1, 0.01], 3)


def sines(rng, least, most):
    return Sines(
        rng.uniform(least, most, (3, 3)), rng.uniform(1, 5, (3, 3)), rng.uniform(0, 6, (3, 3))
    )


@pytest.fixture(scope="module")
def walk():
    """Noisy samples of a lively motion with biases, its truth, a start with errors, and fixes."""
    rng = np.random.default_rng(11)
    motion = Mounted(MultiSine(sines(rng, 0.1, 0.5), sines(rng, 0.1, 0.3)))
    t_s = np.arange(1501) * 1e-2
    w, f = motion.inputs(t_s)
    truth = motion.truth(t_s)
    error = rng.normal(size=15) * SIGMAS
    w = w + error[12:] + rng.normal(size=w.shape) * 2e-2
    f = f + error[9:12] + rng.normal(size=f.shape) * 2e-1
    off = Rotation.from_rotvec(-error[6:9]) * Rotation.from_quat(truth.q_world_from_body[0])
    start = NavigationPrior(
        off.as_quat(),
        truth.velocity_world[0] - error[3:6],
        truth.position_world[0] - error[:3],
        covariance=np.diag(SIGMAS**2),
    )
    fixes = [
        Aiding.position(
            int(truth.t_ns[k]), truth.position_world[k] + rng.normal(size=3) * 0.05, 0.05**2
        )
        for k in range(100, 1501, 100)
        if not 500 < k < 1000
    ]
    between = motion.truth([7.0055])
    fixes.append(Aiding.velocity(7_005_500_000, between.velocity_world[0], 0.5**2))
    return ImuSeries(np.arange(1501) * STEP_NS, w, f), truth, start, fixes


def both(walk, **kw):
    series, _, start, fixes = walk
    return (
        StrapdownNavigator(NOISY, start=start, **kw).run(series, aiding=fixes, smooth=smooth)
        for smooth in (False, True)
    )


def test_on_a_line_it_is_the_least_squares_solution_of_all_measurements():
    """Upright and without rotation the model is linear: position and velocity of each axis."""
    rng, n, h = np.random.default_rng(0), 60, 0.01
    pushes = rng.normal(size=n) * 0.5
    force = np.column_stack([pushes, np.zeros(n), np.full(n, G)])
    data = ImuSeries(np.arange(n) * STEP_NS, np.zeros((n, 3)), force)
    fixes = {7: 0.1, 20: -0.2, 50: 0.3}
    sigma, noise, first = 0.2, 0.4, (0.5, 1.0)
    params = NavigatorParams(accel_noise=noise, gyro_noise=0.0, gyro_walk=0.0, accel_walk=0.0)
    covariance = np.diag(np.repeat([*np.square(first), 0.0, 0.0, 0.0], 3))
    start = NavigationPrior(covariance=covariance)
    aiding = [Aiding.position(k * STEP_NS, [x, 0.0, 0.0], sigma**2) for k, x in fixes.items()]
    free = StrapdownNavigator(params, start=start).run(data)
    found = StrapdownNavigator(params, start=start).run(data, aiding=aiding, smooth=True)
    # unknowns: error of the first state, then the kick of the velocity after each step
    states, step = np.zeros((n, 2, 1 + n)), np.array([[1.0, h], [0.0, 1.0]])
    states = np.zeros((n, 2, n + 1))
    states[0, :, :2] = np.eye(2)
    for k in range(1, n):
        states[k] = step @ states[k - 1]
        states[k, 1, k + 1] += 1.0
    weights = np.r_[1.0 / np.square(first), np.full(n - 1, 1.0 / (noise**2 * h))]
    rows = np.array([states[k, 0] for k in fixes])
    inverse = np.linalg.inv(np.diag(weights) + rows.T @ rows / sigma**2)
    off = np.array([x - free.position_world[k, 0] for k, x in fixes.items()])
    best = inverse @ rows.T @ off / sigma**2
    expected = np.column_stack([free.position_world[:, 0], free.velocity_world[:, 0]])
    got = np.column_stack([found.position_world[:, 0], found.velocity_world[:, 0]])
    np.testing.assert_allclose(got, expected + states @ best, atol=1e-9)
    np.testing.assert_allclose(
        found.covariance[:, ::3, ::3][:, :2, :2],
        states @ inverse @ states.transpose(0, 2, 1),
        rtol=1e-8,
        atol=1e-12,
    )


def test_it_begins_surer_than_the_filter_and_ends_where_that_does(walk):
    filtered, smoothed = both(walk)
    truth = walk[1]
    assert smoothed.aiding == filtered.aiding
    assert smoothed.report == filtered.report
    for name in ("position_world", "velocity_world", "q_world_from_body", "gyro_bias"):
        ends = getattr(smoothed, name)[-1], getattr(filtered, name)[-1]
        np.testing.assert_allclose(*ends, atol=1e-10)
    np.testing.assert_allclose(smoothed.covariance[-1], filtered.covariance[-1], atol=1e-12)
    variances = np.diagonal(smoothed.covariance, axis1=1, axis2=2)
    assert (variances <= np.diagonal(filtered.covariance, axis1=1, axis2=2) + 1e-12).all()
    off = [
        np.linalg.norm(each.position_world - truth.position_world, axis=1)
        for each in (filtered, smoothed)
    ]
    assert off[1][500:1000].max() < 0.3 * off[0][500:1000].max()
    ours, theirs = (Rotation.from_quat(each.q_world_from_body) for each in (smoothed, truth))
    nine = np.hstack(
        [
            truth.position_world - smoothed.position_world,
            truth.velocity_world - smoothed.velocity_world,
            (theirs * ours.inv()).as_rotvec(),
        ]
    )
    rows = slice(50, None, 100)
    nees = np.einsum(
        "ki,ki->k",
        nine[rows],
        np.linalg.solve(smoothed.covariance[rows], nine[rows, :, None])[..., 0],
    )
    assert 0.4 < nees.mean() / 9.0 < 2.0


def test_it_does_not_depend_on_blocks_or_on_the_execution(walk, monkeypatch):
    series, _, start, fixes = walk
    data, told = series[:300], [each for each in fixes if each.t_ns < 2_900_000_000]
    told += [Aiding.zero_rate(int(series.t_ns[63]) + 3_000_000, 1.0)]

    def run(**kw):
        return StrapdownNavigator(NOISY, start=start, **kw).run(data, aiding=told, smooth=True)

    whole, plain = run(), run(compiled=False)
    monkeypatch.setattr(navigator, "_BLOCK", 64)
    parts = run()
    for name in ("position_world", "q_world_from_body", "accel_bias", "covariance"):
        expected = getattr(whole, name)
        np.testing.assert_array_equal(getattr(parts, name), expected)
        np.testing.assert_allclose(getattr(plain, name), expected, rtol=1e-9, atol=1e-12)


def test_increments_are_smoothed_as_the_samples_that_they_hold(walk, monkeypatch):
    series, truth, start, fixes = walk
    increments = integrate(series, window=WindowRule(2)).increments
    runs = []
    for block in (512, 50):
        monkeypatch.setattr(navigator, "_BLOCK", block)
        one = StrapdownNavigator(NOISY, start=start)
        runs.append(one.run(increments, aiding=fixes, smooth=True))
    np.testing.assert_array_equal(runs[0].position_world, runs[1].position_world)
    samples = StrapdownNavigator(NOISY, start=start).run(series, aiding=fixes, smooth=True)
    at = np.searchsorted(series.t_ns, increments.t_ns)
    away = runs[0].position_world - samples.position_world[at]
    assert np.abs(away).max() < 0.05
    assert np.abs(samples.position_world - truth.position_world).max() < 0.3


def test_the_state_goes_on_as_after_the_filter(walk):
    series, _, start, fixes = walk
    told = [each for each in fixes if each.t_ns < 2_900_000_000]
    one, other = (StrapdownNavigator(NOISY, start=start) for _ in range(2))
    one.run(series[:300], aiding=told)
    other.run(series[:300], aiding=told, smooth=True)
    assert one.state == other.state
    assert one.report == other.report


def test_an_alignment_at_rest_is_not_smoothed():
    rest = np.tile([0.0, 0.0, G], (400, 1))
    data = ImuSeries(np.arange(400) * STEP_NS, np.zeros((400, 3)), rest)
    told = [Aiding.position(k * STEP_NS, [0.01, 0.0, 0.0], 1e-4) for k in range(150, 400, 50)]
    filtered, smoothed = (
        StrapdownNavigator().run(data, aiding=told, smooth=each) for each in (False, True)
    )
    np.testing.assert_array_equal(smoothed.covariance[:99], filtered.covariance[:99])
    assert smoothed.covariance[150, 3, 3] < filtered.covariance[150, 3, 3]
