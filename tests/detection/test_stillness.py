"""Stillness: its statistics, its law, and what streams and recordings make of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import chi2

from strapdown import _scratch
from strapdown.detection.stillness import (
    StillnessDetector,
    StillnessKind,
    StillnessParams,
    quiet_noise,
)
from strapdown.detection.stillness.statistic import chi_square
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

RATE_HZ = 200
STEP_NS = 5_000_000
KINDS = list(StillnessKind)


def rest(count, *, accel=0.03, gyro=0.002, seed=1, force=(1.2, -0.5, 9.7)):
    rng = np.random.default_rng(seed)
    return ImuSeries(
        np.arange(count) * STEP_NS,
        rng.normal(0.0, gyro, (count, 3)),
        rng.normal(0.0, accel, (count, 3)) + force,
    )


def walk(seconds=60, *, seed=2):
    """Return a foot that swings 0.5 s and stands 0.5 s, with noise, and when it stands."""
    count = seconds * RATE_HZ
    t = np.arange(count) / RATE_HZ
    swing = np.sin(2.0 * np.pi * t).clip(0.0) * (1.0 + 0.3 * np.sin(40.0 * np.pi * t))
    quiet = rest(count, seed=seed)
    rates = quiet.angular_velocity + swing[:, None] * [0.5, 5.0, 0.5]
    forces = quiet.specific_force + swing[:, None] * [12.0, 1.0, 5.0]
    return quiet.replace(angular_velocity=rates, specific_force=forces), swing == 0.0


def by_definition(kind, rates, forces):
    """Return the statistic of one window as the literature writes it."""
    gravity, s_a, s_w = 9.80665, 0.01, math.radians(0.1)
    mean = forces.mean(axis=0)
    length = np.linalg.norm(mean)
    turn = (rates**2).sum(axis=1).mean() / s_w**2
    if kind == "shoe":
        off = ((forces - gravity * mean / length) ** 2).sum(axis=1).mean() / s_a**2
        return off + turn
    if kind == "are":
        return turn
    if kind == "mv":
        return ((forces - mean) ** 2).sum(axis=1).mean() / s_a**2
    if kind == "mag":
        return (length - gravity) ** 2 / s_a**2
    return math.sqrt((forces.var(axis=0, ddof=1) ** 2).mean()) / s_a**2


@pytest.mark.parametrize("kind", ["shoe", "are", "mv", "mag", "variance"])
def test_statistics_are_those_of_their_definitions(kind):
    series, _ = walk(3)
    params = StillnessParams(window_s=0.025, min_duration_s=0.0)
    found = StillnessDetector(kind, params).analyse(series, centred=False)
    for k in (10, 150, 333, 599):
        window = slice(k - 4, k + 1)
        expected = by_definition(
            kind, series.angular_velocity[window], series.specific_force[window]
        )
        assert found.statistic[k] == pytest.approx(expected, rel=1e-6)


def test_a_centred_window_has_its_sample_in_the_middle():
    series, _ = walk(3)
    detector = StillnessDetector()
    trailing = detector.analyse(series, centred=False).statistic
    centred = detector.analyse(series).statistic
    np.testing.assert_array_equal(centred[10:-2], trailing[12:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_the_recording_bit_for_bit(kind):
    series, _ = walk(4)
    whole, streaming, plain = (
        StillnessDetector(kind), StillnessDetector(kind), StillnessDetector(kind, compiled=False)
    )  # fmt: skip
    events = list(whole.run(series[:500])) + list(whole.run(series[500:]))
    for detector, upto in ((streaming, len(series)), (plain, 450)):
        statistics, found = [], []
        trailing = whole.analyse(series, centred=False).statistic
        for k in range(upto):
            w, f = series.angular_velocity[k].tolist(), series.specific_force[k].tolist()
            event = detector.update(ImuSample(int(series.t_ns[k]), w, f))
            statistics.append(detector.statistic)
            if event is not None:
                found.append(event)
        np.testing.assert_array_equal(statistics, trailing[:upto])
        assert found == events[: len(found)]
    assert streaming.state == whole.state
    again = StillnessDetector(kind)
    again.reset(type(whole.state).from_dict(whole.state.to_dict()))
    assert again.state == whole.state


@pytest.mark.parametrize("windows", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "window"), [("shoe", 5), ("are", 5), ("mv", 9), ("mag", 5)])
def test_false_alarms_at_rest_are_as_rare_as_the_law_says(kind, window, windows):
    # 1 % of windows that do not overlap: 4 sigma of 20,000 are +-28 %, of 100,000 +-13 %
    params = StillnessParams(
        window_s=window * 0.005,
        accel_sigma_m_s2=0.03,
        gyro_sigma_rad_s=0.002,
        gravity_m_s2=9.8,
        threshold=None,
        false_alarm_rate=0.01,
    )
    length = 9.8 / np.linalg.norm([1.2, -0.5, 9.7])
    series = rest(windows * window, force=length * np.array([1.2, -0.5, 9.7]))
    found = StillnessDetector(kind, params).analyse(series, centred=False)
    alarms = found.statistic[window - 1 :: window] >= found.threshold[window - 1 :: window]
    assert 0.7e-2 < alarms.mean() < 1.3e-2


def test_the_law_is_the_chi_square_distribution():
    for freedom in (3.0, 13.0, 28.0, 600.0):
        expected = chi2.isf(1e-3, freedom)
        assert chi_square(freedom, 3.0902) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("kind", ["shoe", "are", "mv"])
def test_automatic_thresholds_part_stance_from_swing(kind):
    series, stands = walk()
    found = StillnessDetector(kind, thresholds="auto").analyse(series)
    inner = np.convolve(stands, np.ones(11), "same") == 11
    alarms = 1.0 - found.still[inner].mean()
    assert alarms < 2e-3  # twice the nominal share
    assert found.still[~stands].mean() < 0.05
    assert 58 <= len(found.intervals) <= 64


def test_the_noise_of_the_quietest_part_is_found_within_a_walk():
    series, _ = walk()
    still = rest(12_000)
    joined = ImuSeries(
        np.arange(24_000) * STEP_NS,
        np.concatenate([still.angular_velocity + 0.01, series.angular_velocity]),
        np.concatenate([still.specific_force, series.specific_force]),
    )
    noise = quiet_noise(joined, "mv")
    assert noise.accel_sigma_m_s2 == pytest.approx(0.03, rel=0.03)
    assert noise.gyro_sigma_rad_s == pytest.approx(0.002, rel=0.03)
    assert noise.gravity_m_s2 == pytest.approx(np.linalg.norm([1.2, -0.5, 9.7]), abs=2e-3)
    assert noise.gyro_bias_rad_s == pytest.approx(0.01 * math.sqrt(3.0), rel=0.05)


def test_a_bias_within_its_bound_is_no_motion():
    series = rest(400)
    biased = series.replace(
        angular_velocity=series.angular_velocity + 0.02, specific_force=series.specific_force * 1.01
    )
    noise = StillnessParams(accel_sigma_m_s2=0.03, gyro_sigma_rad_s=0.002, threshold=None)
    assert not StillnessDetector("shoe", noise).analyse(biased).still.any()
    bounded = StillnessParams(
        accel_sigma_m_s2=0.03,
        gyro_sigma_rad_s=0.002,
        threshold=None,
        accel_bias_m_s2=0.12,
        gyro_bias_rad_s=0.04,
    )
    assert StillnessDetector("shoe", bounded).analyse(biased).still.mean() > 0.97


def test_stillness_is_left_at_twice_the_threshold_it_is_entered_at():
    # variances of 0.5, 1.5, 2.5 thresholds in turn
    count = 100
    sign = np.resize([1.0, -1.0], 3 * count)
    size = np.repeat(np.sqrt([0.5, 1.5, 2.5]), count) * sign
    force = np.stack([size, 0 * size, 9.81 + 0 * size], axis=1)
    series = ImuSeries(np.arange(3 * count) * STEP_NS, np.zeros((3 * count, 3)), force)
    params = StillnessParams(accel_sigma_m_s2=1.0, threshold=1.0, window_s=0.02)
    up = StillnessDetector("mv", params).analyse(series).still
    assert up[5:195].all()
    assert not up[205:].any()
    down = StillnessDetector("mv", params).analyse(series.replace(specific_force=force[::-1])).still
    assert not down[:195].any()
    assert down[205:].all()


def test_what_is_quiet_for_too_short_is_not_still_and_the_interval_begins_with_the_quiet():
    moving = np.sin(np.arange(1000) * 0.3) * 3.0
    moving[300:340] = 0.0
    moving[600:800] = 0.0
    force = np.stack([moving, 0 * moving, 9.81 + 0 * moving], axis=1)
    series = ImuSeries(np.arange(1000) * STEP_NS, np.zeros((1000, 3)), force)
    params = StillnessParams(threshold=1e3, min_duration_s=0.5)
    detector = StillnessDetector("mv", params)
    (event,) = detector.run(series)
    assert abs(event.t_start_ns - 604 * STEP_NS) <= STEP_NS
    assert event.t_decided_ns == event.t_start_ns + 500_000_000
    assert abs(event.t_end_ns - 800 * STEP_NS) <= 2 * STEP_NS
    assert event.values["duration_s"] == pytest.approx((event.t_end_ns - event.t_start_ns) / 1e9)


def test_lowpass_wants_a_second_of_calm_and_takes_a_slow_even_turn_for_a_bias():
    for turn, expected in ((math.radians(2.0), True), (math.radians(5.0), False)):
        detector = StillnessDetector("lowpass")
        for k in range(500):
            detector.update(ImuSample(k * STEP_NS, (0.0, 0.0, turn), (0.0, 0.0, 9.81)))
            if k < 190:
                assert not detector.still
        assert detector.still is expected


def test_a_hole_ends_an_interval_and_the_end_of_the_data_another():
    series = rest(400)
    holed = series[np.r_[0:150, 250:400]]
    detector = StillnessDetector("mv")
    (first,) = detector.run(holed)
    assert first.flags == {"gap"}
    assert first.t_end_ns == 149 * STEP_NS
    last = detector.finish()
    assert last is not None
    assert last.flags == {"open"}
    found = StillnessDetector("mv").analyse(holed)
    assert found.intervals.flags["gap"].tolist() == [True, False]
    assert found.intervals.flags["open"].tolist() == [False, True]


def test_window_lengths_follow_the_stamps_not_the_number_of_samples():
    rng = np.random.default_rng(3)
    t_ns = np.cumsum(rng.integers(1_000_000, 9_000_000, 2000))
    series = ImuSeries(t_ns, rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3)))
    found = StillnessDetector("are", StillnessParams(window_s=0.1)).analyse(series, centred=False)
    k = 1500
    inside = t_ns > t_ns[k] - 100_000_000 + 2_500_000
    inside[k + 1 :] = False
    expected = by_definition("are", series.angular_velocity[inside], series.specific_force[inside])
    assert found.statistic[k] == pytest.approx(expected, rel=0.15)


def test_a_window_of_many_samples_forgets_without_rounding_errors():
    series = rest(20_000)
    series = series.replace(
        specific_force=series.specific_force * np.r_[np.full(9000, 1e3), np.ones(11_000)][:, None]
    )
    found = StillnessDetector("mv", StillnessParams(window_s=1.0)).analyse(series, centred=False)
    window = slice(19_800, 20_000)
    expected = by_definition("mv", series.angular_velocity[window], series.specific_force[window])
    assert found.statistic[-1] == pytest.approx(expected, rel=1e-6)


@example([(-1, *[0.0] * 6), (0, *[0.0] * 6)], "shoe")  # the clock jumps; 1 ns is forgotten
@given(
    st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1) | st.integers(0, 10**10),
            *[st.floats() | st.sampled_from([0.0, 1e300, math.nan, math.inf])] * 6,
        ),
        max_size=20,
    ),
    st.sampled_from(KINDS),
)
def test_no_sample_does_harm(rows, kind):
    detector = StillnessDetector(kind)
    for t_ns, *values in rows:
        detector.update(ImuSample(t_ns, values[:3], values[3:]))
    detector.finish()
    assert detector.report.samples == len(rows)
    assert all(math.isfinite(value) for value in detector.state.values)
    for k in range(200):
        detector.update(ImuSample(10**18 + 3 * k * STEP_NS, (0.0,) * 3, (0.0, 0.0, 9.80665)))
    assert detector.still


def test_a_missing_sensor_that_a_kind_does_not_need_is_no_loss():
    for kind in ("mv", "mag", "are"):
        detector = StillnessDetector(kind)
        for k in range(100):
            zero, up = (0.0, 0.0, 0.0), (0.0, 0.0, 9.80665)
            sample = (zero, None) if kind == "are" else (None, up)
            detector.update(ImuSample(k * STEP_NS, *sample))
        assert detector.still


def test_empty_and_single_samples_are_answered():
    for count in (0, 1):
        found = StillnessDetector().analyse(rest(count))
        assert len(found.statistic) == count
        assert len(found.intervals) == 0


def test_misuse_is_refused():
    with pytest.raises(UnknownNameError, match="kind of stillness"):
        StillnessDetector("loud")
    with pytest.raises(UnknownNameError, match="thresholds"):
        StillnessDetector("shoe", thresholds="best")
    for arguments in ({"thresholds": "auto"}, {"params": StillnessParams(threshold=None)}):
        with pytest.raises(
            ValueRangeError, match=r"threshold of lowpass.* got None: leave it at 1"
        ):
            StillnessDetector("lowpass", **arguments)
    with pytest.raises(ValueRangeError, match="noise"):
        StillnessDetector("shoe", thresholds="auto").update(ImuSample(0, None, None))
    with pytest.raises(ValueRangeError, match="false_alarm_rate"):
        StillnessParams(false_alarm_rate=1.0)
    with pytest.raises(ValueRangeError, match="20 samples"):
        quiet_noise(rest(10))
    with pytest.raises(ValueRangeError, match="noise of gyro"):
        quiet_noise(rest(1000, gyro=0.0))
    for process in (StillnessDetector(thresholds="auto").run, quiet_noise):
        with pytest.raises(TypeError, match="ImuSeries"):
            process("walk.csv")


@pytest.mark.parametrize("name", ["2017-11-22-11-22-03", "2017-12-15-18-00-13"])
def test_a_walker_has_a_stance_to_each_stride(data_dir, name):
    with np.load(data_dir / "pyshoe" / f"{name}.npz") as walk_of:
        t_ns = np.round((walk_of["t"] - walk_of["t"][0]) * 1e9).astype(np.int64)
        strides = len(walk_of["stride_idx"])
        series = ImuSeries(t_ns, walk_of["gyr"], walk_of["acc"], body="FRD", world="NED")
    found = StillnessDetector().analyse(series)
    lasting = found.intervals.values["duration_s"] > 0.1
    assert abs(lasting.sum() - strides) <= 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_motion_is_that_of_the_statistic(kind, monkeypatch):
    monkeypatch.setattr(_scratch, "_PART", 700)
    series, _ = walk(20)
    series = series.replace(t_ns=series.t_ns + np.where(np.arange(len(series)) < 900, 0, 10**9))
    for some in (series, series[:3], rest(2000)):
        detector = StillnessDetector(kind)
        found = detector.analyse(some)
        above = found.statistic > detector.params.leave_ratio * found.threshold
        assert detector.moving_share(some) == above.mean()
