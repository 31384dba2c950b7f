"""Vibration of recordings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from strapdown.detection import BANDS_HZ, vibration_metrics
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries

G = 9.80665
RATE_HZ = 1600.0


def series_of(force, rate=None, rate_hz=RATE_HZ):
    t_ns = np.round(np.arange(len(force)) * 1e9 / rate_hz).astype(np.int64)
    rate = np.zeros_like(force) if rate is None else rate
    return ImuSeries(t_ns, rate, force + np.array([0.0, 0.0, G]))


def sine(frequency, amplitude, seconds=20.0, axis=0):
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    force = np.zeros((len(t), 3))
    force[:, axis] = amplitude * np.sin(2 * np.pi * frequency * t)
    return force


@pytest.mark.parametrize(
    ("band", "frequency"), list(enumerate([1.0, 5.0, 20.0, 50.0, 120.0, 333.3, 700.0]))
)
@pytest.mark.by_default("0-1.0", "3-50.0", "6-700.0")
def test_a_sine_is_in_its_band_and_nowhere_else(band, frequency):
    found = vibration_metrics(series_of(sine(frequency, 2.0, axis=1))).accel
    assert found.band_rms[band, 1] == pytest.approx(2.0 / np.sqrt(2.0), rel=0.01)
    others = np.delete(found.band_rms[:, 1], band)
    assert np.linalg.norm(others) < 0.01 * 2.0 / np.sqrt(2.0)
    np.testing.assert_array_equal(found.band_rms[:, 0], 0.0)


def test_bands_add_up_to_the_variance():
    rng = np.random.default_rng(1)
    force = rng.normal(size=(40_000, 3)) + np.cumsum(rng.normal(size=(40_000, 3)), axis=0) * 0.01
    rate = rng.normal(size=(40_000, 3))
    found = vibration_metrics(series_of(force, rate))
    for values, sensor in ((force, found.accel), (rate, found.gyro)):
        np.testing.assert_allclose((sensor.band_rms**2).sum(axis=0), values.var(axis=0), rtol=0.01)
    # White noise is spread evenly: a band has its share of 800 Hz.
    widths = np.diff([*BANDS_HZ[:-1], 800.0]) / 800.0
    np.testing.assert_allclose(found.gyro.band_rms[3:] ** 2, widths[3:, None] * [1, 1, 1], rtol=0.1)


def test_the_recursion_is_that_of_px4():
    rng = np.random.default_rng(2)
    force, rate = rng.normal(size=(2, 500, 3)).astype(np.float32).astype(np.float64)
    found = vibration_metrics(series_of(force, rate))
    metric = np.float32(0.0)
    for before, now in zip(rate[:-1].astype(np.float32), rate[1:].astype(np.float32), strict=True):
        x, y, z = now - before
        step = np.float32(np.sqrt(float(x * x + y * y + z * z)))
        metric = np.float32(0.99) * metric + np.float32(0.01) * step
    assert found.gyro.px4_metric[-1] == pytest.approx(metric, rel=1e-6)
    assert found.gyro.px4_metric[0] == 0.0


def test_the_level_of_ardupilot_is_the_rms_above_5_hz():
    found = vibration_metrics(series_of(sine(100.0, 30.0))).accel
    # The low-pass at 5 Hz leaves a twentieth of it, a quarter of a turn late.
    gain = 2 * np.pi * 5.0 / RATE_HZ / (1 + 2 * np.pi * 5.0 / RATE_HZ)
    z = np.exp(-2j * np.pi * 100.0 / RATE_HZ)
    high = abs(1.0 - gain / (1.0 - (1.0 - gain) * z))
    settled = found.ardupilot[8000:, 0]
    assert np.sqrt((settled**2).mean()) == pytest.approx(high * 30.0 / np.sqrt(2.0), rel=0.01)
    slow = vibration_metrics(series_of(sine(0.5, 30.0))).accel
    assert slow.ardupilot[8000:, 0].max() < 0.15 * 30.0


def test_windows_tell_a_sine_from_noise_and_name_the_worst_second():
    rng = np.random.default_rng(3)
    force = sine(100.0, 1.0) + 0.001 * rng.normal(size=(32_000, 3))
    force[16_000:17_600, 0] *= 8.0
    bits = np.zeros(32_000, np.uint8)
    bits[16_100:16_110] = 1
    found = vibration_metrics(series_of(force).replace(accel_clipping=bits)).accel
    windows = found.windows
    assert len(windows.t_ns) == 20
    assert windows.rms[0, 0] == pytest.approx(1 / np.sqrt(2), rel=0.01)
    assert windows.crest_factor[0, 0] == pytest.approx(np.sqrt(2), rel=0.02)
    assert windows.kurtosis[0, 0] == pytest.approx(1.5, rel=0.02)
    assert windows.kurtosis[0, 1] == pytest.approx(3.0, abs=0.5)
    assert windows.p99[0, 0] == pytest.approx(1.0, abs=0.01)
    np.testing.assert_array_equal(np.flatnonzero(windows.clipped), [10])
    worst = found.spread["rms"]
    assert worst.worst_t_ns == 10_000_000_000
    assert worst.worst == pytest.approx(8 / np.sqrt(2), rel=0.01)
    assert worst.p50 == pytest.approx(1 / np.sqrt(2), rel=0.01)


def test_lines_are_found_between_bins_and_grouped_with_their_harmonics():
    rng = np.random.default_rng(4)
    force = 0.5 * rng.normal(size=(32_000, 3))
    for frequency, amplitude in ((87.31, 2.0), (174.62, 1.0), (261.93, 0.7), (401.1, 1.5)):
        force += sine(frequency, amplitude)
    lines = vibration_metrics(series_of(force)).accel.lines
    assert [line.harmonic for line in lines] == [1, 2, 3, 1]
    np.testing.assert_allclose(
        [line.frequency_hz for line in lines], [87.31, 174.62, 261.93, 401.1], atol=0.05
    )
    assert {round(line.fundamental_hz, 1) for line in lines} == {87.3, 401.1}
    assert lines[0].rms == pytest.approx(2.0 / np.sqrt(2), rel=0.05)


def test_energy_at_the_top_of_the_band_may_be_aliased():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(32_000, 3))
    assert not vibration_metrics(series_of(noise)).accel.may_be_aliased
    assert vibration_metrics(series_of(noise + sine(720.0, 3.0))).accel.may_be_aliased
    assert not vibration_metrics(series_of(noise + sine(300.0, 3.0))).accel.may_be_aliased


def test_coning_shows_the_drift_of_integration_without_a_correction():
    """A sensor on a cone of 1 deg at 20 Hz, sampled at 200 Hz, drifts by what is not corrected."""
    rate_hz, frequency, angle = 200.0, 20.0, np.radians(1.0)
    t = np.arange(4000) / rate_hz
    speed = 2 * np.pi * frequency
    rate = np.zeros((len(t), 3))
    rate[:, 0] = angle * speed * np.cos(speed * t)
    rate[:, 1] = angle * speed * np.sin(speed * t)
    force = np.zeros((len(t), 3))
    found = vibration_metrics(series_of(force, rate, rate_hz))
    each = (angle * speed / rate_hz) ** 2 * np.sin(speed / rate_hz) / 12.0
    np.testing.assert_allclose(found.coning_rad_s[1:-1], each * rate_hz, rtol=0.01)
    assert found.coning.p50 == pytest.approx(each * rate_hz, rel=0.01)


def test_gaps_and_nan_are_left_out():
    rng = np.random.default_rng(6)
    series = series_of(rng.normal(size=(16_000, 3)))
    force = series.specific_force.copy()
    force[100] = np.nan
    holed = series.replace(specific_force=force)[np.r_[0:4000, 4100:16_000]]
    found = vibration_metrics(holed)
    assert found.stretch_s == pytest.approx(11_899 / RATE_HZ, abs=0.01)
    assert len(found.accel.px4_metric) == 15_899
    assert np.isfinite(found.accel.band_rms).all()
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("count", [0, 1, 15])
def test_too_few_samples_are_refused(count):
    with pytest.raises(ValueRangeError, match="16 samples"):
        vibration_metrics(series_of(np.zeros((count, 3))))


def test_a_window_has_a_length():
    with pytest.raises(ValueRangeError, match="window_s"):
        vibration_metrics(series_of(np.zeros((100, 3))), window_s=0.0)


@pytest.mark.data
def test_bands_of_recordings_add_up(recordings):
    for name in ("broad 07", "broad 27"):
        series = recordings[name]
        found = vibration_metrics(series)
        np.testing.assert_allclose(
            (found.accel.band_rms**2).sum(axis=0), series.specific_force.var(axis=0), rtol=0.01
        )
