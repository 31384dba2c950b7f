from __future__ import annotations

from strapdown.estimation import FilterReport


def test_a_gap_is_told_but_is_no_loss_of_the_filter():
    report = FilterReport(samples=10, gaps=1, longest_gap_ns=30_000_000)
    assert report.lossless
    assert str(report) == "10 samples, all used, 1 gaps in time up to 30.0 ms, bridged"


def test_what_was_left_out_is_a_loss():
    report = FilterReport(samples=10, duplicates=2)
    assert not report.lossless
    assert report.losses() == ["samples with a repeated stamp, left out: 2"]


def test_a_sensor_that_stopped_for_long_is_named():
    report = FilterReport(samples=10, silent_magnetic_field_ns=2_500_000_000)
    assert report.lossless
    assert str(report) == "10 samples, all used, magnetometer silent for up to 2.5 s"
