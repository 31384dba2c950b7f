"""Metadata of a simulated part for the record of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from strapdown.sensors._inputs import takes_mean
from strapdown.sensors.filters import group_delay_s, sections_of

if TYPE_CHECKING:
    from strapdown.sensors.spec import ImuSpec
    from strapdown.sensors.triad import TriadSpec

__all__ = ["about_spec"]


def about_spec(spec: ImuSpec, window: int) -> dict[str, Any]:
    """Return the sampling and the unknown parameters of a part, as JSON-able values.

    Parameters
    ----------
    spec : ImuSpec
    window : int
        Internal samples an output sample.
    """
    triads = spec.triads().items()
    return {
        "sensor": spec.name,
        "rate_hz": float(spec.rate_hz),
        "oversampling": window,
        "sampling": str(spec.sampling),
        "interval_s": 1.0 / float(spec.rate_hz),
        "group_delay_s": {name: _delay_s(spec, triad, window) for name, triad in triads},
        "missing": list(spec.missing()),
    }


def _delay_s(spec: ImuSpec, triad: TriadSpec, window: int) -> float | None:
    """Return the delay of filter and mean; none where a filter blocks constants."""
    internal_hz = float(spec.rate_hz) * window
    delay_s = group_delay_s(sections_of(triad.bandwidth, internal_hz), internal_hz)
    if takes_mean(spec, triad):
        delay_s += 0.5 / float(spec.rate_hz)
    return None if math.isnan(delay_s) else delay_s
