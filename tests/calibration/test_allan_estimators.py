"""Values of the Allan-type deviations, against their definitions and other programs."""

from __future__ import annotations

import json

import allantools
import numpy as np
import pytest

from strapdown._kernels.compilation import compiling_first
from strapdown.calibration import DeviationKind, allan
from strapdown.calibration.allan_deviation import differences, kernels
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

GOLDEN = {  # NIST SP 1065, 1000-point series, averaging factors 1, 10 and 100
    "adev": (2.922319e-1, 9.965736e-2, 3.897804e-2),
    "oadev": (2.922319e-1, 9.159953e-2, 3.241343e-2),
    "mdev": (2.922319e-1, 6.172376e-2, 2.170921e-2),
    "tdev": (1.687202e-1, 3.563623e-1, 1.253382),
    "hdev": (2.943883e-1, 1.052754e-1, 3.910861e-2),
    "ohdev": (2.943883e-1, 9.581083e-2, 3.237638e-2),
    "totdev": (2.922319e-1, 9.134743e-2, 3.406530e-2),
}


def handbook_series() -> np.ndarray:
    """Return the 1000 numbers of NIST SP 1065."""
    n, values = 1234567890, []
    for _ in range(1000):
        values.append(n / 2147483647)
        n = 16807 * n % 2147483647
    return np.array(values)


@pytest.mark.parametrize("kind", GOLDEN)
def test_the_series_of_the_handbook_has_its_printed_deviations(kind):
    result = allan(handbook_series(), rate_hz=1.0, kind=kind, taus=[1.0, 10.0, 100.0])
    assert [f"{value:.6e}" for value in result.deviation[:, 0]] == [
        f"{value:.6e}" for value in GOLDEN[kind]
    ]


def by_definition(kind: str, y: np.ndarray, m: int, t0: float) -> tuple[float, int]:
    """Return the deviation and its number of terms, by loops over the definition."""
    x, tau = [0.0], m * t0
    for value in y:
        x.append(x[-1] + t0 * value)
    points, total, terms = len(x), 0.0, 0
    if kind in ("mdev", "tdev"):
        for j in range(points - 3 * m + 1):
            inner = sum(x[i + 2 * m] - 2 * x[i + m] + x[i] for i in range(j, j + m))
            total, terms = total + (inner / m) ** 2, terms + 1
    elif kind == "totdev":
        last = points - 1
        for i in range(1, last):
            before = x[i - m] if i >= m else 2 * x[0] - x[m - i]
            after = x[i + m] if i + m <= last else 2 * x[last] - x[2 * last - i - m]
            total, terms = total + (before - 2 * x[i] + after) ** 2, terms + 1
    else:
        stride = m if kind in ("adev", "hdev") else 1
        order = 3 if kind in ("hdev", "ohdev") else 2
        for i in range(0, points - order * m, stride):
            if order == 2:
                step = x[i + 2 * m] - 2 * x[i + m] + x[i]
            else:
                step = x[i + 3 * m] - 3 * x[i + 2 * m] + 3 * x[i + m] - x[i]
            total, terms = total + step**2, terms + 1
    scale = 6.0 if kind in ("hdev", "ohdev") else 2.0
    deviation = np.sqrt(total / (scale * tau**2 * terms))
    return (deviation * tau / np.sqrt(3.0) if kind == "tdev" else deviation), terms


