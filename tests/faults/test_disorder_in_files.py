"""Rows out of order within 50 ms: every format keeps each of them once, and counts them."""

from __future__ import annotations

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.series import ImuSeries, timebase

ROWS, STEP_NS, WINDOW = 400, 5_000_000, 10


def disordered():
    """Return rows that are each at most 50 ms from their place."""
    rng = np.random.default_rng(4)
    order = np.argsort(np.arange(ROWS) + rng.uniform(0, WINDOW, ROWS))
    t_ns = 1_700_000_000_000_000_000 + order * STEP_NS
    return ImuSeries(t_ns, *rng.standard_normal((2, ROWS, 3)))


@pytest.mark.parametrize("ending", [".mcap", ".bag", "", ".npz", ".parquet", ".csv"])
def test_rows_out_of_order_are_kept_counted_and_sorted_on_request(ending, tmp_path):
    series, path = disordered(), tmp_path / f"a{ending}"
    files.write(path, series)
    (back,) = files.open(path).imu.values()
    order = np.argsort(series.t_ns, kind="stable")
    if ending in {".bag", ""}:  # rosbags gives messages by their time
        assert back.t_ns.tolist() == series.t_ns[order].tolist()
    else:
        assert back.t_ns.tolist() == series.t_ns.tolist()
        late = np.count_nonzero(series.t_ns < np.maximum.accumulate(series.t_ns))
        assert files.summarize(path).topics[0].clock.backward == late > 0
    assert files.open(path).report.lossless
    ordered, report = timebase.ordered(back, "sort")
    assert ordered.t_ns.tolist() == series.t_ns[order].tolist()
    assert ordered.specific_force.tolist() == series.specific_force[order].tolist()
    assert report.kept == ROWS
