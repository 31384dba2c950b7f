"""The field of a magnetometer joined to the rows of an IMU as they arrive."""

from __future__ import annotations

import numpy as np

from strapdown.bridges.live.field_join import FieldJoin
from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, on_nearest_rows
from strapdown.messages import MagneticField
from strapdown.series import ImuSeries

MS = 1_000_000


def rows(t_ns):
    zeros = np.zeros((len(t_ns), 3))
    return ImuSeries(np.array(t_ns, np.int64), zeros, zeros)


def test_a_join_in_blocks_equals_that_of_a_recording():
    rng = np.random.default_rng(5)
    t_ns = np.cumsum(rng.integers(1 * MS, 9 * MS, 2000))
    stamps = np.cumsum(rng.integers(8 * MS, 40 * MS, 380)) + 3
    vectors = rng.normal(size=(380, 3))
    whole, placed = on_nearest_rows(t_ns, stamps, vectors, within_ns=MAGNETOMETER_WITHIN_NS)
    messages = [MagneticField(int(t), "", tuple(v)) for t, v in zip(stamps, vectors, strict=True)]
    join, values = FieldJoin(), []
    for block in np.array_split(np.arange(2000), 150):
        due = [each for each in messages if each.header_stamp_ns <= t_ns[block[-1]]]
        messages = messages[len(due) :]
        part = join.take(rows(t_ns[block]), due)
        values.append(part.magnetic_field if len(part) else np.empty((0, 3)))
    values.append(join.take(rows([]), messages).magnetic_field)
    np.testing.assert_array_equal(np.concatenate(values), whole)
    assert join.replaced + join.left_out <= (~placed).sum()


def test_what_comes_too_late_or_to_no_row_is_counted():
    join = FieldJoin()
    assert len(join.take(rows([]), [MagneticField(0)])) == 0, "before the first row"
    assert len(join.take(rows([1000 * MS, 1010 * MS]), [])) == 0
    first = join.take(rows([1020 * MS, 1030 * MS]), [MagneticField(1008 * MS, "", (1.0, 2.0, 3.0))])
    assert first.magnetic_field[1].tolist() == [1.0, 2.0, 3.0]
    assert join.left_out == 0
    second = join.take(rows([]), [MagneticField(950 * MS), MagneticField(1021 * MS)])
    assert second.t_ns.tolist() == [1020 * MS, 1030 * MS]
    assert second.magnetic_field[0].tolist() == [0.0] * 3
    assert join.left_out == 1
    assert len(join.take(rows([]), [])) == 0


def test_a_field_without_rows_takes_a_bounded_place():
    join = FieldJoin()
    for block in range(10):
        join.take(rows([]), [MagneticField(block * MS)] * 1000)
    assert len(join._stamps) == 4096


def at_once(join, t_ms, *fields_ms):
    """Return the x of the field at rows that are answered at once; that of a sample is its time."""
    fields = [MagneticField(round(t * MS), "", (float(t), 0.0, 0.0)) for t in fields_ms]
    field = join.at_once(np.array(t_ms, np.int64) * MS, fields)
    return [None if np.isnan(x) else x for x in field[:, 0].tolist()] if field is not None else None


def test_a_row_that_is_not_held_back_takes_what_has_arrived_and_later_samples_wait():
    join = FieldJoin()
    assert at_once(join, [100], 70, 79) == [None], "before the first row"
    assert at_once(join, [105], 102, 107) == [102.0]
    assert at_once(join, [110]) == [107.0]
    assert at_once(join, [115]) is None
    assert at_once(join, [120], 113) == [113.0], "late, but within 20 ms"
    assert at_once(join, [125], 104.9) == [None], "too late"
    assert (join.received, join.joined, join.left_out, join.rows_before) == (6, 3, 1, 1)
    assert join.losses() == ["1 sample of the magnetometer late, or 20 ms from every message"]
    assert join.notes() == [
        "1 attitude before the first magnetic field: heading is relative to the start"
    ]


def test_rows_that_queued_up_take_the_nearest_samples_as_in_a_recording():
    join = FieldJoin()
    got = at_once(join, [100, 105, 110, 115], 101, 108, 109, 114, 116)
    assert got == [101.0, None, 109.0, 114.0], "the last of two"
    assert at_once(join, [120]) == [116.0]
    assert (join.joined, join.replaced, join.left_out, join.rows_before) == (4, 1, 0, 0)


def test_samples_that_share_a_message_are_no_loss_and_the_newest_is_used():
    join = FieldJoin()
    assert at_once(join, [100], 99) == [99.0]
    assert at_once(join, [110]) is None, "the sample of 110 comes a moment later"
    assert at_once(join, [120], 110, 120) == [120.0]
    assert at_once(join, [130], 131) == [None], "it waits"
    assert at_once(join, [140], 140) == [140.0]
    assert (join.received, join.joined, join.replaced, join.left_out) == (5, 3, 2, 0)
    assert join.losses() == []
    assert join.notes() == [
        "2 samples of the magnetometer replaced by a newer one for the same message"
    ]
    assert join.to_dict()["replaced"] == 2


def test_a_magnetometer_of_another_clock_is_a_loss_that_says_so():
    ahead = FieldJoin()
    for row in range(100):
        assert at_once(ahead, [row], 10**9 + row) == [None]
    assert (ahead.joined, ahead.left_out, ahead.rows_before) == (0, 0, 100)
    (line,) = ahead.losses()
    assert line.startswith("no sample of the magnetometer has a stamp within 20 ms of the messages")
    assert ahead.notes() == []
    assert FieldJoin().losses() == [
        "no sample of the magnetometer came: heading is relative to the start"
    ]
    for _ in range(5):
        ahead.at_once(np.array([200 * MS]), [MagneticField(10**15)] * 1000)
    assert ahead.left_out == 1004, "what waits is bounded, and the rest is counted"
