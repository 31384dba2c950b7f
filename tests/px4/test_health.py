"""Vibration and clipping over the windows of a log."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import ShapeError
from strapdown.px4.health import Level, clipping_report, vibration_report

STAMPS = np.arange(1000) * 100_000_000


def test_a_bad_second_in_a_calm_log_is_not_called_good():
    metric = np.full(1000, 0.5)
    metric[600:610] = 34.0
    report = vibration_report(STAMPS, metric)
    assert report.mean == pytest.approx(0.835)
    assert (report.peak, report.peak_t_ns) == (34.0, 60_000_000_000)
    assert report.p50 == 0.5
    assert report.level is Level.CRITICAL


@pytest.mark.parametrize(
    ("mean", "level"),
    [(4.9, Level.GOOD), (4.91, Level.WARNING), (9.8, Level.WARNING), (9.82, Level.CRITICAL)],
)
def test_the_mean_has_the_limits_of_log_reviewers(mean, level):
    assert vibration_report(STAMPS, np.full(1000, mean)).level is level


def test_a_peak_has_twice_the_limits_of_the_mean():
    metric = np.zeros(1000)
    for peak, level in ((9.8, Level.GOOD), (9.82, Level.WARNING), (19.63, Level.CRITICAL)):
        metric[5] = peak
        assert vibration_report(STAMPS, metric).level is level


def test_values_that_are_not_finite_are_left_out():
    metric = np.array([1.0, np.nan, 3.0])
    report = vibration_report(STAMPS[:3], metric)
    assert (report.windows, report.mean, report.peak_t_ns) == (2, 2.0, STAMPS[2])


def test_no_values_give_no_numbers():
    report = vibration_report(STAMPS[:0], np.empty(0))
    assert report.windows == 0
    assert np.isnan(report.peak)


def test_a_metric_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"\(3,\) values"):
        vibration_report(STAMPS[:3], np.zeros(4))


def test_clipping_is_counted_by_window_and_by_axis():
    bits = np.array([0, 1, 3, 0, 4, 5, 7, 0], np.uint8)
    report = clipping_report(bits)
    assert (report.windows, report.clipped, report.by_axis) == (8, 5, (4, 2, 3))
    assert report.longest_run == 3


def test_a_sensor_that_never_clips_has_no_run():
    assert clipping_report(np.zeros(5, np.uint8)).longest_run == 0
    assert clipping_report(np.zeros(0, np.uint8)).windows == 0
