"""Stamps: unit, order, coverage and regularity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown._words import counted
from strapdown.checking.report import CheckReport, Finding
from strapdown.series import timebase
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown.series import ImuSeries
    from strapdown.series.timebase import TimeReport

__all__ = ["check_stamps"]

_RATES_HZ: Final = (3.0, 33_000.0)
"""From slow loggers to the FIFO of the fastest chips, 32 kHz."""
_USUAL_HZ: Final = (10.0, 10_000.0)
_FACTORS: Final = {1e3: "ms", 1e6: "us", 1e9: "ns", 1e-3: "s"}
_LOST: Final = 0.01
_IRREGULAR: Final = 0.5
"""Jitter, as a fraction of the interval, beyond that of a sampling clock."""


def check_stamps(series: ImuSeries, topic: str) -> CheckReport:
    """Check the stamps of a series."""
    found = timebase.report(series.t_ns)
    if not found.rate_hz > 0.0:
        return CheckReport((), (), ("stamps: fewer than two samples",))
    findings = [*_unit(found, topic), *_order(found, topic), *_coverage(found, topic)]
    return CheckReport(tuple(findings), () if findings else (f"stamps: {found}",), ())


def _unit(found: TimeReport, topic: str) -> list[Finding]:
    """Return a finding where no sensor samples at the rate."""
    rate = found.rate_hz
    if _RATES_HZ[0] <= rate <= _RATES_HZ[1]:
        return []
    seen = f"stamps at {rate:.4g} Hz, over {found.duration_ns / NS_PER_S:.4g} s"
    for factor, unit in _FACTORS.items():
        if _USUAL_HZ[0] <= rate * factor <= _USUAL_HZ[1]:
            times = f"{factor:g} times too slow" if factor > 1.0 else "1000 times too fast"
            thinned = ", or a thinned recording" if factor > 1.0 else ""
            likely = f"{times}, as if the unit of time is {unit}{thinned}"
            mended = f"series.replace(t_ns=series.t_ns // {factor:.0f})"
            if factor < 1.0:
                mended = "series.replace(t_ns=series.t_ns * 1000)"
            return [Finding("time_unit", topic, seen, likely, f"--time-unit {unit}", mended)]
    likely = "expected 3 Hz to 33 kHz: another unit, or a thinned recording"
    return [Finding("time_unit", topic, seen, likely, "--time-unit or --rate")]


def _order(found: TimeReport, topic: str) -> list[Finding]:
    """Return a finding where stamps do not increase."""
    if not found.duplicates + found.backward:
        return []
    seen = f"{counted(found.duplicates, 'stamp')} repeated, {counted(found.backward, 'stamp')} back"
    likely = "samples written twice or out of order; estimators leave them out"
    return [
        Finding("time_order", topic, seen, likely, "", 'timebase.ordered(series, "drop")[0]'),
    ]


def _coverage(found: TimeReport, topic: str) -> list[Finding]:
    """Return findings of lost time and of stamps that are not those of sampling."""
    findings = []
    if found.lost_ns > _LOST * found.duration_ns:
        share = found.lost_ns / found.duration_ns
        seen = (
            f"{share:.1%} of the time without samples, in {counted(found.gaps, 'gap')}, the "
            f"longest {found.longest_gap_ns / NS_PER_S:.3g} s"
        )
        likely = "samples were lost before or in the recording; attitude is unknown after a gap"
        findings.append(Finding("time_gaps", topic, seen, likely))
    if found.jitter_ns * found.rate_hz > _IRREGULAR * NS_PER_S:
        seen = f"jitter {found.jitter_ns / 1e6:.3g} ms at intervals of {1e3 / found.rate_hz:.3g} ms"
        likely = "samples left out one by one, or stamps of arrival instead of sampling"
        findings.append(Finding("time_jitter", topic, seen, likely))
    return findings
