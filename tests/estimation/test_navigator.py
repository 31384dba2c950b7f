"""Strapdown navigator on simulated motion: consistency, causality and late aiding."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import FilterState
from strapdown.estimation.navigation import (
    Aiding,
    NavigationPrior,
    NavigatorParams,
    StrapdownNavigator,
)
from strapdown.inertial import WindowRule, integrate
from strapdown.inertial.navigation import NavigationStart, Place, mechanise
from strapdown.motion import Mounted, MultiSine, Sines, Static, Wgs84
from strapdown.samples import ImuSample
from strapdown.sensors import ImuSpec, TriadSpec, TurnOn
from strapdown.series import ImuSeries
from strapdown.simulation import simulate

RATE_HZ = 100
STEP_NS = 10_000_000
NOISY = NavigatorParams(gyro_noise=2e-3, accel_noise=2e-2, gyro_walk=2e-4, accel_walk=2e-3)
SIGMAS = np.repeat([0.1, 0.1, 0.02, 0.1, 0.01], 3)
REST = np.array([0.0, 0.0, 9.80665])


def sines(rng, least, most):
    return Sines(
        rng.uniform(least, most, (3, 3)), rng.uniform(1, 5, (3, 3)), rng.uniform(0, 6, (3, 3))
    )


RNG = np.random.default_rng(0)
LIVELY = Mounted(MultiSine(sines(RNG, 0.1, 0.5), sines(RNG, 0.1, 0.3)))


def lively(duration_s):
    """Exact samples of a dynamic motion, and its truth."""
    t_s = np.arange(round(duration_s * RATE_HZ) + 1) / RATE_HZ
    series = ImuSeries(np.arange(len(t_s)) * STEP_NS, *LIVELY.inputs(t_s))
    return series, LIVELY.truth(t_s)


def disturbed(series, rng, params=NOISY, error=None):
    """Samples with the noises of ``params``, and their biases."""
    h, n = 1.0 / RATE_HZ, len(series)
    first = np.zeros(15) if error is None else error

    def walk(start, density):
        steps = rng.normal(size=(n - 1, 3)) * density * np.sqrt(h)
        return start + np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])

    b_g, b_a = walk(first[12:], params.gyro_walk), walk(first[9:12], params.accel_walk)
    w, f = (
        rng.normal(size=(n, 3)) / np.sqrt(h) * d for d in (params.gyro_noise, params.accel_noise)
    )
    data = series.replace(
        angular_velocity=series.angular_velocity + w + b_g,
        specific_force=series.specific_force + f + b_a,
    )
    return data, b_g, b_a


def start_with(truth, error, covariance=None):
    """A start whose error is ``error``."""
    attitude = Rotation.from_rotvec(-error[6:9]) * Rotation.from_quat(truth.q_world_from_body[0])
    return NavigationPrior(
        attitude.as_quat(),
        truth.velocity_world[0] - error[3:6],
        truth.position_world[0] - error[:3],
        covariance=covariance,
    )


def errors(result, truth):
    ours, theirs = (Rotation.from_quat(each.q_world_from_body) for each in (result, truth))
    return np.hstack(
        [
            truth.position_world - result.position_world,
            truth.velocity_world - result.velocity_world,
            (theirs * ours.inv()).as_rotvec(),
        ]
    )


def samples(series):
    return [
        ImuSample(int(t), w, f)
        for t, w, f in zip(series.t_ns, series.angular_velocity, series.specific_force, strict=True)
    ]


def resting(count, rng=None):
    zeros = np.zeros((count, 3))
    noise = zeros if rng is None else rng.normal(size=(count, 3))
    return ImuSeries(np.arange(count) * STEP_NS, 1e-3 * noise, zeros + REST + 1e-2 * noise)


def test_aided_navigation_knows_its_errors_and_so_do_its_innovations():
    exact, truth = lively(12.0)
    nine, fifteen, innovations = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        error = rng.normal(size=15) * SIGMAS
        data, b_g, b_a = disturbed(exact, rng, error=error)
        start = start_with(truth, error, np.diag(SIGMAS**2))
        navigator = StrapdownNavigator(NOISY, start=start, compiled=True)
        told = [
            Aiding.position(int(data.t_ns[k]), p + rng.normal(size=3) * 0.05, 0.05**2)
            for k, p in enumerate(truth.position_world)
            if k and k % RATE_HZ == 0
        ]
        result = navigator.run(data, aiding=told)
        innovations += [each.nis / each.dof for each in result.aiding]
        off = errors(result, truth)
        nine += [
            off[k] @ np.linalg.solve(result.covariance[k], off[k]) / 9
            for k in range(50, len(off), 50)
        ]
        estimate = navigator.estimate
        all_of_it = np.r_[off[-1], b_a[-1] - estimate.accel_bias, b_g[-1] - estimate.gyro_bias]
        fifteen.append(all_of_it @ np.linalg.solve(estimate.covariance, all_of_it) / 15)
    assert 0.8 < np.mean(nine) < 1.25
    assert 0.8 < np.mean(fifteen) < 1.25
    assert 0.8 < np.mean(innovations) < 1.25


def test_after_an_alignment_at_rest_free_navigation_knows_its_errors():
    gyro = TriadSpec(noise_density=1e-3, turn_on_bias=TurnOn("normal", 0.01))
    accel = TriadSpec(noise_density=1e-2, turn_on_bias=TurnOn("normal", 0.1))
    spec = ImuSpec(rate_hz=RATE_HZ, gyro=gyro, accel=accel)
    params = NavigatorParams(
        gyro_noise=1e-3,
        accel_noise=1e-2,
        gyro_walk=0.0,
        accel_walk=0.0,
        gyro_bias_sigma=0.01,
        accel_bias_sigma=0.1,
        velocity_sigma=1e-4,
        heading=0.3,
        heading_sigma=1e-4,
    )
    attitude = Rotation.from_euler("ZYX", [0.3, -0.4, 0.2]).as_quat()
    nees = []
    for seed in range(40):
        run = simulate(Static(attitude), spec, 5.0, seed=seed)
        navigator = StrapdownNavigator(params, compiled=True)
        result = navigator.run(run.samples.series(stamps="true"))
        off = errors(result, run.truth)
        off[:, :3] -= off[0, :3]
        for k in (110, 300, 499):
            block = result.covariance[k]
            nees.append(off[k] @ np.linalg.solve(block + 1e-12 * np.eye(9), off[k]) / 9)
    assert 0.8 < np.mean(nees) < 1.25


def test_run_is_a_loop_of_updates_whole_or_in_parts_to_the_last_bit():
    data, *_ = disturbed(lively(3.0)[0], np.random.default_rng(1))
    whole, parts, loop = (StrapdownNavigator(NOISY) for _ in range(3))
    result = whole.run(data)
    halves = [parts.run(data[:133]), parts.run(data[133:])]
    streamed = [loop.update(sample) for sample in samples(data)]
    for name in ("q_world_from_body", "velocity_world", "position_world", "gyro_bias"):
        expected = getattr(result, name)
        np.testing.assert_array_equal(np.vstack([getattr(h, name) for h in halves]), expected)
        np.testing.assert_array_equal([getattr(e, name) for e in streamed], expected)
    assert whole.state == parts.state == loop.state
    assert whole.report == parts.report == loop.report
    assert (result.report.samples, result.report.lossless) == (301, True)


def test_python_and_machine_code_agree():
    data, *_ = disturbed(lively(0.3)[0], np.random.default_rng(2))
    params = NavigatorParams(align_for=0.1)
    slow, fast = (StrapdownNavigator(params, compiled=c) for c in (False, True))
    for sample in samples(data):
        slow.update(sample)
        fast.update(sample)
    assert slow.aid_zero_velocity(10.0).nis == pytest.approx(fast.aid_zero_velocity(10.0).nis)
    np.testing.assert_allclose(slow.state.values, fast.state.values, rtol=1e-12, atol=1e-15)


def test_a_saved_state_goes_on_to_the_last_bit():
    data, *_ = disturbed(lively(3.0)[0], np.random.default_rng(3))
    one, other = StrapdownNavigator(NOISY), StrapdownNavigator(NOISY)
    one.run(data[:200])
    other.reset(FilterState.from_dict(json.loads(json.dumps(one.state.to_dict()))))
    assert one.run(data[200:]) == other.run(data[200:])
    assert one.state == other.state


def test_a_state_of_something_else_is_refused():
    navigator = StrapdownNavigator()
    with pytest.raises(UnknownNameError, match="strapdown-navigator"):
        navigator.reset(FilterState("mahony", 0, (0.0,)))
    with pytest.raises(ShapeError, match="state of"):
        navigator.reset(FilterState(navigator.state.filter, 0, (0.0,)))


def test_without_noise_samples_and_increments_lead_where_mechanisation_does():
    data, truth = lively(5.0)
    plain = mechanise(data, NavigationStart(*start_values(truth))).trajectory
    for given_data in (data, integrate(data, window=WindowRule(2)).increments):
        navigator = StrapdownNavigator(start=NavigationPrior(*start_values(truth)))
        result = navigator.run(given_data)
        off = errors(result[-1:], truth[-1:])[0]
        np.testing.assert_allclose(off, errors(plain[-1:], truth[-1:])[0], atol=1e-4)


def start_values(truth):
    return truth.q_world_from_body[0], truth.velocity_world[0], truth.position_world[0]


def test_alignment_finds_tilt_and_gyro_bias_at_rest():
    bias, attitude = np.array([0.004, -0.003, 0.002]), Rotation.from_euler("ZYX", [0.5, -0.3, 0.2])
    forces = np.tile(attitude.inv().apply(REST), (200, 1))
    data = ImuSeries(np.arange(200) * STEP_NS, np.tile(bias, (200, 1)), forces)
    navigator = StrapdownNavigator(NavigatorParams(heading=0.5))
    result = navigator.run(data)
    ours = Rotation.from_quat(result.q_world_from_body[-1])
    assert (ours * attitude.inv()).magnitude() < 1e-5
    np.testing.assert_allclose(navigator.estimate.gyro_bias, bias, rtol=1e-3)
    np.testing.assert_allclose(result.position_world[-1], 0.0, atol=1e-5)
    # tilt is not more accurate than the accelerometer bias
    tilt = np.sqrt(np.diag(result.covariance[99])[6:8])
    np.testing.assert_allclose(tilt, 0.2 / 9.80665, rtol=0.02)


def test_a_start_in_motion_is_known_to_be_unsure():
    data, _ = lively(1.0)
    result = StrapdownNavigator().run(data)
    calm = StrapdownNavigator().run(resting(101))
    sure, unsure = (np.sqrt(each.covariance[100][6, 6]) for each in (calm, result))
    assert unsure > 5.0 * sure


@pytest.mark.parametrize("late_ns", [0, 5 * STEP_NS, 40 * STEP_NS])
def test_aiding_that_comes_late_does_what_it_would_have_done_in_time(late_ns):
    data, truth = lively(3.0)
    data, *_ = disturbed(data, np.random.default_rng(4))
    told = [
        Aiding.position(int(data.t_ns[k]), truth.position_world[k] + 0.01, 0.1**2)
        for k in (120, 121, 150, 190, 240)
    ]
    navigator = StrapdownNavigator(NOISY)
    waiting, found = list(told), []
    for sample in samples(data):
        navigator.update(sample)
        while waiting and waiting[0].t_ns + late_ns <= sample.t_ns:
            found.append(navigator.aid(waiting.pop(0)))
    reference = StrapdownNavigator(NOISY)
    expected = reference.run(data, aiding=told[::-1])
    assert tuple(found) == expected.aiding
    np.testing.assert_array_equal(navigator.state.values, reference.state.values)
    assert navigator.report == reference.report


def test_two_that_come_late_and_in_disorder_are_put_in_order():
    data, truth = lively(3.0)
    told = [Aiding.position(int(data.t_ns[k]), truth.position_world[k], 0.01) for k in (210, 220)]
    tidy, untidy = StrapdownNavigator(NOISY), StrapdownNavigator(NOISY)
    tidy.run(data, aiding=told)
    for sample in samples(data):
        untidy.update(sample)
    for each in reversed(told):
        untidy.aid(each)
    np.testing.assert_array_equal(tidy.state.values, untidy.state.values)


@pytest.mark.parametrize("late", [0, 40])
def test_the_same_aiding_given_twice_is_two_measurements(late):
    data, truth = lively(3.0)
    fix = Aiding.position(int(data.t_ns[200]), truth.position_world[200] + 0.01, 0.1**2)
    navigator, reference = StrapdownNavigator(NOISY), StrapdownNavigator(NOISY)
    found = []
    for row, sample in enumerate(samples(data)):
        navigator.update(sample)
        if row == 200 + late:
            found = [navigator.aid(fix), navigator.aid(fix)]
    assert tuple(found) == reference.run(data, aiding=[fix, fix]).aiding
    np.testing.assert_array_equal(navigator.state.values, reference.state.values)


def test_aiding_between_two_samples_holds_between_them():
    data, truth = lively(3.0)
    t_ns = int(data.t_ns[200]) + STEP_NS // 2
    between = LIVELY.truth([t_ns * 1e-9])
    start = NavigationPrior(*start_values(truth))
    tight = Aiding.velocity(t_ns, between.velocity_world[0], 1e-10)
    batch = StrapdownNavigator(start=start)
    (told,) = batch.run(data, aiding=[tight]).aiding
    assert told.accepted
    # with a delay of half a sample it would be wrong by 0.01 m/s
    assert np.abs(batch.estimate.velocity_world - truth.velocity_world[-1]).max() < 2e-4
    stream = StrapdownNavigator(start=start)
    for sample in samples(data):
        stream.update(sample)
    assert stream.aid(tight) == told
    np.testing.assert_array_equal(stream.state.values, batch.state.values)
    pieces = StrapdownNavigator(start=start)
    increments = integrate(data, window=WindowRule(1)).increments
    pieces.run(increments, aiding=[tight])
    assert np.abs(pieces.estimate.velocity_world - truth.velocity_world[-1]).max() < 1e-3


def test_what_comes_too_early_or_too_late_is_refused():
    data = resting(300)
    navigator = StrapdownNavigator()
    with pytest.raises(ValueRangeError, match="last sample"):
        navigator.aid_zero_velocity()
    for sample in samples(data):
        navigator.update(sample)
    last = int(data.t_ns[-1])
    for t_ns in (last + 1, last - 1_010_000_000):
        with pytest.raises(ValueRangeError, match="zero_rate"):
            navigator.aid_zero_rate(t_ns=t_ns)
    for t_ns in (-1, last + 1):
        with pytest.raises(ValueRangeError, match="position"):
            StrapdownNavigator().run(data, aiding=[Aiding.position(t_ns, REST, 1.0)])


def test_what_comes_before_the_navigator_is_aligned_is_refused():
    navigator = StrapdownNavigator()
    navigator.run(resting(50))
    told = navigator.aid_heading(0.0, 0.1)
    assert (told.accepted, told.nis) == (False, 0.0)
    assert not navigator.estimate.aligned


def test_samples_that_go_back_are_no_part_of_what_is_done_again():
    data = resting(300, np.random.default_rng(10))
    plain, disturbed_one = StrapdownNavigator(), StrapdownNavigator()
    for k, sample in enumerate(samples(data)):
        plain.update(sample)
        disturbed_one.update(sample)
        if k == 280:
            disturbed_one.update(ImuSample(sample.t_ns - 1, (9.0, 9.0, 9.0), (9.0, 9.0, 9.0)))
            disturbed_one.update(sample)
    for navigator in (plain, disturbed_one):
        navigator.aid_zero_velocity(t_ns=int(data.t_ns[270]))
    assert plain.state == disturbed_one.state
    assert (disturbed_one.report.backward, disturbed_one.report.duplicates) == (1, 1)


def test_what_does_not_fit_is_refused_and_changes_nothing():
    navigator = StrapdownNavigator()
    navigator.run(resting(300, np.random.default_rng(5)))
    before = navigator.estimate
    told = navigator.aid_position([100.0, 0.0, 0.0], 0.01)
    assert (told.accepted, told.dof, told.kind) == (False, 3, "position")
    assert told.nis > 16.27  # 99.9 % of chi-square with 3 degrees of freedom
    np.testing.assert_array_equal(navigator.estimate.covariance, before.covariance)
    np.testing.assert_array_equal(navigator.estimate.position_world, before.position_world)
    assert navigator.aid_position([0.0, 0.0, 0.0], 0.01).accepted


def test_what_is_refused_again_and_again_is_believed_in_the_end():
    navigator = StrapdownNavigator(NavigatorParams(patience=2))
    navigator.run(resting(300))
    there = [5.0, 0.0, 0.0]
    answers = [navigator.aid_position(there, 1e-4).accepted for _ in range(4)]
    assert answers == [False, False, True, True]
    np.testing.assert_allclose(navigator.estimate.position_world, there, atol=0.1)
    # those of another kind in between do not count
    assert not navigator.aid_velocity([9.0, 0.0, 0.0], 1e-6).accepted
    assert navigator.aid_position(there, 1e-4).accepted
    assert not navigator.aid_velocity([9.0, 0.0, 0.0], 1e-6).accepted


@pytest.mark.parametrize(
    ("tell", "places"),
    [
        (lambda n: n.aid_zero_velocity(0.001), [3, 4, 5]),
        (lambda n: n.aid_velocity([0, 0, 0], 1e-6, "body"), [3, 4, 5]),
        (lambda n: n.aid_zero_rate(1e-4), [12, 13, 14]),
        (lambda n: n.aid_heading(0.0, 0.001), [8]),
        (lambda n: n.aid_position([0, 0, 0], 1e-6), [0, 1, 2]),
        (lambda n: n.aid_gravity(0.001), [11]),
    ],
    ids=["zero-velocity", "body-velocity", "zero-rate", "heading", "position", "gravity"],
)
def test_every_aiding_makes_surer_what_it_tells(tell, places):
    navigator = StrapdownNavigator(NavigatorParams(heading_sigma=0.1))
    navigator.run(resting(500))
    before = np.diag(navigator.estimate.covariance)[places]
    assert tell(navigator).accepted
    assert (np.diag(navigator.estimate.covariance)[places] < 0.5 * before).all()


def test_zero_velocity_keeps_position_and_learns_what_rest_shows():
    rng = np.random.default_rng(7)
    bias = np.array([0.0, 0.0, 0.15])
    data = resting(1000, rng)
    data = data.replace(specific_force=data.specific_force + bias)
    told = [Aiding.zero_velocity(int(t), 0.005) for t in data.t_ns[110::10]]
    aided, free = StrapdownNavigator(), StrapdownNavigator()
    result = aided.run(data, aiding=told)
    assert np.abs(result.position_world).max() < 0.01
    assert aided.estimate.accel_bias[2] == pytest.approx(0.15, abs=0.01)
    assert np.abs(free.run(data).position_world[-1]).max() > 0.01


def test_a_hole_makes_unsure_and_is_told():
    data, _ = lively(6.0)
    torn = data[np.r_[0:300, 340:601]]
    w = torn.angular_velocity.copy()
    w[400] = np.nan
    torn = torn.replace(angular_velocity=w)
    result = StrapdownNavigator().run(torn)
    tilt = np.sqrt(result.covariance[:, 6, 6])
    assert tilt[300] > tilt[299] + 0.05
    report = result.report
    assert (report.gaps, report.longest_gap_ns, report.invalid_angular_velocity) == (
        1,
        410_000_000,
        1,
    )
    np.testing.assert_array_equal(result.position_world[400], result.position_world[399])


def test_lost_samples_are_bridged():
    data, truth = lively(10.0)
    keep = np.random.default_rng(8).random(len(data)) > 0.02
    keep[[0, -1]] = True
    start = NavigationPrior(*start_values(truth))
    whole = StrapdownNavigator(start=start).run(data)
    torn = StrapdownNavigator(start=start).run(data[keep])
    np.testing.assert_allclose(torn.position_world[-1], whole.position_world[-1], atol=0.05)
    assert torn.report.gaps == 0


def test_sensors_that_take_turns_are_put_together():
    data, *_ = disturbed(lively(2.0)[0], np.random.default_rng(9))
    whole, halves = StrapdownNavigator(), StrapdownNavigator()
    for sample in samples(data):
        whole.update(sample)
        halves.update(ImuSample(sample.t_ns, sample.angular_velocity, None))
        halves.update(ImuSample(sample.t_ns, None, sample.specific_force))
    np.testing.assert_array_equal(whole.estimate.position_world, halves.estimate.position_world)
    assert halves.report.merged == len(data)


def test_clipping_makes_unsure_and_is_told():
    data, _ = lively(3.0)
    clipping = np.zeros(len(data), np.uint8)
    clipping[200:220] = 4
    clipped = StrapdownNavigator().run(data.replace(gyro_clipping=clipping))
    plain = StrapdownNavigator().run(data)
    assert clipped.report.clipped_angular_velocity == 20
    assert clipped.covariance[-1][6, 6] > plain.covariance[-1][6, 6] + 1e-4


def test_a_jump_of_the_clock_keeps_the_pose_and_says_so():
    data = resting(300)
    navigator = StrapdownNavigator()
    navigator.run(data)
    sure = navigator.estimate.covariance[0, 0]
    estimate = navigator.update(ImuSample(10**15, (0, 0, 0), REST))
    assert navigator.report.restarts == 1
    np.testing.assert_allclose(estimate.position_world, 0.0, atol=1e-9)
    assert estimate.covariance[0, 0] >= sure
    assert navigator.aid_zero_velocity().accepted


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_no_input_brings_nan_into_the_state(seed):
    rng = np.random.default_rng(seed)
    data = resting(120, rng)
    columns = [data.angular_velocity.copy(), data.specific_force.copy()]
    for column in columns:
        bad = rng.random(column.shape) < 0.3
        column[bad] = rng.choice([np.nan, np.inf, -np.inf, 1e300, 0.0, 1e4, 50.0], bad.sum())
    t_ns = data.t_ns + rng.choice([0, 0, 0, -STEP_NS, 3 * 10**9, -(2**62)], len(data))
    navigator = StrapdownNavigator(NavigatorParams(align_for=0.2))
    result = navigator.run(ImuSeries(t_ns, *columns))
    navigator.aid_zero_velocity()
    navigator.aid_gravity()
    assert np.isfinite(navigator.state.values).all()
    lengths = np.linalg.norm(result.q_world_from_body, axis=1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-12)
    assert (np.linalg.eigvalsh(navigator.estimate.covariance)[0]) > -1e-6 * np.trace(
        navigator.estimate.covariance
    )


def test_gravity_of_the_place_is_that_of_navigation():
    place = Place("wgs84", latitude=0.8, height=200.0)
    source = Mounted(Static(), earth=Wgs84(0.8, 0.0, 200.0))
    t_s = np.arange(3001) / RATE_HZ
    data = ImuSeries(np.arange(3001) * STEP_NS, *source.inputs(t_s))
    navigator = StrapdownNavigator(start=NavigationPrior(), place=place)
    assert np.abs(navigator.run(data).position_world).max() < 1e-6
    assert navigator.aid_zero_rate().nis < 1e-12
    aligned = StrapdownNavigator(place=place)
    aligned.run(data[:200])
    np.testing.assert_allclose(aligned.estimate.gyro_bias, 0.0, atol=1e-9)


def test_parameters_out_of_their_range_are_refused():
    for name, value in (("gate", 0.0), ("gyro_noise", -1.0), ("accel_walk", np.inf)):
        with pytest.raises(ValueRangeError, match=name):
            NavigatorParams(**{name: value})
    with pytest.raises(ValueRangeError, match="positive definite"):
        Aiding.position(0, REST, -1.0)
    with pytest.raises(ShapeError, match="covariance"):
        Aiding.position(0, REST, np.eye(2))
    with pytest.raises(UnknownNameError, match="frame"):
        Aiding.velocity(0, REST, 1.0, "sensor")
    with pytest.raises(ShapeError, match="covariance"):
        NavigationPrior(covariance=np.eye(9))
    with pytest.raises(ValueRangeError, match="symmetric"):
        NavigationPrior(covariance=np.eye(15) + np.eye(15, k=1))
