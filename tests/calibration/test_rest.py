"""Gyro bias at rest: simulated rests, turns, drops of data, the Earth's rate, real data."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.calibration import (
    BiasTrackParams,
    Refusal,
    RestCalibrator,
    RestParams,
    rest_calibration,
)
from strapdown.errors import ValueRangeError
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

DEG = np.pi / 180.0
RATE_HZ = 100
BIAS = np.array([0.012, -0.007, 0.02])
SIGMA = 0.002  # of a sample of the gyro [rad/s]
FIELD = np.array([0.0, 2.0e-5, -4.0e-5])  # north, with an inclination of 63 deg
EARTH = 7.292115e-5


def sensor(  # noqa: PLR0913 (one an error of the sensor)
    rates_deg, *, attitude=None, seed=0, field=None, bias=BIAS, sigma=SIGMA
):
    """Return a sensor that turns about its axes with rates (N, 3) [deg/s]."""
    rng = np.random.default_rng(seed)
    rates = np.asarray(rates_deg, float) * DEG
    count = len(rates)
    start = Rotation.identity() if attitude is None else attitude
    turns = [start]
    for step in rates / RATE_HZ:
        turns.append(turns[-1] * Rotation.from_rotvec(step) if step.any() else turns[-1])
    body = Rotation.concatenate(turns[1:]).inv()
    m = None
    if field is not None:
        m = body.apply(field) + 2e-7 * rng.normal(size=(count, 3))
    return ImuSeries(
        np.arange(count) * (1_000_000_000 // RATE_HZ) + 1_700_000_000_000_000_000,
        rates + bias + sigma * rng.normal(size=(count, 3)),
        body.apply([0.0, 0.0, 9.81]) + 0.01 * rng.normal(size=(count, 3)),
        magnetic_field=m,
    )


def rest_and_motion(*plan):
    """Return rates [deg/s] of parts: seconds at rest, or of shaking where negative."""
    parts = []
    for seconds in plan:
        t = np.arange(abs(seconds) * RATE_HZ) / RATE_HZ
        shake = np.stack([90 * np.sin(7 * t), 120 * np.cos(5 * t), 70 * np.sin(3 * t)], axis=1)
        parts.append(shake if seconds < 0 else np.zeros((len(t), 3)))
    return np.concatenate(parts)


def pieces(intervals):
    return [(i.t_start_ns, i.t_end_ns, i.gyro_bias.tolist(), i.event) for i in intervals if i]


def test_the_bias_at_rest_is_found_between_motions():
    found = rest_calibration(sensor(rest_and_motion(15, -10, 12, -10, 30)))
    gyro = found.calibration.gyro
    assert np.abs(gyro.bias - BIAS).max() < 1.5e-4
    assert len(found.intervals) == 6
    assert not found.refused
    assert found.warnings == ()
    motion = [(15, 25), (37, 47)]
    for interval in found.intervals:
        span = (np.array([interval.t_start_ns, interval.t_end_ns]) - 17 * 10**17) / 1e9
        assert all(span[1] < start or span[0] > stop for start, stop in motion)


def test_the_standard_deviation_is_that_of_the_errors():
    # white noise and B: N^2/T = SIGMA^2/n
    params = RestParams(
        unseen_rate_rad_s=0.0,
        bias_instability_rad_s=1e-9,
        track=BiasTrackParams(random_walk=0.0, floor=0.0),
    )
    scores = []
    for seed in range(15):
        s = sensor(np.zeros((1350, 3)), seed=seed)
        calibrator = RestCalibrator(params, latitude=0.0, heading=0.0)
        (first,) = (*calibrator.run(s),)
        truth = BIAS - [EARTH, 0.0, 0.0]
        scores.append((first.gyro_bias - truth) / first.gyro_bias_sigma)
    assert 0.7 < np.std(scores) < 1.2
    n = 10 * RATE_HZ
    assert first.gyro_bias_sigma.min() > 0.9 * SIGMA / np.sqrt(n)
    assert first.gyro_bias_sigma.max() < 2.0 * SIGMA / np.sqrt(n)


def test_the_variance_has_all_its_terms():
    s = sensor(np.zeros((1350, 3)), attitude=Rotation.from_euler("x", 90, degrees=True))
    p = RestParams(bias_instability_rad_s=3e-3, resolution_rad_s=0.05)
    found = RestCalibrator(p, latitude=0.3).run(s)[0]
    flicker = (0.664 * 3e-3) ** 2
    step = 0.05**2 / 12.0 / 1000
    level = 0.5 * (EARTH * np.cos(0.3)) ** 2
    white = np.array([1, 1, 1]) * SIGMA**2 / 1000
    unseen = np.array([0, (0.05 * DEG) ** 2, 0])  # y points up or down
    expected = flicker + step + level * np.array([1, 0, 1]) + white + unseen
    np.testing.assert_allclose(found.gyro_bias_sigma**2, expected, rtol=0.01)


@pytest.mark.parametrize("field", [None, FIELD])
def test_a_stream_equals_a_recording(field):
    s = sensor(rest_and_motion(14, -5, 11, -5, 24), field=field)
    force = s.specific_force.copy()
    force[300:305] = np.nan
    order = np.arange(len(s))
    order[900:902] = [901, 900]
    s = s.replace(specific_force=force)[order]
    keep = np.ones(len(s), bool)
    keep[3500:3560] = False  # a gap
    s = s[keep]
    batch, stream, parts = RestCalibrator(), RestCalibrator(), RestCalibrator()
    whole = batch.run(s)
    nothing = [None] * len(s) if field is None else s.magnetic_field
    one_by_one = [
        stream.update(ImuSample(int(t), w, f, m))
        for t, w, f, m in zip(s.t_ns, s.angular_velocity, s.specific_force, nothing, strict=True)
    ]
    one_by_one = [interval for interval in one_by_one if interval]
    halves = parts.run(s[:777]) + parts.run(s[777:])
    assert len(whole) >= 4
    for others, calibrator in ((one_by_one, stream), (halves, parts)):
        assert pieces(others) == pieces(whole)
        assert calibrator.refused == batch.refused
        np.testing.assert_array_equal(calibrator.gyro_bias, batch.gyro_bias)
    ends = [calibrator.finish() for calibrator in (batch, stream, parts)]
    assert pieces(ends[:1]) == pieces(ends[1:2]) == pieces(ends[2:])


@pytest.mark.parametrize("seed", range(4))
def test_broken_data_give_the_same_in_a_stream_and_in_a_recording(seed):
    rng = np.random.default_rng(seed)
    s = sensor(rest_and_motion(30), field=FIELD, seed=seed)
    t, w, f = s.t_ns.copy(), s.angular_velocity.copy(), s.specific_force.copy()
    for column in (w, f):
        rows = rng.integers(0, len(s), 3)
        column[rows, rng.integers(0, 3, 3)] = [np.nan, np.inf, 1e300]
    for row, step_s in zip(rng.integers(0, len(s), 4), [-0.005, -5.0, 20.0, -100.0], strict=True):
        t[row:] += int(step_s * 1e9)
    t[rng.integers(1, len(s), 3)] -= 10_000_000  # repeated stamps
    s = s.replace(t_ns=t, angular_velocity=w, specific_force=f)
    batch, stream = RestCalibrator(), RestCalibrator()
    with np.errstate(over="ignore"):
        whole = batch.run(s)
        samples = zip(t, w, f, s.magnetic_field, strict=True)
        one_by_one = [stream.update(ImuSample(int(a), b, c, d)) for a, b, c, d in samples]
    assert pieces(one_by_one) == pieces(whole)
    assert pieces([stream.finish()]) == pieces([batch.finish()])


def test_a_slow_turntable_is_no_bias_where_a_magnetometer_shows_it():
    turning = np.tile([0.0, 0.0, 0.5], (3000, 1))
    rates = np.concatenate([rest_and_motion(20), turning, rest_and_motion(20)])
    found = rest_calibration(sensor(rates, field=FIELD))
    assert found.refused[Refusal.HEADING] >= 2
    assert np.abs(found.calibration.gyro.bias - BIAS).max() < 0.02 * DEG
    assert found.calibration.gyro.sigma_bias.max() < 0.02 * DEG
    only = sensor(turning, field=FIELD)
    with pytest.raises(ValueRangeError, match=r"got none in 3000 samples \(refused: \d by heading"):
        rest_calibration(only)


def test_without_a_magnetometer_the_vertical_is_trusted_less():
    tilted = Rotation.from_euler("y", -90, degrees=True)  # forward axis up
    found = rest_calibration(sensor(np.zeros((2000, 3)), attitude=tilted))
    first = found.intervals[0]
    assert first.gyro_bias_sigma[0] == pytest.approx(0.05 * DEG, rel=0.02)
    assert first.gyro_bias_sigma[1:].max() < 0.01 * DEG
    # no number of intervals makes the vertical better
    sigma = found.calibration.gyro.sigma_bias
    assert sigma[0] == pytest.approx(0.05 * DEG, rel=0.02)
    assert sigma[1:].max() < 0.005 * DEG
    assert "without a magnetometer" in found.calibration.provenance.notes[0]


@pytest.mark.parametrize(
    ("rate", "reason"), [([0.0, 0.0, 4.0], Refusal.RATE), ([0.15, 0.0, 0.0], Refusal.TILT)]
)
def test_a_slow_turn_is_refused(rate, reason):
    calibrator = RestCalibrator()
    assert calibrator.run(sensor(np.tile(rate, (2000, 1)))) == []
    assert set(calibrator.refused) == {reason}
    with pytest.raises(ValueRangeError, match="got none so far"):
        calibrator.calibration()


@pytest.mark.parametrize("heading_deg", [0.0, 90.0, 215.0])
def test_the_earths_rate_is_removed(heading_deg):
    # of a body that points east of north by the heading, tilted and rolled
    latitude = 48.0 * DEG
    heading = Rotation.from_euler("z", 90.0 - heading_deg, degrees=True)  # ENU from level FLU
    attitude = heading * Rotation.from_euler("YX", [20.0, -35.0], degrees=True)
    earth = attitude.inv().apply(EARTH * np.array([0, np.cos(latitude), np.sin(latitude)]))
    s = sensor(np.zeros((1000, 3)), attitude=attitude, bias=BIAS + earth, sigma=1e-7)
    found = rest_calibration(s, latitude=latitude, heading=heading_deg * DEG)
    np.testing.assert_allclose(found.intervals[0].gyro_bias, BIAS, atol=2e-8)


def test_a_shock_that_moves_the_bias_is_an_event():
    rates = rest_and_motion(30, -5, 30)
    s = sensor(rates)
    w, f = s.angular_velocity.copy(), s.specific_force.copy()
    w[3200:] += [0.0, 0.01, 0.0]
    f[3200] = [120.0, 0.0, 0.0]
    found = rest_calibration(s.replace(angular_velocity=w, specific_force=f))
    (event,) = found.events
    assert event.kind == "bias_jump"
    assert event.flags == {"shock"}
    assert event.values["change_y"] == pytest.approx(0.01, abs=5e-4)
    assert np.abs(found.calibration.gyro.bias - BIAS - [0.0, 0.01, 0.0]).max() < 3e-4
    assert "jumped or drifted" in found.warnings[0]


def test_two_attitudes_determine_all_axes_without_a_magnetometer():
    t = np.arange(200) / 200
    over = np.stack([0 * t, 90 * np.pi * np.sin(np.pi * t) / 4, 0 * t], axis=1)  # 90 deg in 2 s
    rates = np.concatenate([np.zeros((2000, 3)), over, np.zeros((2000, 3))])
    found = rest_calibration(sensor(rates))
    assert found.calibration.gyro.sigma_bias.max() < 0.01 * DEG
    assert np.abs(found.calibration.gyro.bias - BIAS).max() < 0.01 * DEG


def test_a_sensor_without_gravity_is_refused():
    s = sensor(np.zeros((1400, 3)))
    calibrator = RestCalibrator()
    assert calibrator.run(s.replace(specific_force=0.0 * s.specific_force)) == []
    assert calibrator.refused == {Refusal.TILT: 1}


def test_another_body_frame_gives_the_bias_in_its_axes():
    s = sensor(np.zeros((2000, 3))).in_frames(body="FRD")
    found = rest_calibration(s)
    assert found.calibration.body == "FRD"
    assert np.abs(found.calibration.apply(s).angular_velocity.mean(axis=0)).max() < 2e-4


def test_a_real_sensor_at_rest(data_dir):
    with np.load(data_dir / "imu_static" / "adis_16405_imu1.npz") as data:
        rows = slice(0, 100_000)
        w = data["gyr_lsb"][rows] * data["gyr_scale_dps"] * DEG
        f = data["acc_lsb"][rows] * data["acc_scale_g"] * 9.80665
    s = ImuSeries(np.arange(len(w)) * 10_000_000, w, f)
    found = rest_calibration(s)
    assert not found.refused
    assert not found.events
    assert len(found.intervals) >= 98  # of 1000 s, 10 s each
    means = np.array([interval.gyro_bias for interval in found.intervals])
    np.testing.assert_allclose(means.mean(axis=0), w[200:].mean(axis=0), atol=2e-5)
    sigma = found.calibration.gyro.sigma_bias
    assert np.abs(found.calibration.gyro.bias - w[-6000:].mean(axis=0)).max() < 3 * sigma.max()


def test_the_report_has_the_figures():
    found = rest_calibration(sensor(rest_and_motion(15, -10, 12)))
    assert found.lines()[0] == "3 intervals at rest, 22 s"
    assert found.lines()[1].startswith("gyro bias: x +0.68")
    figures = found.to_dict()
    assert figures["intervals"] == len(found.intervals)
    assert figures["events"] == {"counts": {}, "events": []}


def test_bad_input_is_named():
    with pytest.raises(TypeError, match="list"):
        RestCalibrator().run([1.0])
    with pytest.raises(ValueRangeError, match="got none in 0 samples; leave"):
        rest_calibration(sensor(np.zeros((100, 3)))[:0])
    with pytest.raises(ValueRangeError, match="latitude in -pi/2"):
        RestCalibrator(latitude=48.0)
    with pytest.raises(TypeError, match="params as RestParams"):
        RestCalibrator(3)
