"""The driver stage, against sample-by-sample arithmetic in numpy float32 scalars."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from strapdown.errors import ValueRangeError
from strapdown.messages.px4 import SensorAccel, SensorAccelFifo, SensorGyro, SensorGyroFifo
from strapdown.px4._rounding import round_half_away
from strapdown.px4.driver import (
    ChannelSpec,
    DriverChannel,
    fifo_from_series,
    messages_from_fifo,
    sensor_messages_from_series,
)
from strapdown.series import ImuSeries

F = np.float32
G = 9.80665
INT16 = st.one_of(st.integers(-32768, 32767), st.sampled_from([-32768, -32767, 32766, 32767]))


def packets(counts_by_packet, scale=0.001, end_us=1000, dt=125.0):
    records = np.zeros(len(counts_by_packet), SensorGyroFifo.dtype)
    for record, counts in zip(records, counts_by_packet, strict=True):
        size = len(counts)
        end_us += round(size * dt)
        record["timestamp"], record["timestamp_sample"] = end_us + 3, end_us
        record["device_id"], record["dt"], record["scale"] = 42, dt, scale
        record["samples"] = size
        for column, axis in enumerate("xyz"):
            record[axis][:size] = np.asarray(counts)[:, column]
            record[axis][size:] = 32767  # must not count
    return records


def one_axis(*values):
    return [(value, 0, 0) for value in values]


def published(last, values, scale):
    """Mean and clip count of one axis of one packet, one operation at a time."""
    total = sum(int(v) for v in values[:-1])
    integral = F(F(0.5) * F(int(last) + int(values[-1])) + F(total))
    mean = F(integral * F(F(scale) / F(len(values))))
    return mean, sum(v <= -32767 or v >= 32766 for v in values)


SIZES = st.lists(st.integers(1, 32), min_size=1, max_size=6)


@settings(max_examples=40)
@given(st.data(), SIZES, st.floats(2.0**-16, 1.0, width=32))
def test_every_message_is_the_trapezoid_mean_of_its_packet(data, sizes, scale):
    counts = [data.draw(arrays(np.int16, (size, 3), elements=INT16)) for size in sizes]
    messages = messages_from_fifo(packets(counts, scale))
    last = np.zeros(3, np.int16)
    for message, packet in zip(messages, counts, strict=True):
        for column, axis in enumerate("xyz"):
            mean, clipped = published(last[column], packet[:, column], scale)
            assert message[axis].tobytes() == mean.tobytes()
            assert message["clip_counter"][column] == clipped
        last = packet[-1]


def test_the_mean_takes_half_of_the_sample_before_and_half_of_the_last():
    messages = messages_from_fifo(packets([one_axis(10, 20, 30, 40), one_axis(50, 60)], 0.5))
    assert messages["x"].tolist() == [(0.0 + 10 + 20 + 30 + 20) / 8, (20.0 + 50 + 30) / 4]
    again = messages_from_fifo(packets([one_axis(50, 60)], 0.5), last=(40, 0, 0))
    assert again["x"].tolist() == [25.0]


def test_everything_else_of_a_message_comes_from_its_packet():
    fifo = packets([one_axis(1, 2), one_axis(3)])
    messages = messages_from_fifo(fifo)
    assert messages.dtype == SensorGyro.dtype == SensorAccel.dtype
    for name in ("timestamp", "timestamp_sample", "device_id", "samples"):
        assert messages[name].tolist() == fifo[name].tolist()
    assert np.isnan(messages["temperature"]).all()
    assert messages["error_count"].tolist() == [0, 0]
    assert len(messages_from_fifo(fifo[:0])) == 0


def test_clipping_counts_samples_at_the_ends_of_the_range():
    counts = [(-32768, -32766, 32766), (-32767, 32765, 32767), (0, 0, 32765)]
    assert messages_from_fifo(packets([counts]))["clip_counter"].tolist() == [[2, 0, 2]]


def test_a_change_of_scale_converts_the_sample_that_is_carried_over():
    fifo = packets([one_axis(5), one_axis(100), one_axis(-32768)])
    fifo["scale"] = [1.0, 2.0, 0.5]
    # 5 at scale 1 is 2.5 at scale 2, rounded to 3; 100 at scale 2 is 400 at scale 0.5.
    assert messages_from_fifo(fifo)["x"].tolist() == [2.5, 103.0, (400 - 32768) / 4]
    fifo["scale"] = [1.0, 1.0 / 1024.0, 1.0]
    assert messages_from_fifo(fifo)["x"][1] == F((5120 + 100) / 2048)
    fifo["scale"] = [10.0, 1e-4, 1.0]
    assert messages_from_fifo(fifo)["x"][1] == F(F(0.5) * F(32767 + 100) * F(1e-4))  # saturated


@pytest.mark.parametrize(
    ("field", "value"), [("samples", 0), ("samples", 33), ("scale", np.nan), ("scale", 0.0)]
)
def test_packets_that_say_nothing_are_refused_with_their_row(field, value):
    fifo = packets([one_axis(1), one_axis(2)])
    fifo[field][1] = value
    with pytest.raises(ValueRangeError, match="row 1"):
        messages_from_fifo(fifo)


@settings(max_examples=30)
@given(st.data(), SIZES, st.sampled_from([0, 2, 17, 28]))
def test_a_stream_and_a_batch_give_the_same_bytes(data, sizes, rotation):
    counts = [data.draw(arrays(np.int16, (size, 3), elements=INT16)) for size in sizes]
    fifo = packets(counts, 0.25)
    channel = DriverChannel(SensorGyro, 42, scale=0.25, rotation=rotation)
    pairs = [channel.update_fifo(SensorGyroFifo.from_record(record)) for record in fifo]
    batch = messages_from_fifo(fifo, rotation=rotation)
    assert SensorGyro.array([mean for _, mean in pairs]).tobytes() == batch.tobytes()
    turned = SensorGyroFifo.array([packet for packet, _ in pairs])
    assert messages_from_fifo(turned).tobytes() == batch.tobytes()


def test_a_packet_is_published_turned_with_the_scale_of_its_driver():
    fifo = SensorAccelFifo.from_record(packets([[(5, 32767, 7)]])[0])
    channel = DriverChannel(SensorAccel, 7, scale=0.5, rotation=2)
    channel.temperature, channel.error_count = 36.5, 9
    packet, mean = channel.update_fifo(fifo)
    assert [packet.x[0], packet.y[0], packet.z[0]] == [-32768, 5, 7]
    assert (packet.scale, packet.device_id, packet.x[1]) == (0.5, 7, 32767)
    assert isinstance(mean, SensorAccel)
    assert (mean.x, mean.temperature, mean.error_count) == (-8192.0, 36.5, 9)
    assert mean.clip_counter.tolist() == [1, 0, 0]


def test_a_single_sample_is_turned_scaled_and_stamped():
    channel = DriverChannel(SensorGyro, 5, scale=0.1, rotation=2)
    message = channel.update(1234, (1.0, 2.0, 3.0))
    values = [message.x, message.y, message.z]
    assert values == [float(F(v) * F(0.1)) for v in (-2.0, 1.0, 3.0)]
    assert (message.timestamp, message.timestamp_sample, message.device_id) == (1234, 1234, 5)
    assert (message.samples, message.error_count) == (1, 0)
    assert math.isnan(message.temperature)


def test_the_limit_of_clipping_gets_its_margin_when_range_or_scale_is_set():
    channel = DriverChannel(SensorAccel)
    assert channel.clip_limit == pytest.approx(16 * G, rel=1e-6)
    assert DriverChannel(SensorGyro).clip_limit == pytest.approx(math.radians(2000), rel=1e-6)
    channel.scale = 0.5
    assert channel.clip_limit == pytest.approx(32 * G * 0.999, rel=1e-6)
    channel.sensor_range = 5.0
    assert channel.clip_limit == pytest.approx(9.99, rel=1e-6)
    assert (channel.scale, channel.sensor_range) == (0.5, 5.0)
    message = channel.update(1, (-9.995, 9.98, 9.985))
    assert message.clip_counter.tolist() == [1, 0, 0]
    assert DriverChannel(SensorGyro, sensor_range=10.0).clip_limit == pytest.approx(9.99)


def test_the_last_sample_of_a_stream_follows_its_scale():
    channel = DriverChannel(SensorGyro, scale=1.0)
    packet = SensorGyroFifo.from_record(packets([one_axis(5)])[0])
    channel.update_fifo(packet)
    channel.scale = 2.0
    assert channel.update_fifo(packet)[1].x == (3 + 5) / 2 * 2.0
    channel.scale = 2.0 + 1e-8
    assert channel.scale == 2.0


def test_a_channel_refuses_what_it_cannot_use():
    with pytest.raises(ValueRangeError, match="rotation"):
        DriverChannel(SensorGyro, rotation=41)
    with pytest.raises(ValueRangeError, match="scale"):
        DriverChannel(SensorGyro, scale=0.0)


def test_rounding_takes_halves_away_from_zero():
    below_half = np.nextafter(F(0.5), F(0.0))
    values = np.array([0.5, 1.5, -0.5, -2.5, below_half, 2.4], np.float32)
    assert round_half_away(values).tolist() == [1.0, 2.0, -1.0, -3.0, 0.0, 2.0]


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
