"""Properties of a log that make its deviations doubtful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._scratch import any_finite, strided
from strapdown.calibration.allan_deviation.estimators import DeviationKind
from strapdown.detection import StillnessDetector
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.allan_deviation.pieces import RateLog

__all__ = ["coarse_codes", "drift", "motion", "shortness"]

_STEEP: Final = 0.8
_OCTAVES: Final = 4.0  # the slope is that of the last two octaves up to a ninth of the log
_COARSE: Final = 0.5
_SUFFICIENT_SAMPLES: Final = 100_000
_HOURS: Final = {1: "B (bias instability)", 3: "K (random walk)"}
_DISTURBED: Final = 1e-3  # share of the log
_MOVED: Final = 1e-4  # of larger motion; noise alone exceeds its limit more rarely
_SUFFICIENT_HZ: Final = 50.0  # for the detection of motion


def shortness(duration_s: float) -> list[str]:
    """Return warnings about parameters that a log of this length does not determine."""
    return [
        f"{duration_s / 3600.0:.2g} h are less than the {hours} h that {parameter} needs"
        for hours, parameter in _HOURS.items()
        if duration_s < 3600.0 * hours
    ]


def coarse_codes(log: RateLog) -> list[str]:
    """Return a warning for each channel in which a single value dominates."""
    found = []
    for name, column in zip(log.channels, log.columns, strict=True):
        some = column[:: max(1, len(column) // _SUFFICIENT_SAMPLES)]
        _, counts = np.unique(some[np.isfinite(some)], return_counts=True)
        share = counts.max(initial=0) / max(counts.sum(), 1)
        if share > _COARSE:
            found.append(
                f"{name}: {share:.0%} of the samples have one value; the quantisation is too "
                "coarse for the noise"
            )
    return found


def drift(log: RateLog, kind: DeviationKind, tau_s: FloatArray, deviation: FloatArray) -> list[str]:
    """Return a warning for each channel whose deviation rises up to a ninth of the log."""
    if kind.order == 3:
        return []
    end_s = int(log.lengths.sum()) / log.rate_hz / 9.0
    last = (tau_s > end_s / _OCTAVES) & (tau_s <= end_s * (1.0 + 1e-9))
    if np.count_nonzero(last) < 2:
        return []
    steep = 1.0 if kind is DeviationKind.TDEV else 0.0  # it is the modified one times tau
    found = []
    for name, values in zip(log.channels, deviation.T, strict=True):
        if not (values[last] > 0.0).all():
            continue
        slope = float(np.polyfit(np.log(tau_s[last]), np.log(values[last]), 1)[0]) - steep
        if slope > _STEEP:
            found.append(
                f"{name}: the deviation rises with slope {slope:.2f} at the longest cluster times: "
                "drift of the temperature or of the mean; kind='ohdev' is not affected by a "
                "constant one"
            )
    return found


def motion(series: ImuSeries) -> tuple[list[str], list[str]]:
    """Return notes and warnings about motion in a log that should be at rest."""
    series = _thinned(series, max(1, int(series.rate_hz / _SUFFICIENT_HZ)))
    if not any_finite(series.specific_force):
        return [], []
    moving = StillnessDetector("lowpass").moving_share(series)
    try:
        disturbed = StillnessDetector("variance", thresholds="auto").moving_share(series)
    except ValueRangeError:  # no half second with noise to compare with
        disturbed = 0.0
    words = f"{max(moving, disturbed) * series.duration_s:.2g} s of motion"
    remedy = "cut the log there, or take a new one at rest"
    if moving > _MOVED or disturbed > _DISTURBED:
        return [], [f"{words} ({max(moving, disturbed):.2%} of the log); {remedy}"]
    return (
        [words if moving else f"{words}, by the accelerometer"] if moving or disturbed else []
    ), []


def _thinned(series: ImuSeries, step: int) -> ImuSeries:
    """Return every so many samples of both sensors, where the series is held."""
    if step == 1:
        return series
    return ImuSeries(
        strided(series.t_ns, step),
        strided(series.angular_velocity, step),
        strided(series.specific_force, step),
        body=series.body,
    )
