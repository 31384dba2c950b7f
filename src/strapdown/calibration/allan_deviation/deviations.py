"""Allan-type deviations of a log at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_member
from strapdown._scratch import scratch
from strapdown.calibration.allan_deviation.clusters import cluster_sizes
from strapdown.calibration.allan_deviation.confidence import (
    NoiseType,
    as_noise_types,
    bounds,
    degrees_of_freedom,
)
from strapdown.calibration.allan_deviation.differences import units_of
from strapdown.calibration.allan_deviation.estimators import (
    DeviationKind,
    sums_of_squares,
    term_counts,
    unit_of,
    variance_of,
)
from strapdown.calibration.allan_deviation.findings import coarse_codes, drift, motion, shortness
from strapdown.calibration.allan_deviation.noise_types import identified
from strapdown.calibration.allan_deviation.pieces import read_log, samples_of
from strapdown.calibration.allan_deviation.result import AllanResult
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries, Increments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.calibration.allan_deviation.clusters import Grid
    from strapdown.calibration.allan_deviation.pieces import Gap, RateLog

__all__ = ["allan"]


def allan(  # noqa: PLR0913 (options of one estimate, by name)
    data: ImuSeries | Increments | ArrayLike,
    *,
    rate_hz: float | None = None,
    kind: DeviationKind | str = DeviationKind.OADEV,
    taus: Grid | ArrayLike = "log",
    confidence: float = 0.683,
    gap: Gap = "cut",
    noise_types: Sequence[Sequence[NoiseType | str]] | None = None,
    progress: Callable[[float], object] | None = None,
) -> AllanResult:
    """Return the Allan-type deviation of every channel of a log at rest.

    ==========  =====================================================================
    kind        deviation
    ==========  =====================================================================
    ``oadev``   Allan deviation from overlapping clusters
    ``adev``    Allan deviation from clusters that do not overlap
    ``mdev``    modified: distinguishes quantisation from white noise
    ``tdev``    ``tau / sqrt(3)`` times the modified one
    ``ohdev``   Hadamard, overlapping: not affected by a constant drift of the rate
    ``hdev``    Hadamard, from clusters that do not overlap
    ``totdev``  total: the log is extended by reflection, for the longest cluster times
    ==========  =====================================================================

    Parameters
    ----------
    data : ImuSeries, Increments or array_like (N,) or (N, C)
        Six channels of a series, which are cut at gaps by their stamps, or rates of C channels
        at equal intervals. Increments count as mean rates; of an integrated angle or velocity x
        pass ``np.diff(x) * rate_hz``.
    rate_hz : float, optional
        Sampling rate of an array; of a series the nominal one, with which that of the stamps is
        compared [Hz].
    kind : DeviationKind or name
    taus : {"log", "octave", "decade", "all"} or array_like
        20 cluster times a decade, powers of 2, powers of 10, or all, from one sample to a ninth
        of the log; or cluster times up to half of the log [s], which are rounded to whole
        samples. Those for which every piece is too short are left out.
    confidence : float
        Probability between the bounds.
    gap : {"cut", "bridge"}
        No difference spans a missing or invalid sample. ``bridge`` interpolates single ones.
    noise_types : (T, C) sequence of NoiseType, optional
        For the bounds; by default identified at each cluster time.
    progress : callable, optional
        Called with the finished share of the work after each channel.

    Raises
    ------
    TypeError, ShapeError
        An array without a rate, or of a wrong shape.
    ValueRangeError
        The rate is not positive, a cluster time is outside its range or longer than every piece,
        the confidence is not between 0 and 1, or there are not three valid samples in a row.
    TimeOrderError
        The stamps of the series repeat or go back.
    UnknownNameError
        There is no such kind, grid, treatment of gaps or type of noise.

    References
    ----------
    IEEE Std 952-1997, annex C; W. J. Riley, "Handbook of Frequency Stability Analysis", NIST
    Special Publication 1065, 2008.

    Examples
    --------
    >>> result = allan([0.0, 1.0, 0.0, 1.0, 2.0, 1.0], rate_hz=1.0, taus=[1.0, 2.0])
    >>> result.deviation[:, 0].round(4).tolist()
    [0.7071, 0.5774]
    """
    kind = as_member(DeviationKind, kind, "deviation")
    if not 0.0 < confidence < 1.0:
        raise ValueRangeError(f"expected confidence between 0 and 1, got {confidence}")
    rates = samples_of(data) if isinstance(data, Increments) else data
    log = read_log(rates, rate_hz, gap)
    sizes, terms = _clusters(kind, taus, log)
    squares, found = _estimate(kind, sizes, log, progress or (lambda _done: None))
    variance = variance_of(kind, squares, terms[:, None], sizes[:, None], log.rate_hz)
    deviation = np.sqrt(variance)
    if noise_types is not None:
        found = as_noise_types(noise_types, deviation.shape)
    edf = degrees_of_freedom(kind, sizes, log.lengths, found)
    lower, upper = bounds(deviation, edf, confidence)
    notes, warnings = motion(rates) if isinstance(rates, ImuSeries) else ([], [])
    warnings += drift(log, kind, sizes / log.rate_hz, deviation)
    warnings += coarse_codes(log) + shortness(log.duration_s)
    return AllanResult(
        kind=kind,
        tau_s=sizes / log.rate_hz,
        cluster_size=sizes,
        deviation=deviation,
        terms=terms,
        edf=edf,
        lower=lower,
        upper=upper,
        confidence=confidence,
        channels=log.channels,
        units=tuple(unit_of(kind, unit) for unit in log.units),
        rate_hz=log.rate_hz,
        samples=int(log.lengths.sum()),
        duration_s=log.duration_s,
        pieces=len(log.pieces),
        coverage=log.coverage,
        notes=(*log.notes, *notes),
        warnings=(*log.warnings, *warnings),
        noise_types=found,
        piece_samples=log.lengths,
    )


def _clusters(
    kind: DeviationKind, taus: Grid | ArrayLike, log: RateLog
) -> tuple[IntArray, IntArray]:
    """Return the cluster sizes that have terms, and their number of terms."""
    sizes = cluster_sizes(taus, int(log.lengths.sum()), log.rate_hz)
    terms = np.zeros_like(sizes)
    for length in log.lengths.tolist():
        terms += term_counts(kind, length + 1, sizes)
    used = terms > 0
    if not used.any():
        raise ValueRangeError(
            f"expected pieces longer than the cluster times, got {int(log.lengths.max())} samples "
            f"in a row for {kind} of {int(sizes.min())}; ask for shorter cluster times"
        )
    return sizes[used], terms[used]


def _estimate(
    kind: DeviationKind, sizes: IntArray, log: RateLog, progress: Callable[[float], object]
) -> tuple[FloatArray, tuple[tuple[NoiseType, ...], ...]]:
    """Return sums of squares and types of noise (T, C)."""
    units = sum(units_of(term_counts(kind, n + 1, sizes)).sum() for n in log.lengths.tolist())
    work = len(log.columns) * int(units)
    squares, types = np.empty((len(sizes), len(log.columns))), []
    for c, column in enumerate(log.columns):
        integrals = _integrals(column, log.pieces)
        squares[:, c] = sum(sums_of_squares(kind, x, sizes, work=work) for x in integrals)
        types.append(_types_along(integrals, sizes))
        progress((c + 1) / len(log.columns))
    return squares, tuple(zip(*types, strict=True))


def _integrals(column: FloatArray, pieces: Sequence[slice]) -> list[FloatArray]:
    """Return the sum (N + 1,) of the rates of each piece without their mean, up to each sample."""
    ends = np.cumsum([piece.stop - piece.start + 1 for piece in pieces])
    together = scratch(column, int(ends[-1]))
    integrals = np.split(together, ends[:-1])
    for integral, piece in zip(integrals, pieces, strict=True):
        rates = column[piece]
        integral[0] = 0.0
        np.subtract(rates, rates.mean(), out=integral[1:])
        np.cumsum(integral[1:], out=integral[1:])
    return integrals


def _types_along(integrals: Sequence[FloatArray], sizes: IntArray) -> list[NoiseType]:
    """Return the type of noise at each size; where it is unknown, that of the size before."""
    types: list[NoiseType] = []
    for m in sizes.tolist():
        types.append(identified(integrals, m) or (types[-1] if types else NoiseType.WHITE))
    return types
