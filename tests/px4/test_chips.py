"""Messages that the drivers of two chips would publish for a series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown.errors import ValueRangeError
from strapdown.px4.chips import ChannelSpec, fifo_from_series, sensor_messages_from_series
from strapdown.px4.driver import messages_from_fifo
from strapdown.series import ImuSeries

F = np.float32
G = 9.80665


def ramp(rate_hz, seconds, slope=2.0):
    t = np.arange(1, round(rate_hz * seconds) + 1) / rate_hz
    rates = np.zeros((len(t), 3))
    rates[:, 0] = slope * t
    return ImuSeries(np.rint(t * 1e9).astype(np.int64), rates, np.zeros_like(rates), body="FRD")


def test_trapezoids_of_means_lag_half_a_packet_and_sums_of_means_do_not():
    """A ramp of 2 rad/s^2, 8 kHz, packets of 10: the angle from 5 to 10 ms is 7.5e-5 rad."""
    fine = ChannelSpec(scale=1e-6)
    gyro, _ = sensor_messages_from_series(ramp(8000, 0.01), samples=10, gyro=fine)
    assert gyro["timestamp_sample"].tolist() == list(range(1250, 10001, 1250))
    means, step = gyro["x"].astype(np.float64), 1.25e-3
    trapezoids = 0.5 * (means[4:] + means[3:-1]) * step
    assert trapezoids.sum() == pytest.approx(6.875e-5, rel=1e-6)
    assert means[4:].sum() * step == pytest.approx(7.5e-5, rel=1e-6)


def series(values, **columns):
    values = np.asarray(values, np.float64)
    stamps = np.arange(1, len(values) + 1) * 1_250_000
    return ImuSeries(stamps, values, 10.0 * values, **columns)


VALUES = [[0.25, -0.5, 1.0], [0.5, 0.5, -1.0], [0.75, 0.0, 2.0]]


def test_a_series_in_any_axes_becomes_single_samples_in_frd():
    gyro, accel = sensor_messages_from_series(
        series(VALUES, body="FLU"), gyro=ChannelSpec(1), accel=ChannelSpec(2)
    )
    assert gyro["y"].tolist() == [0.5, -0.5, 0.0]
    assert accel["z"].tolist() == [-10.0, 10.0, -20.0]
    assert gyro["timestamp_sample"].tolist() == [1250, 2500, 3750]
    assert (set(gyro["device_id"]), set(accel["device_id"])) == ({1}, {2})
    assert (set(gyro["samples"]), set(gyro["clip_counter"].ravel())) == ({1}, {0})


def test_single_samples_are_quantised_where_a_scale_is_given():
    spec = ChannelSpec(scale=0.4, sensor_range=0.8)
    gyro, _ = sensor_messages_from_series(series(VALUES, body="FRD"), gyro=spec)
    assert gyro["x"].tolist() == [float(F(n) * F(0.4)) for n in (1, 1, 2)]
    assert gyro["clip_counter"].tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 1]]


def test_packets_of_a_series_have_its_counts_stamps_and_remainder():
    spec = ChannelSpec(9, scale=0.25)
    gyro, accel = fifo_from_series(series(VALUES, body="FRD"), samples=2, gyro=spec)
    assert gyro["samples"].tolist() == [2, 1]
    assert gyro["timestamp_sample"].tolist() == [2500, 3750]
    assert gyro["x"][:, :3].tolist() == [[1, 2, 0], [3, 0, 0]]
    assert gyro["z"][:, :3].tolist() == [[4, -4, 0], [8, 0, 0]]
    assert (set(gyro["dt"]), set(gyro["device_id"]), set(gyro["scale"])) == ({1250.0}, {9}, {0.25})
    assert set(accel["scale"]) == {F(G / 2048)}
    assert set(fifo_from_series(series(VALUES), samples=1)[0]["scale"]) == {
        F(math.radians(2000 / 32768))
    }


def test_counts_are_cut_off_or_rounded_and_saturate():
    values = [[0.5, -0.5, 1.9], [1e9, -1e9, 1e300]]
    cut, _ = fifo_from_series(
        series(values, body="FRD"), samples=2, gyro=ChannelSpec(0, 1.0, truncate=True)
    )
    near, _ = fifo_from_series(series(values, body="FRD"), samples=2, gyro=ChannelSpec(0, 1.0))
    assert [cut[axis][0, :2].tolist() for axis in "xyz"] == [[0, 32767], [0, -32768], [1, 32767]]
    assert [near[axis][0, 0] for axis in "xyz"] == [1, -1, 2]


def test_a_simulated_fifo_of_one_gives_means_of_neighbours():
    spec = ChannelSpec(scale=math.radians(2000 / 32768), truncate=True)
    fifo, _ = fifo_from_series(series(VALUES, body="FRD"), samples=1, gyro=spec)
    counts = np.trunc(np.array(VALUES)[:, 0] / spec.scale)
    expected = 0.5 * (counts + np.concatenate([[0], counts[:-1]])) * spec.scale
    np.testing.assert_allclose(messages_from_fifo(fifo)["x"], expected, rtol=1e-6)


def test_axes_that_a_series_marks_as_saturated_are_counted():
    marked = series(VALUES, body="FRD", gyro_clipping=[1, 6, 1], accel_clipping=[0, 0, 4])
    gyro, accel = sensor_messages_from_series(marked)
    assert gyro["clip_counter"].tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    assert accel["clip_counter"].tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    gyro, _ = sensor_messages_from_series(marked, samples=2)
    assert gyro["clip_counter"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert len(sensor_messages_from_series(marked[:0])[0]) == 0
    assert len(sensor_messages_from_series(marked[:0], samples=3)[0]) == 0


@pytest.mark.parametrize("samples", [0, 33, -1])
def test_packets_hold_1_to_32_samples(samples):
    with pytest.raises(ValueRangeError, match="1 to 32"):
        sensor_messages_from_series(series(VALUES), samples=samples)


def test_a_value_that_is_not_finite_has_no_count():
    broken = series([[0.0, np.nan, 0.0]])
    with pytest.raises(ValueRangeError, match="finite"):
        fifo_from_series(broken, samples=1)
    gyro, _ = sensor_messages_from_series(broken)
    assert np.isnan(gyro["y"][0])


@pytest.mark.parametrize("scale", [0.0, -1e-3, math.nan])
def test_a_count_that_stands_for_nothing_is_refused(scale):
    with pytest.raises(ValueRangeError, match="scale above 0"):
        ChannelSpec(scale=scale)