@pytest.mark.parametrize("kind", DeviationKind)
@pytest.mark.parametrize("count", [7, 60, 301])
def test_every_estimator_is_its_definition(kind, count):
    y = np.random.default_rng(count).standard_normal(count).cumsum() + 3.0
    result = allan(y, rate_hz=8.0, kind=kind, taus=np.arange(1, count // 2 + 1) / 8.0)
    assert len(result.tau_s) >= (count + 1) // 3 - 1
    for t, m in enumerate(result.cluster_size.tolist()):
        expected, terms = by_definition(kind, y, m, 0.125)
        assert result.terms[t] == terms
        assert result.deviation[t, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", DeviationKind)
def test_a_long_series_has_the_deviations_of_allantools(kind):
    y = np.random.default_rng(2).standard_normal(30_000)
    result = allan(y, rate_hz=50.0, kind=kind, taus="octave")
    estimate = getattr(allantools, kind)
    expected = estimate(y, rate=50.0, data_type="freq", taus=result.tau_s)[1]
    np.testing.assert_allclose(result.deviation[:, 0], expected, rtol=1e-12)


def test_a_real_log_has_the_deviations_of_another_program(data_dir):
    with np.load(data_dir / "imu_static" / "adis_16405_imu1.npz") as log:
        gyro = log["gyr_lsb"] * (log["gyr_scale_dps"] * RAD_PER_DEG)
        accel = log["acc_lsb"] * (log["acc_scale_g"] * STANDARD_GRAVITY)
    golden = json.loads((data_dir / "imu_static" / "allan_golden.json").read_text())
    taus, units = golden["taus_s"], {"gyr": RAD_PER_DEG, "acc": STANDARD_GRAVITY}
    values = np.concatenate([gyro, accel], axis=1)
    names = [f"{triad}_{axis}" for triad in units for axis in "xyz"]
    for kind in ("oadev", "ohdev"):
        found = allan(values, rate_hz=100.0, kind=kind, taus=taus).deviation
        for name, column in zip(names, found.T, strict=True):
            expected = np.array(golden[name][kind]) * units[name[:3]]
            np.testing.assert_allclose(column, expected, rtol=1e-8)
    for kind in ("mdev", "tdev"):
        found = allan(values[:200_000, ::3], rate_hz=100.0, kind=kind, taus=taus[:5]).deviation
        for name, column in zip(("gyr_x", "acc_x"), found.T, strict=True):
            expected = np.array(golden[name][kind]) * units[name[:3]]
            np.testing.assert_allclose(column, expected, rtol=1e-8)


def test_white_noise_falls_and_a_random_walk_rises_with_the_root_of_the_cluster_time():
    rng = np.random.default_rng(11)
    n, k, shape = 0.02, 0.003, (10_000, 200)
    white = n * np.sqrt(100.0) * rng.standard_normal(shape)
    walk = (k / np.sqrt(100.0)) * rng.standard_normal(shape).cumsum(axis=0)
    for values, level, slope in ((white, n, -0.5), (walk, k / np.sqrt(3.0), 0.5)):
        result = allan(values, rate_hz=100.0, taus="octave", confidence=0.95)
        expected = (level * result.tau_s**slope)[:, None]
        inside = (result.lower < expected) & (expected < result.upper)
        # below 0.1 s the steps of a sampled walk show
        assert inside[result.tau_s > 0.1].mean() == pytest.approx(0.95, abs=0.02)


def test_a_ramp_has_the_deviation_of_a_rate_ramp_and_none_by_hadamard():
    ramp = 0.05 * np.arange(5000) / 10.0
    result = allan(ramp, rate_hz=10.0, taus="octave")
    np.testing.assert_allclose(result.deviation[:, 0], 0.05 * result.tau_s / np.sqrt(2), rtol=1e-9)
    for kind in ("hdev", "ohdev"):
        assert np.all(allan(ramp, rate_hz=10.0, kind=kind).deviation < 1e-9 * 0.05)


@pytest.mark.parametrize("kind", ["oadev", "mdev", "ohdev", "totdev"])
@pytest.mark.by_default("oadev", "mdev")
def test_threads_blocks_other_cluster_times_and_machine_code_do_not_change_a_bit(kind, monkeypatch):
    y = np.random.default_rng(4).standard_normal((70_001, 2))
    first = allan(y, rate_hz=10.0, kind=kind)
    for threads, block, per_task in ((1, 1, 1), (2, 3, 5), (5, 64, 7)):
        monkeypatch.setattr(differences, "_processors", lambda threads=threads: threads)
        monkeypatch.setattr(differences, "BLOCK", block)
        monkeypatch.setattr(differences, "_UNITS_PER_TASK", per_task)
        assert np.array_equal(allan(y, rate_hz=10.0, kind=kind).deviation, first.deviation)
        with compiling_first():
            compiled = allan(y, rate_hz=10.0, kind=kind)
        assert np.array_equal(compiled.deviation, first.deviation)
    few = allan(y, rate_hz=10.0, kind=kind, taus=first.tau_s[7::20])
    assert np.array_equal(few.deviation, first.deviation[7::20])


def test_the_kernels_in_plain_python_have_the_bits_of_whole_arrays():
    x = np.random.default_rng(9).standard_normal(5000).cumsum()
    lags = np.array([1, 37, 1200])
    lanes = np.empty(2 * kernels.LANES)
    for order in (2, 3):
        spans = differences.Spans(np.array([0, 5, 2]), lags, len(x) - 5 - order * lags)
        sums = np.zeros((3, 2))
        kernels.square_sums(x, *spans, order, 0, 2, lanes, sums)
        expected = differences.square_sums(x, spans, order, work=0)
        assert np.array_equal([row[row > 0].sum() for row in sums], expected)
    counts, sums = len(x) - 3 * lags + 1, np.zeros((3, 2))
    kernels.window_square_sums(x, lags, counts, 0, 3, lanes, sums)
    expected = differences.window_square_sums(x, lags, counts, work=0)
    assert np.array_equal([row[row > 0].sum() for row in sums], expected)
