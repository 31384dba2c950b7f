"""Vibration: tones by their formula, noise by its spectrum, and nothing that repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, signal, stats

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.sensors.noise import NoiseKey
from strapdown.sensors.vibration import Line, RotorSpeed, Spectrum, Vibration, VibrationSignal

KEY = NoiseKey(5, 2)
RATE = 1000.0
FLAT = Spectrum([0.0, 500.0], [2e-3, 2e-3])  # white up to half the rate: variance 1
BAND = Spectrum([50.0, 100.0, 150.0], [[1e-2, 0.0, 4e-3], [2e-2, 1e-3, 4e-3], [1e-2, 0.0, 4e-3]])


def noise_of(spectrum, count, *, start=0, block=2048):
    shaking = VibrationSignal(Vibration(spectrum=spectrum, block=block), RATE, KEY, compiled=True)
    angular, linear = shaking.at(start, np.arange(start, start + count) / RATE)
    assert not angular.any()
    return linear


# ---------------------------------------------------------------------------------- lines


def test_a_line_is_a_sine_on_each_axis():
    line = Line([1.0, -2.0, 0.0], 120.0, [0.1, 0.2, 0.3])
    t_s = np.arange(1000) / RATE + 7.0
    angular, linear = VibrationSignal(Vibration(lines=(line,)), RATE, KEY).at(7000, t_s)
    angle = 2.0 * math.pi * 120.0 * t_s
    expected = np.stack([np.sin(angle + 0.1), -2.0 * np.sin(angle + 0.2), 0.0 * t_s], axis=-1)
    np.testing.assert_allclose(linear, expected, rtol=0.0, atol=1e-9)
    assert not angular.any()


def test_angular_lines_shake_the_angular_velocity():
    line = Line([0.0, 0.5, 0.0], 10.0, math.pi / 2.0)
    shaking = VibrationSignal(Vibration(angular_lines=(line, line)), RATE, KEY)
    angular, linear = shaking.at(0, np.array([0.0, 0.05, 0.1]))
    np.testing.assert_allclose(angular, [[0, 1, 0], [0, -1, 0], [0, 1, 0]], atol=1e-12)
    assert not linear.any()


def test_a_line_keeps_its_phase_after_a_year():
    line = Line([1.0, 0.0, 0.0], 50.0, 0.0)
    t_s = np.array([31_536_000.0, 31_536_000.005])
    _, linear = VibrationSignal(Vibration(lines=(line,)), RATE, KEY).at(0, t_s)
    np.testing.assert_allclose(linear[:, 0], [0.0, 1.0], atol=1e-6)


def test_drawn_phases_are_uniform_and_independent():
    still, lines = np.array([0.0, 0.25]), (Line([1.0] * 3, 1.0), Line([1.0] * 3, 1.0))
    phases = []
    for sensor in range(400):
        shaking = VibrationSignal(Vibration(lines[:1], None, lines), RATE, NoiseKey(1, sensor))
        angular, linear = shaking.at(0, still)
        phases.append(np.arctan2(linear[0], linear[1]))  # sine at 0 and a quarter period later
        assert np.abs(angular).max() > 0.0
    phases = np.array(phases) % (2.0 * math.pi)
    for axis in range(3):
        assert stats.kstest(phases[:, axis], stats.uniform(0, 2 * math.pi).cdf).pvalue > 1e-3
        other = phases[:, (axis + 1) % 3]
        assert abs(np.mean(np.exp(1j * (phases[:, axis] - other)))) < 4.0 / math.sqrt(400)


def test_another_line_leaves_the_drawn_phases_as_they_are():
    line, t_s = Line([1.0, 2.0, 3.0], 33.0), np.arange(50) / RATE
    _, alone = VibrationSignal(Vibration((line,)), RATE, KEY).at(0, t_s)
    more = Vibration((line, Line([0.0] * 3, 1.0)), None, (Line([1.0] * 3, 5.0),))
    _, together = VibrationSignal(more, RATE, KEY).at(0, t_s)
    assert together.tolist() == alone.tolist()


def test_rotor_cycles_are_the_integral_of_the_speed():
    rotor = RotorSpeed([1.0, 3.0, 4.0, 9.0], [20.0, 80.0, 80.0, 0.0])

    def speed(t_s):
        return np.interp(t_s, rotor.t_s, rotor.frequency_hz)

    t_s = np.array([-2.0, 0.5, 1.0, 1.7, 3.0, 3.5, 4.0, 8.0, 9.0, 30.0])
    expected = [integrate.quad(speed, 1.0, t, points=[3.0, 4.0, 9.0])[0] for t in t_s]
    np.testing.assert_allclose(rotor(t_s), expected, rtol=1e-8, atol=1e-7)
    assert rotor(np.array([3.0, 4.0, 9.0, 30.0])).tolist() == [100.0, 180.0, 380.0, 380.0]


def test_a_line_follows_the_rotor():
    t_s = np.arange(4000) / RATE
    chirp = 10.0 * t_s + 0.5 * 20.0 * t_s**2  # 10 Hz, and 20 Hz/s
    expected = np.sin(2.0 * math.pi * chirp + 0.4)
    rotor = RotorSpeed([0.0, 4.0], [10.0, 90.0])
    for frequency in (rotor, lambda t: 10.0 * t + 10.0 * t**2):
        line = Line([1.0, 0.0, 0.0], frequency, 0.4)
        _, linear = VibrationSignal(Vibration((line,)), RATE, KEY).at(0, t_s)
        np.testing.assert_allclose(linear[:, 0], expected, rtol=0.0, atol=1e-9)


# ---------------------------------------------------------------------------------- noise


def test_the_noise_has_the_level_of_its_spectrum():
    n = 1 << 20
    noise = noise_of(BAND, n)
    for axis, (edge, middle) in enumerate([(1e-2, 2e-2), (0.0, 1e-3), (4e-3, 4e-3)]):
        frequency, density = signal.welch(noise[:, axis], RATE, nperseg=2000)
        for low, high in ((55.0, 95.0), (80.0, 120.0)):
            inside = (low <= frequency) & (frequency <= high)
            level = np.interp(frequency[inside], [50.0, 100.0, 150.0], [edge, middle, edge])
            assert density[inside].mean() == pytest.approx(level.mean(), rel=0.02)
        outside = (frequency < 40.0) | (frequency > 160.0)
        assert density[outside].max() < 1e-3 * max(edge, middle)
        assert noise[:, axis].var() == pytest.approx(50.0 * (edge + middle), rel=0.02)


def test_the_noise_has_no_period():
    n = 1 << 18
    for spectrum in (FLAT, BAND):
        noise = noise_of(spectrum, n)
        # the correlation of band noise spreads over 1/(2 T) sum(rho^2), Bartlett's formula
        for axis in (0, 2):
            x = noise[:, axis] / noise[:, axis].std()
            power = np.abs(np.fft.rfft(x, 2 * n)) ** 2
            correlation = np.fft.irfft(power)[:n] / n
            spread = math.sqrt(1.0 + 2.0 * np.sum(correlation[1:2048] ** 2))
            for lag in (1024, 2048, 4096, 6144, 8192, 16384, 65536):
                assert abs(correlation[lag]) < 4.0 / math.sqrt(n) * spread


def test_white_noise_is_normal_and_white():
    n = 1 << 19
    noise = noise_of(FLAT, n)
    for axis in range(3):
        x = noise[:, axis]
        assert abs(x.mean()) < 4.0 / math.sqrt(n)
        assert x.var() == pytest.approx(1.0, abs=4.0 * math.sqrt(2.0 / n))
        assert stats.kurtosis(x) == pytest.approx(0.0, abs=4.0 * math.sqrt(24.0 / n))
        assert stats.kstest(x[:4000], stats.norm.cdf).pvalue > 1e-3
        for lag in (1, 2, 3, 1023, 1024):
            assert abs(np.mean(x[lag:] * x[:-lag])) < 4.0 / math.sqrt(n)
        assert abs(np.mean(x * noise[:, (axis + 1) % 3])) < 4.0 / math.sqrt(n)


def test_the_noise_is_stationary_within_its_blocks():
    n = 2000  # 3 axes each
    blocks = noise_of(FLAT, n * 16, block=32).reshape(n, 16, 3)
    variance = np.mean(blocks**2, axis=(0, 2))
    assert np.abs(variance - 1.0).max() < 4.5 * math.sqrt(2.0 / (3 * n))
    neighbours = np.mean(blocks[:, 1:] * blocks[:, :-1], axis=(0, 2))
    assert np.abs(neighbours).max() < 4.5 / math.sqrt(3 * n)


def test_a_peak_between_bins_keeps_its_power():
    # 0.2 Hz wide, in a bin of 7.8 Hz: 1500 independent squares in the three axes
    peak = Spectrum([101.0, 101.1, 101.2], [0.0, 10.0, 0.0])
    noise = noise_of(peak, 1 << 16, block=128)
    assert noise.var() == pytest.approx(1.0, rel=4.0 * math.sqrt(2.0 / 1500))


def test_a_steep_spectrum_has_finite_noise():
    steep = Spectrum([0.0, 0.1, 0.2, 499.0], [0.0, 1e12, 0.0, 1e-12])
    assert np.isfinite(noise_of(steep, 3000)).all()


def test_angular_noise_and_linear_noise_are_independent():
    shaking = VibrationSignal(
        Vibration(spectrum=FLAT, angular_spectrum=FLAT), RATE, KEY, compiled=True
    )
    n = 50_000
    angular, linear = shaking.at(0, np.zeros(n))
    assert angular.var() == pytest.approx(1.0, rel=0.02)
    assert np.abs(angular.T @ linear / n).max() < 4.0 / math.sqrt(n)


def test_a_spectrum_above_half_the_rate_is_refused():
    VibrationSignal(Vibration(spectrum=BAND), 300.0, KEY)
    for vibration in (Vibration(spectrum=BAND), Vibration(angular_spectrum=BAND)):
        with pytest.raises(ValueRangeError, match=r"highest frequency, 150.0 Hz, got 299.0 Hz"):
            VibrationSignal(vibration, 299.0, KEY)


# ---------------------------------------------------------------------------------- invariance


@pytest.mark.parametrize(("block", "n"), [(2048, 5000), (30, 500)])
def test_the_same_bits_for_any_chunking(block, n):
    lines = (Line([1.0, 2.0, 3.0], 123.4), Line([0.1] * 3, RotorSpeed([0.0, 2.0], [5.0, 50.0])))
    vibration = Vibration(lines, BAND, lines[::-1], FLAT, block=block)
    t_s = np.arange(n) / RATE
    expected = np.hstack(VibrationSignal(vibration, RATE, KEY).at(0, t_s))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cuts = np.unique(np.concatenate(([0, 1, n], rng.integers(0, n, 25))))
        shaking = VibrationSignal(vibration, RATE, KEY, compiled=seed == 0)
        spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        parts = [np.hstack(shaking.at(a, t_s[a:b])) for a, b in spans]
        assert np.concatenate(parts).tobytes() == expected.tobytes()
    for k in (n - 1, 17, n // 2, 499):
        one = np.hstack(shaking.at(k, t_s[k : k + 1]))
        assert one.tobytes() == expected[k : k + 1].tobytes()


def test_the_noise_far_out_needs_nothing_before_it():
    far = 2048 * 10**9 + 77
    assert noise_of(FLAT, 100, start=far).tolist() == noise_of(FLAT, 200, start=far)[:100].tolist()


def test_tables_are_copied_and_never_changed():
    frequency, density = np.array([10.0, 20.0]), np.array([1.0, 2.0])
    spectrum = Spectrum(frequency, density)
    amplitude, phase = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])
    shaking = VibrationSignal(Vibration((Line(amplitude, 5.0, phase),), spectrum), RATE, KEY)
    t_s = np.arange(10) / RATE
    first = shaking.at(0, t_s)[1]
    for array in (frequency, density, amplitude, phase):
        array[:] = 7.0
    assert spectrum.frequency_hz.tolist() == [10.0, 20.0]
    first[:] = 0.0
    again = shaking.at(0, t_s)[1]
    assert again.any()
    assert t_s.tolist() == (np.arange(10) / RATE).tolist()
    with pytest.raises(ValueError, match="read-only"):
        spectrum.density[0] = 1.0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Line([1.0, 2.0], 5.0), ShapeError, "amplitude"),
        (lambda: Line([[1.0, 2.0, 3.0]], 5.0), ShapeError, r"amplitude of shape \(3,\)"),
        (lambda: Line([1.0, 2.0, math.nan], 5.0), ValueRangeError, "finite amplitude"),
        (lambda: Line([1.0] * 3, -5.0), ValueRangeError, "frequency of 0 or more, got -5.0"),
        (lambda: Line([1.0] * 3, math.nan), ValueRangeError, "frequency of 0 or more"),
        (lambda: Line([1.0] * 3, 5.0, [0.0, 1.0]), ShapeError, "phase_rad"),
        (lambda: RotorSpeed([0.0, 0.0], [1.0, 1.0]), ValueRangeError, "in row 1"),
        (lambda: RotorSpeed([0.0, 1.0], [1.0]), ShapeError, "frequency_hz"),
        (lambda: Spectrum([0.0, 1.0], [1.0]), ShapeError, r"shape \(2,\) or \(2, 3\)"),
        (
            lambda: Spectrum([0.0, 1.0], [1.0, -1.0]),
            ValueRangeError,
            "density of 0 or more, got -1",
        ),
        (lambda: Spectrum([-1.0, 1.0], [1.0, 1.0]), ValueRangeError, "frequency_hz of 0 or more"),
        (lambda: VibrationSignal(Vibration(block=7), RATE, KEY), ValueRangeError, "even block"),
    ],
)
def test_bad_vibrations_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
