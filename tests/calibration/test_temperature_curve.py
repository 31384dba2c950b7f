"""Temperature curves: degree, lag, hysteresis, motion and refusals, on simulated ramps."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyval

from strapdown.calibration import (
    TemperatureReadings,
    load_calibration,
    save_calibration,
    temperature_curve,
)
from strapdown.errors import ValueRangeError
from strapdown.sensors import (
    ImuSpec,
    TemperatureProfile,
    TriadSpec,
    temperature_table,
)
from strapdown.sensors.triad import Temperature
from strapdown.series import ImuSeries
from strapdown.simulation import simulate

S = 1_000_000_000
RATE_HZ = 5
GYRO = np.array([[0.002, -0.001, 0.003], [2e-5, 0.0, -4e-5], [0.0, 0.0, 1e-6]])  # powers of T - 25
ACCEL = np.array([[0.0, 0.0, 9.81], [1e-3, -2e-3, 5e-4]])


def ramps(minutes=20.0, low=5.0, high=45.0, cycles=1):
    """Return instants, and temperatures that rise and fall as a cosine."""
    t = np.arange(0.0, cycles * 60.0 * minutes, 1.0 / RATE_HZ)
    phase = 2.0 * np.pi * t / (60.0 * minutes)
    return t, low + 0.5 * (high - low) * (1.0 - np.cos(phase))


def lagging(t, element, lag_s):
    """Return the steady response of one pole to the cosine of one ramp."""
    w = 2.0 * np.pi / (t[-1] + t[1])
    low, high = element.min(), element.max()
    wave = np.cos(w * t - np.arctan(lag_s * w)) / np.hypot(1.0, lag_s * w)
    return 0.5 * (low + high) - 0.5 * (high - low) * wave


def recording(t, element, *, seed=0, noise=(5e-4, 0.01)):
    rng = np.random.default_rng(seed)
    w = polyval(element - 25.0, GYRO).T + noise[0] * rng.normal(size=(len(t), 3))
    f = polyval(element - 25.0, ACCEL).T + noise[1] * rng.normal(size=(len(t), 3))
    return ImuSeries(stamps(t), w, f)


def stamps(t):
    return np.round(t * S).astype(np.int64)


def read(t, celsius, rng=None, every=5):
    noise = 0.0 if rng is None else 0.05 * rng.normal(size=len(t))
    return TemperatureReadings(stamps(t)[::every], (celsius + noise)[::every])


def test_the_polynomials_and_their_degrees_are_found():
    t, element = ramps()
    found = temperature_curve(recording(t, element), read(t, element))
    assert found.gyro.fit.degree.tolist() == [1, 0, 2]
    assert found.accel.fit.degree.tolist() == [1, 1, 1]
    assert found.warnings == ()
    at = np.linspace(6.0, 44.0, 50)
    gyro = found.calibration.gyro
    expected = polyval(at - 25.0, GYRO).T
    assert np.abs(gyro.bias_at(at) - expected).max() < 6e-5
    change = found.calibration.accel.temperature.change(at)
    reference = gyro.temperature.reference_c
    expected = (polyval(at - 25.0, ACCEL) - polyval([reference - 25.0], ACCEL)).T
    assert np.abs(change - expected).max() < 2e-3


def test_the_errors_of_the_bias_are_within_their_standard_deviations():
    t, element = ramps(minutes=10.0)
    scores = []
    for seed in range(20):
        found = temperature_curve(recording(t, element, seed=seed), read(t, element))
        gyro = found.calibration.gyro
        truth = polyval(gyro.temperature.reference_c - 25.0, GYRO)
        scores.append((gyro.bias - truth) / gyro.sigma_bias)
    assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5


def test_applied_to_the_recording_the_bias_is_gone():
    t, element = ramps()
    s = recording(t, element)
    readings = read(t, lagging(t, element, 25.0))
    found = temperature_curve(s, readings)
    out = found.calibration.apply(s, temperature=readings)
    rows = t > 60.0
    early, late = out.angular_velocity[rows & (t < 600)], out.angular_velocity[rows & (t > 600)]
    assert np.abs(early.mean(axis=0)).max() < 4e-5
    assert np.abs(late.mean(axis=0)).max() < 4e-5
    assert np.abs(np.ptp(s.angular_velocity[:, 0])) > 8e-4
    drift = np.diff([part.mean(axis=0) for part in np.split(out.specific_force, 6)], axis=0)
    assert np.abs(drift).max() < 2e-3


@pytest.mark.parametrize("lag_s", [8.0, 20.0, 45.0])
def test_the_lag_of_the_temperature_sensor_is_fitted_within_ten_percent(lag_s):
    t, element = ramps()
    rng = np.random.default_rng(3)
    s = recording(t, element, noise=(1e-4, 2e-3))
    found = temperature_curve(s, read(t, lagging(t, element, lag_s), rng))
    assert found.lag_s == pytest.approx(lag_s, rel=0.1)
    assert found.calibration.gyro.temperature.lag_s == found.lag_s
    assert found.calibration.accel.temperature.lag_s == found.lag_s


def test_no_lag_is_invented():
    t, element = ramps()
    rng = np.random.default_rng(5)
    assert temperature_curve(recording(t, element), read(t, element, rng)).lag_s == 0.0


def test_hysteresis_is_reported_and_half_of_it_is_added():
    t, element = ramps(cycles=2, minutes=12.0)
    s = recording(t, element)
    band = np.array([1e-3, 0.0, 2e-3])  # rising above falling, the same at all temperatures
    rises = np.gradient(element) > 0
    offset = np.where(rises[:, None], 0.5, -0.5) * band
    found = temperature_curve(
        s.replace(angular_velocity=s.angular_velocity + offset), read(t, element)
    )
    np.testing.assert_allclose(found.gyro.hysteresis, band, atol=1e-4)
    plain = found.gyro.fit.left_out_rms
    np.testing.assert_allclose(
        found.calibration.gyro.temperature.sigma, plain + 0.5 * found.gyro.hysteresis
    )
    assert np.nanmax(found.gyro.rising[:, 2] - found.gyro.falling[:, 2]) > 1.9e-3


def test_outside_the_measured_range_the_bias_is_held():
    t, element = ramps()
    gyro = temperature_curve(recording(t, element), read(t, element)).calibration.gyro
    edges = gyro.temperature.lowest_c, gyro.temperature.highest_c
    assert edges == pytest.approx((5.0, 45.0), abs=0.6)
    np.testing.assert_array_equal(gyro.bias_at([-30.0, 80.0]), gyro.bias_at(edges))


def test_every_degree_of_temperature_counts_the_same():
    # a long time at 5 deg C must not pull the line away from the ramp
    t, element = ramps()
    parked = np.concatenate([element, np.full(1800 * RATE_HZ, element[-1])])
    t = np.arange(len(parked)) / RATE_HZ
    s = recording(t, parked)
    wrong = np.zeros((len(t), 3))
    wrong[len(element) :, 0] = 2e-3  # a drift while temperature is constant
    found = temperature_curve(
        s.replace(angular_velocity=s.angular_velocity + wrong), read(t, parked)
    )
    off = found.calibration.gyro.bias_at([30.0]) - polyval(np.array([5.0]), GYRO).T
    assert abs(off[0, 0]) < 3e-4


def test_the_start_is_left_out():
    t, element = ramps()
    s = recording(t, element)
    wrong = np.where(t[:, None] < 55.0, 0.1, 0.0)
    found = temperature_curve(
        s.replace(angular_velocity=s.angular_velocity + wrong), read(t, element)
    )
    assert np.abs(found.calibration.gyro.bias_at([10.0]) - polyval([-15.0], GYRO).T).max() < 1e-4


def test_motion_is_left_out_and_counted():
    t, element = ramps()
    s = recording(t, element)
    rng = np.random.default_rng(1)
    moves = ((t > 300) & (t < 400))[:, None]
    shaken = s.replace(
        angular_velocity=s.angular_velocity + moves * rng.normal(size=(len(t), 3)),
        specific_force=s.specific_force + moves * rng.normal(size=(len(t), 3)),
    )
    found = temperature_curve(shaken, read(t, element))
    assert found.moving_s == pytest.approx(100.0, abs=2.0)
    assert "the sensor moved in" in found.warnings[0]
    assert found.gyro.fit.degree.tolist() == [1, 0, 2]


def test_a_turn_leaves_the_accelerometer_out():
    t, element = ramps()
    s = recording(t, element)
    force = s.specific_force.copy()
    force[len(t) // 2 :, [0, 2]] = force[len(t) // 2 :, [2, 0]]
    found = temperature_curve(s.replace(specific_force=force), read(t, element))
    assert found.accel is None
    assert found.calibration.accel.temperature is None
    assert "attitude changed" in found.warnings[0]


def test_one_direction_is_a_warning():
    t, element = ramps()
    half = t < 590.0
    found = temperature_curve(recording(t[half], element[half]), read(t[half], element[half]))
    assert np.isnan(found.gyro.hysteresis).all()
    assert found.lag_s == 0.0
    assert "one direction only" in found.warnings[0]
    assert found.to_dict()["gyro"]["hysteresis"] == [None] * 3


def test_a_simulated_sensor_with_noise_and_self_heating(tmp_path):
    plain = Temperature(25.0, bias=((1e-4,), (-5e-5, 2e-6), ()))
    gyro = TriadSpec(
        noise_density=8e-5, bias_instability=2e-5, bias=(0.01, -0.02, 0.005), temperature=plain
    )
    spec = ImuSpec(rate_hz=RATE_HZ, gyro=gyro, accel=TriadSpec(noise_density=1e-3))
    profile = TemperatureProfile(
        temperature_table([0.0, 900.0, 1800.0], [0.0, 40.0, 5.0]), self_heating_K=5.0
    )
    run = simulate("static", spec, 1800.0, temperature=profile, seed=4)
    s = run.samples.series()
    readings = TemperatureReadings(s.t_ns, run.samples.temperature_degC)
    found = temperature_curve(s, readings)
    at = np.array([10.0, 20.0, 40.0])
    truth = np.array([0.01, -0.02, 0.005]) + np.stack(
        [1e-4 * (at - 25.0), -5e-5 * (at - 25.0) + 2e-6 * (at - 25.0) ** 2, 0.0 * at], axis=1
    )
    np.testing.assert_allclose(found.calibration.gyro.bias_at(at), truth, atol=8e-5)
    path = tmp_path / "warm.toml"
    save_calibration(found.calibration, path)
    assert load_calibration(path) == found.calibration


def test_the_report_has_the_figures():
    t, element = ramps()
    found = temperature_curve(recording(t, element), read(t, element))
    text = "\n".join(found.lines())
    for part in ("5 to 45 deg C", "60 s of warm-up", "lag of the temperature sensor: 0.0 s"):
        assert part in text
    assert "gyro: change" in text
    assert "accelerometer: change" in text
    residuals = found.calibration.provenance.residuals
    assert residuals["gyro_left_out_rad_s"] < 1e-4
    assert found.to_dict()["accel"]["degree"] == [1, 1, 1]


@pytest.mark.parametrize("warm_up_s", [0.0, 60.0, 1e5])
def test_constant_temperature_is_refused(warm_up_s):
    t, element = ramps(low=20.0, high=21.5)
    with pytest.raises(ValueRangeError, match="at least 3 bins of 1 K"):
        temperature_curve(recording(t, element), read(t, element), warm_up_s=warm_up_s)


def test_only_the_time_with_temperatures_counts():
    t, element = ramps()
    s = recording(t, element)
    readings = read(t, element)
    half = TemperatureReadings(readings.t_ns[:600], readings.celsius[:600])
    found = temperature_curve(s, half)
    assert found.gyro.fit.degree.tolist() == [1, 0, 2]
    assert np.abs(found.calibration.gyro.bias_at([20.0]) - polyval([-5.0], GYRO).T).max() < 1e-4
    elsewhere = TemperatureReadings(readings.t_ns + 5000 * S, readings.celsius)
    with pytest.raises(ValueRangeError, match="got some 5000 to 6199 s after its start"):
        temperature_curve(s, elsewhere)


def test_bad_input_is_named():
    t, element = ramps()
    s = recording(t, element)
    with pytest.raises(ValueRangeError, match="warm_up_s of at least 0, got -1"):
        temperature_curve(s, read(t, element), warm_up_s=-1)
    with pytest.raises(TypeError, match="list"):
        temperature_curve([1.0], read(t, element))
    empty = replace(s[:0])
    with pytest.raises(ValueRangeError, match="got none in 0 s"):
        temperature_curve(empty, read(t, element))
