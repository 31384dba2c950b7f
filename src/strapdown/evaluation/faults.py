"""Faults of recordings: lost samples, gaps and values that are missing.

Each generator takes recordings in order and yields them with faults. All share one stream of
random numbers, so the same recordings in the same order give the same faults.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_member
from strapdown.errors import ValueRangeError
from strapdown.evaluation._pairing import as_track
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from strapdown.evaluation._pairing import Track
    from strapdown.series import ImuSeries, Trajectory

__all__ = [
    "Fault",
    "blank_samples",
    "cut_gaps",
    "drop_samples",
    "surviving",
    "with_faults",
]


class Fault(StrEnum):
    """Kind of fault, with the default parameters of its generator."""

    DROP = "drop"
    """:func:`drop_samples`."""
    GAP = "gap"
    """:func:`cut_gaps`."""
    NAN = "nan"
    """:func:`blank_samples`."""


def with_faults(fault: Fault | str, recordings: Iterable[ImuSeries]) -> Iterator[ImuSeries]:
    """Yield each recording with a fault, by name.

    Parameters
    ----------
    fault : {"drop", "gap", "nan"}
    recordings : iterable of ImuSeries

    Yields
    ------
    ImuSeries

    Raises
    ------
    UnknownNameError
        There is no such fault.
    """
    fault = as_member(Fault, fault, "fault")
    if fault is Fault.DROP:
        return drop_samples(recordings)
    return cut_gaps(recordings) if fault is Fault.GAP else blank_samples(recordings)


def drop_samples(
    recordings: Iterable[ImuSeries], *, probability: float = 0.02, seed: int = 1
) -> Iterator[ImuSeries]:
    """Yield each recording without samples that are lost independently of each other.

    Parameters
    ----------
    recordings : iterable of ImuSeries
    probability : float
        Of each sample, but for the first and the last of a recording, which stay.
    seed : int
        Of the generator, ``numpy.random.default_rng``.

    Yields
    ------
    ImuSeries

    Raises
    ------
    ValueRangeError
        ``probability`` is not in [0, 1].
    """
    _require_probability(probability)
    rng = np.random.default_rng(seed)
    for series in recordings:
        kept = rng.random(len(series)) >= probability
        kept[:1] = kept[-1:] = True
        yield series[kept]


def cut_gaps(
    recordings: Iterable[ImuSeries],
    *,
    length_s: float = 0.3,
    every_s: float = 20.0,
    first_s: float = 5.0,
) -> Iterator[ImuSeries]:
    """Yield each recording with gaps at regular times after its first sample.

    Parameters
    ----------
    recordings : iterable of ImuSeries
        Samples at ``start <= t < start + length_s`` are cut, for start = ``first_s``,
        ``first_s + every_s`` and so on.
    length_s, every_s, first_s : float
        Length of each gap, period of the gaps, and start of the first [s].

    Yields
    ------
    ImuSeries

    Raises
    ------
    ValueRangeError
        The gaps overlap, or a time is negative.
    """
    if not (0.0 <= length_s < every_s and first_s >= 0.0):
        raise ValueRangeError(
            f"expected gaps shorter than {every_s} s, from 0 s or later, got {length_s} s from "
            f"{first_s} s"
        )
    length, every, first = (round(s * NS_PER_S) for s in (length_s, every_s, first_s))
    for series in recordings:
        since = series.t_ns - series.t_ns[:1] - first
        yield series[(since < 0) | (since % every >= length)]


def blank_samples(
    recordings: Iterable[ImuSeries], *, probability: float = 0.02, seed: int = 2
) -> Iterator[ImuSeries]:
    """Yield each recording with rows of NaN, for each sensor independently.

    Parameters
    ----------
    recordings : iterable of ImuSeries
    probability : float
        Of each row of angular velocity, specific force and, if present, magnetic field, drawn
        in this order.
    seed : int
        Of the generator, ``numpy.random.default_rng``.

    Yields
    ------
    ImuSeries

    Raises
    ------
    ValueRangeError
        ``probability`` is not in [0, 1].
    """
    _require_probability(probability)
    rng = np.random.default_rng(seed)
    for series in recordings:
        blanked = {}
        for name in ("angular_velocity", "specific_force", "magnetic_field"):
            column = getattr(series, name)
            if column is not None:
                lost = rng.random(len(series)) < probability
                blanked[name] = np.where(lost[:, np.newaxis], np.nan, column)
        yield series.replace(**blanked)


def surviving(reference: Track, series: ImuSeries) -> Trajectory:
    """Return the rows of a reference at whose stamps a series still has a sample.

    Parameters
    ----------
    reference : Trajectory, or result with one
        At the stamps of the series before the fault.
    series : ImuSeries
        The same series after it.

    Returns
    -------
    Trajectory
    """
    reference = as_track(reference, "reference")
    return reference[np.isin(reference.t_ns, series.t_ns)]


def _require_probability(probability: float) -> None:
    if not 0.0 <= probability <= 1.0:
        raise ValueRangeError(f"expected a probability in [0, 1], got {probability}")
