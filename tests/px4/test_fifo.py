"""Unrolled FIFO packets, against constructions with known times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.messages.px4 import SensorAccelFifo, SensorGyroFifo
from strapdown.px4.fifo import repack, unroll


def packets(ends_us, sizes, *, dt=125.0, scale=0.5, kind=SensorGyroFifo):
    """Packets whose samples count up from 0 through the whole recording."""
    records = np.zeros(len(ends_us), kind.dtype)
    records["timestamp_sample"], records["samples"] = ends_us, sizes
    records["dt"], records["scale"] = dt, scale
    first = 0
    for record in records:
        size = int(record["samples"])
        for axis, sign in zip("xyz", (1, -1, 2), strict=True):
            record[axis][:size] = sign * np.arange(first, first + size)
        first += size
    return records


def test_samples_are_spaced_by_the_stamps_and_not_by_the_nominal_spacing():
    """A chip 4 % faster than its data sheet: 120 instead of 125 us."""
    unrolled = unroll(packets([1200, 2400, 3600, 4800], [10] * 4))
    assert unrolled.t_ns.tolist() == list(range(120_000, 4_800_001, 120_000))
    assert unrolled.counts[:, 0].tolist() == list(range(40))
    assert unrolled.counts.dtype == np.int16
    assert unrolled.values.tolist() == (unrolled.counts * 0.5).tolist()
    report = unrolled.report
    assert (report.packets, report.samples, report.gaps, report.lost_ns) == (4, 40, 0, 0)
    assert (report.spacing_ns, report.nominal_ns, report.spread_ns) == (120e3, 125e3, 0.0)
    assert "8333.3 Hz (nominal 8000.0, +4.17%" in str(report)


def test_every_packet_has_its_own_scale():
    fifo = packets([1000, 2000], [2, 3])
    fifo["scale"] = [0.5, 0.25]
    assert unroll(fifo).values[:, 0].tolist() == [0.0, 0.5, 0.5, 0.75, 1.0]


def test_packets_of_different_sizes_share_the_time_between_their_stamps():
    unrolled = unroll(packets([1000, 1400, 2000, 2100], [10, 4, 6, 1]))
    assert unrolled.t_ns[-11:].tolist() == [
        *(1_000_000 + 100_000 * n for n in range(1, 5)),
        *(1_400_000 + 100_000 * n for n in range(1, 7)),
        2_100_000,
    ]


def test_jitter_of_the_stamps_spreads_the_spacing_within_each_packet():
    unrolled = unroll(packets([1000, 2010, 3000, 4000, 5000], [10] * 5))
    assert (
        np.diff(unrolled.t_ns).tolist()
        == [100_000] * 9 + [101_000] * 10 + [99_000] * 10 + [100_000] * 20
    )
    # Spacings 101, 99, 100, 100 us about 100 us.
    assert unrolled.report.spread_ns == pytest.approx(np.sqrt(0.5) * 1e3)


def test_a_lost_packet_is_a_gap_and_its_neighbour_keeps_the_median_spacing():
    ends = [1000, 2000, 3000, 5000, 6000, 7000]
    unrolled = unroll(packets(ends, [10] * 6))
    assert unrolled.report.gaps == 1
    assert unrolled.report.lost_ns == 1_000_000
    late = unrolled.t_ns[30:40]
    assert late.tolist() == list(range(4_100_000, 5_000_001, 100_000))


@pytest.mark.parametrize(("step_us", "gaps"), [(1499, 0), (1501, 1), (501, 0), (499, 1)])
def test_a_gap_is_more_than_half_a_packet_off(step_us, gaps):
    ends = np.cumsum([1000, 1000, 1000, 1000, step_us, 1000, 1000])
    assert unroll(packets(ends, [10] * 7)).report.gaps == gaps


@pytest.mark.parametrize("step_us", [0, -400])
def test_a_stamp_that_repeats_or_goes_back_is_a_gap_without_lost_time(step_us):
    ends = np.cumsum([1000, 1000, 1000, 1000, step_us, 1000, 1000])
    report = unroll(packets(ends, [10] * 7)).report
    assert (report.gaps, report.lost_ns) == (1, 0)
    assert report.spacing_ns == 100_000.0


def test_one_packet_has_the_nominal_spacing():
    unrolled = unroll(packets([1000], [3]))
    assert unrolled.t_ns.tolist() == [750_000, 875_000, 1_000_000]
    assert (unrolled.report.gaps, unrolled.report.spacing_ns) == (0, 125_000.0)


def test_packets_may_go_on_from_earlier_ones():
    whole = packets([1000, 2020, 3000, 4000, 5000, 6000], [10] * 6)
    later = unroll(whole[2:], previous_us=2020)
    assert later.t_ns.tolist() == unroll(whole).t_ns[20:].tolist()
    assert later.t_ns[8] == 2_902_000
    assert unroll(whole[2:], previous_us=1000).report.gaps == 1
    alone = unroll(whole[2:])
    assert alone.t_ns[:10].tolist() == list(range(2_100_000, 3_000_001, 100_000))


def test_the_first_packet_has_no_gap_before_it():
    assert unroll(packets([10_000_000, 10_001_000], [10, 10])).report.gaps == 0


@pytest.mark.parametrize("spacing", ["packet", "smooth"])
def test_nothing_unrolls_to_nothing(spacing):
    unrolled = unroll(np.zeros(0, SensorAccelFifo.dtype), spacing=spacing)
    assert len(unrolled.t_ns) == len(unrolled.values) == unrolled.report.packets == 0
    assert unrolled.counts.shape == (0, 3)
    assert str(unrolled.report).startswith("0 samples in 0 packets, 0 gaps")
    assert "packets, 1 gap (lost" in str(replace(unrolled.report, gaps=1))


def test_saturated_axes_are_marked():
    fifo = packets([1000], [5])
    fifo["x"][0, :5] = [32766, 32765, -32766, -32767, 0]
    fifo["y"][0, :5] = [-32768, 0, 0, 0, 0]
    fifo["z"][0, :5] = [0, 0, 32767, 0, 0]
    unrolled = unroll(fifo)
    assert unrolled.clipping.tolist() == [3, 0, 4, 1, 0]
    assert unrolled.clipping.dtype == np.uint8
    assert unrolled.report.clipped == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [("samples", 0), ("samples", 33), ("samples", 255), ("scale", np.nan), ("scale", np.inf)],
)
def test_packets_that_say_nothing_are_left_out_and_counted(field, value):
    fifo = packets([1000, 2000, 3000, 4000, 5000, 6000], [10] * 6)
    fifo[field][2] = value
    unrolled = unroll(fifo)
    report = unrolled.report
    assert (report.malformed, report.packets, report.gaps) == (1, 5, 1)
    assert report.lost_ns == 1_000_000
    assert repack(unrolled, fifo).tobytes() == fifo.tobytes()


def test_a_hostile_spacing_does_no_harm():
    for dt in (np.nan, np.inf, 0.0, -1.0):
        unrolled = unroll(packets([1000, 2000], [10, 10], dt=dt))
        assert unrolled.report.spacing_ns == 100_000.0
        assert "20 samples" in str(unrolled.report)
        assert unroll(packets([1000], [10], dt=dt)).t_ns[-1] == 1_000_000


def test_the_smooth_line_is_the_least_squares_line_of_each_stretch():
    rng = np.random.default_rng(3)
    sizes = rng.integers(8, 13, 200)
    true_us = np.cumsum(sizes) * 123.4
    true_us[120:] += 50_000.0
    ends = np.rint(true_us + rng.normal(0.0, 60.0, 200)).astype(np.int64)
    fifo = packets(ends, sizes)
    smooth = unroll(fifo, spacing="smooth")
    assert smooth.report.gaps == 1
    numbers = np.cumsum(sizes)
    expected = []
    for rows in (slice(0, 120), slice(120, 200)):
        line = np.polynomial.Polynomial.fit(numbers[rows], ends[rows] * 1e3, 1)
        last = numbers[rows][-1]
        expected.append(line(np.arange(last - sizes[rows].sum() + 1, last + 1)))
    np.testing.assert_allclose(smooth.t_ns, np.concatenate(expected), rtol=0.0, atol=2.0)
    truth = np.concatenate(
        [np.arange(1, numbers[-1] + 1)[: numbers[119]] * 123_400,
         np.arange(numbers[119] + 1, numbers[-1] + 1) * 123_400 + 50_000_000]
    )  # fmt: skip
    error = {kind: unroll(fifo, spacing=kind).t_ns - truth for kind in ("packet", "smooth")}
    assert np.std(error["smooth"]) < 0.3 * np.std(error["packet"])


def test_a_smooth_stretch_of_one_packet_has_the_median_spacing():
    unrolled = unroll(packets([1000, 2000, 3000, 9000], [10] * 4), spacing="smooth")
    assert unrolled.t_ns[-10:].tolist() == list(range(8_100_000, 9_000_001, 100_000))


def test_another_spacing_is_refused():
    with pytest.raises(UnknownNameError, match="smooth"):
        unroll(packets([1000], [1]), spacing="even")


def test_a_stamp_beyond_nanoseconds_is_refused():
    with pytest.raises(ValueRangeError, match="timestamp_sample"):
        unroll(packets(np.array([2**63], np.uint64), [1]))


@settings(max_examples=30)
@given(st.data(), st.lists(st.integers(1, 32), min_size=1, max_size=8))
def test_samples_go_back_into_their_packets_byte_for_byte(data, sizes):
    fifo = packets(np.cumsum(sizes) * 125, sizes, kind=SensorAccelFifo)
    whole = st.integers(-32768, 32767)
    for axis in "xyz":
        fifo[axis] = data.draw(arrays(np.int16, (len(sizes), 32), elements=whole))
    unrolled = unroll(fifo, spacing=data.draw(st.sampled_from(["packet", "smooth"])))
    emptied = packets(fifo["timestamp_sample"], sizes, kind=SensorAccelFifo)
    for row, size in enumerate(sizes):
        for axis in "xyz":
            emptied[axis][row, :size] = 0
            emptied[axis][row, size:] = fifo[axis][row, size:]
    assert repack(unrolled, emptied).tobytes() == fifo.tobytes()
    assert emptied["x"][0, 0] == 0


def test_samples_go_back_only_where_they_came_from():
    unrolled = unroll(packets([1000, 2000], [10, 10]))
    with pytest.raises(ShapeError, match="expected 10 samples"):
        repack(unrolled, packets([1000], [10]))
