"""Values at the end of a range, and values that do not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._words import counted
from strapdown.checking.report import CheckReport, Finding
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.series import ImuSeries

__all__ = ["check_ranges"]


def check_ranges(series: ImuSeries, topic: str) -> CheckReport:
    """Check for saturation and stuck values by the detectors of :mod:`strapdown.detection`."""
    from strapdown.detection import ClippingDetector, StuckDetector  # noqa: PLC0415 (full check only)

    findings = []
    clipping = ClippingDetector()
    clipping.run(series)
    for name, report in (("gyro", clipping.gyro), ("accelerometer", clipping.accel)):
        if report.clipped:
            axes = " ".join(a for a, n in zip("xyz", report.by_axis, strict=True) if n)
            seen = (
                f"{name} at the end of its range in {counted(report.clipped, 'sample')} "
                f"({report.share:.2g} of all; {axes})"
            )
            likely = "the motion exceeds the range; attitude and position are worse from there on"
            findings.append(Finding("clipping", topic, seen, likely))
    stuck = StuckDetector()
    events = list(stuck.run(series))
    if (last := stuck.finish()) is not None:
        events.append(last)
    if events:
        axes = " ".join(sorted({flag for event in events for flag in event.flags} - {"open"}))
        total = sum(event.duration_s for event in events)
        first = (events[0].t_start_ns - int(series.t_ns.min())) / NS_PER_S
        seen = (
            f"values do not change in {counted(len(events), 'period')} "
            f"of {total:.3g} s in all, from {first:.4g} s on ({axes})"
        )
        findings.append(
            Finding("stuck", topic, seen, "a sensor or driver that repeats its last sample")
        )
    good = () if findings else ("no values at the end of a range, none stuck",)
    return CheckReport(tuple(findings), good, ())
