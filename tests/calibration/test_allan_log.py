"""Input of Allan-type deviations: series, arrays, gaps, stamps, and warnings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from strapdown import _scratch
from strapdown.calibration import AllanResult, allan
from strapdown.calibration.allan_deviation.estimators import DeviationKind
from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.series import ImuSeries, Increments
from strapdown.units import STANDARD_GRAVITY

STEP_NS = 10_000_000


def rest(count: int, seed: int = 0, *, step_ns: int = STEP_NS) -> ImuSeries:
    """Return a sensor at rest with white noise."""
    gyro, accel = np.random.default_rng(seed).standard_normal((2, count, 3))
    up = np.array([0.0, 0.0, STANDARD_GRAVITY])
    return ImuSeries(np.arange(count) * step_ns, 1e-3 * gyro + 0.01, 1e-2 * accel + up)


def without(series: ImuSeries, *holes: tuple[int, int]) -> ImuSeries:
    """Return a series without some ranges of rows."""
    keep = np.ones(len(series), np.bool_)
    for first, last in holes:
        keep[first:last] = False
    return series[keep]


def words(result: AllanResult) -> str:
    return "\n".join(result.warnings)


def test_a_series_has_six_channels_with_units():
    series = rest(5000)
    result = allan(series)
    assert result.channels == tuple(
        f"{name}.{axis}" for name in ("angular_velocity", "specific_force") for axis in "xyz"
    )
    assert result.units == ("rad/s",) * 3 + ("m/s^2",) * 3
    assert allan(series, kind="tdev").units == ("rad",) * 3 + ("m/s",) * 3
    assert (result.samples, result.pieces, result.coverage) == (5000, 1, 1.0)
    assert result.rate_hz == pytest.approx(100.0)
    assert result.duration_s == pytest.approx(50.0)
    columns = np.concatenate([series.angular_velocity, series.specific_force], axis=1)
    assert np.array_equal(result.deviation, allan(columns, rate_hz=100.0).deviation)
    assert len(allan(columns[:, 0], rate_hz=100.0).channels) == 1


def test_a_sensor_that_is_not_there_has_no_channel():
    series = rest(500).replace(specific_force=np.full((500, 3), np.nan))
    assert allan(series).channels == tuple(f"angular_velocity.{axis}" for axis in "xyz")
    with pytest.raises(ValueRangeError, match="finite samples"):
        allan(series.replace(angular_velocity=np.full((500, 3), np.nan)))


def test_increments_are_mean_rates():
    series = rest(2000)
    dt_ns = np.full(2000, STEP_NS)
    increments = Increments(
        series.t_ns, series.angular_velocity * 0.01, series.specific_force * 0.01, dt_ns, dt_ns
    )
    found, expected = allan(increments), allan(series)
    assert found.channels == expected.channels
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-9)


def test_no_difference_spans_a_gap():
    values = np.random.default_rng(1).standard_normal((3, 500))
    joined = np.concatenate([values[0], [np.nan], values[1], [np.inf, 7.0, np.nan], values[2]])
    result = allan(joined, rate_hz=1.0, taus=[1, 3, 50])
    parts = [allan(part, rate_hz=1.0, taus=[1, 3, 50]) for part in values]
    squares = sum(part.deviation**2 * part.terms[:, None] for part in parts)
    terms = sum(part.terms for part in parts)
    assert np.array_equal(result.terms, terms)
    np.testing.assert_allclose(result.deviation, np.sqrt(squares / terms[:, None]), rtol=1e-13)
    assert result.pieces == 3
    assert result.piece_samples.tolist() == [500] * 3
    assert result.coverage == pytest.approx(1500 / 1504)
    assert "3 samples not finite" in result.notes


def test_cluster_times_longer_than_every_piece_are_left_out():
    values = np.random.default_rng(1).standard_normal(2000)
    values[::100] = np.nan
    assert allan(values, rate_hz=1.0, taus="octave").cluster_size.tolist() == [1, 2, 4, 8, 16, 32]


def test_gaps_of_the_stamps_cut_too():
    series = rest(3000)
    result = allan(without(series, (1000, 1001), (2000, 2400)), taus=[0.01, 0.5])
    assert result.piece_samples.tolist() == [1000, 999, 600]
    assert result.coverage == pytest.approx(2599 / 3000)
    values = series.angular_velocity.copy()
    values[[1000, *range(2000, 2400)]] = np.nan
    expected = allan(values, rate_hz=100.0, taus=[0.01, 0.5])
    assert np.array_equal(result.deviation[:, :3], expected.deviation)


def test_twenty_holes_do_not_bias_the_deviation():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((100_000, 8))
    whole = allan(values, rate_hz=100.0)
    for start in rng.choice(1900, 20, replace=False) * 50 + 100:
        values[start : start + 50] = np.nan  # 1 % in all
    cut = allan(values, rate_hz=100.0, taus=whole.tau_s, confidence=0.95)
    used = np.isin(whole.cluster_size, cut.cluster_size)
    inside = (cut.lower <= whole.deviation[used]) & (whole.deviation[used] <= cut.upper)
    assert inside.mean() > 0.95
    short = cut.tau_s < 1.0
    ratio = (cut.deviation[short] / whole.deviation[used][short]).mean(axis=1)
    np.testing.assert_allclose(ratio, 1.0, atol=0.01)
    assert cut.pieces == 21


def test_single_missing_samples_are_interpolated_on_request():
    t = np.arange(1000) * 0.5
    values = np.stack([t, -t], axis=1)
    gone = values.copy()
    gone[[10, 500]] = np.nan
    gone[700:702] = np.nan
    result = allan(gone, rate_hz=1.0, gap="bridge", taus=[1, 20])
    assert result.piece_samples.tolist() == [700, 298]
    assert "2 single missing samples interpolated" in result.notes
    np.testing.assert_allclose(result.deviation, [[0.5 / np.sqrt(2)] * 2, [10 / np.sqrt(2)] * 2])
    series = without(rest(1000), (10, 11), (500, 501))
    assert allan(series, gap="bridge").piece_samples.tolist() == [1000]
    assert allan(series, gap="bridge").rate_hz == pytest.approx(100.0)


def test_jitter_is_reported_and_large_jitter_warned_of():
    rng = np.random.default_rng(5)
    even = rest(2000)
    for size, fields in ((200_000, "notes"), (800_000, "warnings")):
        series = even.replace(t_ns=even.t_ns + rng.normal(0.0, size, 2000).astype(np.int64))
        result = allan(series)
        assert "jitter of the stamps" in "\n".join(getattr(result, fields))
        assert np.array_equal(result.deviation, allan(even).deviation)


def test_cluster_times_follow_the_clock_of_the_stamps():
    series = rest(2000, step_ns=10_010_000)
    result = allan(series, rate_hz=100.0)
    assert result.rate_hz == pytest.approx(1e9 / 10_010_000)
    assert result.tau_s[0] == pytest.approx(0.01001)
    assert "-999 ppm" in "\n".join(result.notes)


def test_cluster_times_are_those_asked_for():
    values = np.random.default_rng(0).standard_normal(1000)
    octave = allan(values, rate_hz=10.0, taus="octave")
    assert octave.cluster_size.tolist() == [1, 2, 4, 8, 16, 32, 64]
    assert allan(values, rate_hz=10.0, taus="decade").cluster_size.tolist() == [1, 10, 100]
    assert allan(values, rate_hz=10.0, taus="all").cluster_size.tolist() == list(range(1, 112))
    log = allan(values, rate_hz=10.0).cluster_size
    assert log[-1] == 100
    assert len(log) == 30  # 41 to 100, of which short ones coincide
    given = allan(values, rate_hz=10.0, taus=[50.0, 0.1, 0.33, 0.31])
    assert given.cluster_size.tolist() == [1, 3, 500]
    np.testing.assert_allclose(given.tau_s, [0.1, 0.3, 50.0])
    for tau_s in (0.04, 50.1):
        with pytest.raises(ValueRangeError, match=r"from one sample \(0\.1 s\) to half of the log"):
            allan(values, rate_hz=10.0, taus=[tau_s])


def test_short_logs_are_warned_of():
    short, hours = allan(np.zeros(8), rate_hz=1.0), allan(np.zeros(108), rate_hz=0.01)
    assert "1 h that B (bias instability) needs" in words(short)
    assert "3 h that K (random walk) needs" in words(short)
    assert "needs" not in words(hours)


def test_drift_is_warned_of_and_a_random_walk_is_not_taken_for_it():
    rng = np.random.default_rng(8)
    walks = rng.standard_normal((4000, 20)).cumsum(axis=0)
    assert "drift" not in words(allan(walks, rate_hz=1.0))
    warm = walks[:, 0] + 2.0 * np.arange(4000)
    assert "drift" in words(allan(warm, rate_hz=1.0))
    assert "drift" in words(allan(warm, rate_hz=1.0, kind="tdev"))
    assert "drift" not in words(allan(warm, rate_hz=1.0, kind="ohdev"))


def test_one_code_that_dominates_is_warned_of():
    values = np.round(np.random.default_rng(0).normal(0.0, (0.3, 2.0), (1000, 2)))
    (line,) = [line for line in allan(values, rate_hz=1.0).warnings if "one value" in line]
    assert line.startswith("0: 9")


def test_motion_in_a_log_at_rest_is_warned_of():
    series = rest(20_000)
    assert "motion" not in words(allan(series))
    turned = series.angular_velocity.copy()
    turned[9000:9100, 2] += 0.3
    assert "s of motion" in words(allan(series.replace(angular_velocity=turned)))
    shaken = series.specific_force.copy()
    shaken[9000:9500] += np.random.default_rng(1).normal(0.0, 0.1, (500, 3))
    assert "s of motion" in words(allan(series.replace(specific_force=shaken)))
    long = rest(200_000)
    touched = long.specific_force.copy()
    touched[9000:9010] += np.random.default_rng(1).normal(0.0, 0.1, (10, 3))
    result = allan(long.replace(specific_force=touched), taus=[1.0])
    assert "s of motion, by the accelerometer" in "\n".join(result.notes)
    assert "motion" not in words(result)


def test_a_log_without_noise_and_a_very_short_one_have_deviations():
    still = ImuSeries(np.arange(500) * STEP_NS, np.zeros((500, 3)), np.ones((500, 3)))
    result = allan(still)
    assert not result.deviation.any()
    assert not result.upper.any()
    assert allan(rest(20)).cluster_size.tolist() == [1, 2]
    assert allan(rest(3)).terms.tolist() == [2]


def test_a_result_is_json_and_a_table():
    result = allan(rest(900), taus=[0.01, 0.1])
    read = json.loads(json.dumps(result.to_dict()))
    assert read["kind"] == "oadev"
    assert read["tau_s"] == pytest.approx([0.01, 0.1])
    assert np.array(read["deviation"]).shape == (2, 6)
    assert read["noise_types"][0] == ["white"] * 6
    assert repr(result) == "AllanResult(oadev of 6 channels, 2 cluster times, 9 s at 100 Hz)"
    assert "angular_velocity.x [rad/s]" in result._repr_html_()


def test_progress_ends_with_the_whole():
    done = []
    allan(rest(900), progress=done.append)
    assert done == sorted(done)
    assert done[-1] == 1.0


def test_bad_input_is_named():
    values = np.zeros(100)
    with pytest.raises(TypeError, match="rate_hz with an array"):
        allan(values)
    with pytest.raises(ValueRangeError, match="rate_hz above 0, got -1"):
        allan(values, rate_hz=-1.0)
    with pytest.raises(UnknownNameError, match="deviation"):
        allan(values, rate_hz=1.0, kind="oadv")
    with pytest.raises(UnknownNameError, match="grid of cluster times"):
        allan(values, rate_hz=1.0, taus="octaves")
    with pytest.raises(UnknownNameError, match="treatment of gaps"):
        allan(values, rate_hz=1.0, gap="fill")
    with pytest.raises(ValueRangeError, match="confidence between 0 and 1, got 68"):
        allan(values, rate_hz=1.0, confidence=68)
    with pytest.raises(ShapeError, match=r"array \(N,\) or \(N, C\)"):
        allan(np.zeros((3, 3, 3)), rate_hz=1.0)
    with pytest.raises(ShapeError, match="taus as a list"):
        allan(values, rate_hz=1.0, taus=np.ones((2, 2)))
    with pytest.raises(ValueRangeError, match="at least 3 samples in a row"):
        allan([1.0, 2.0, np.nan, 3.0], rate_hz=1.0)
    with pytest.raises(ValueRangeError, match="50 samples in a row for oadev of 30"):
        allan([*values[:50], np.nan, *values[:50]], rate_hz=1.0, taus=[30])
    with pytest.raises(TimeOrderError):
        allan(rest(100)[::-1])


@pytest.mark.parametrize("kind", DeviationKind)
def test_a_log_that_is_part_of_a_file_gives_the_same_bits(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    series = without(rest(9000, step_ns=4_000_000), (1000, 1001), (4000, 4400), (4402, 4410))
    t_ns = series.t_ns + rng.normal(0.0, 2e5, len(series)).astype(np.int64)
    force = series.specific_force.copy()
    force[[7000, 7001, 8000]] = np.nan
    force[2000:2300] += np.sin(np.arange(300) / 9.0)[:, None]
    held = series.replace(t_ns=t_ns, specific_force=force)
    expected = allan(held, kind=kind, taus="octave")
    assert expected.pieces > 3
    assert "s of motion" in words(expected)
    monkeypatch.setattr(_scratch, "_PART", 700)
    monkeypatch.setattr(_scratch, "_SMALL", 0)
    columns = {}
    for name in ("t_ns", "angular_velocity", "specific_force"):
        np.save(tmp_path / f"{name}.npy", getattr(held, name))
        columns[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    mapped = ImuSeries(**columns)
    assert _scratch.is_mapped(mapped.specific_force)
    assert allan(mapped, kind=kind, taus="octave").to_dict() == expected.to_dict()
