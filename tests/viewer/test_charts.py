"""Options of charts: what is rounded, and what is not."""

from __future__ import annotations

import numpy as np

from strapdown.viewer.charts import series_data
from strapdown.viewer.model import Line, Panel


def drawn(values):
    points = np.stack([np.arange(len(values)), values], axis=1)
    (series,) = series_data([Panel("rate", "rad/s", "", (Line("x", points),))])
    return series["data"][:, 1]


def test_rounding_errors_are_drawn_as_zero_and_gaps_stay():
    np.testing.assert_array_equal(drawn([3e-16, np.nan, -1e-13]), [0.0, np.nan, 0.0])


def test_values_keep_five_digits_of_the_largest():
    np.testing.assert_array_equal(drawn([123.4567891, 1e-9]), [123.457, 0.0])
    np.testing.assert_array_equal(drawn([1.2345678e-7, np.nan]), [1.23457e-7, np.nan])
