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
from strapdown.px4.driver import DriverChannel, messages_from_fifo

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
            record[axis][size:] = 32767  # must be ignored
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
