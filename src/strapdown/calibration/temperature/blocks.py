"""Means of a recording over short blocks of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["Blocks", "block_means"]


class Blocks(NamedTuple):
    """Means (B, 3) and standard deviations (B,) of blocks.

    Parameters
    ----------
    t_ns : (B,) int64
        Mean stamps [ns].
    angular_velocity, specific_force : (B, 3)
        Means [rad/s, m/s^2, body].
    rate_spread, force_spread : (B,)
        Root mean square over the axes of the standard deviations [rad/s, m/s^2].
    """

    t_ns: IntArray
    angular_velocity: FloatArray
    specific_force: FloatArray
    rate_spread: FloatArray
    force_spread: FloatArray

    def rows(self, chosen: BoolArray) -> Blocks:
        """Return some of the blocks."""
        t_ns, *columns = self
        return Blocks(t_ns[chosen], *(column[chosen] for column in columns))


def block_means(series: ImuSeries, seconds: float) -> Blocks:
    """Return the blocks of a series that have samples of both sensors.

    Parameters
    ----------
    series : ImuSeries
        In any order; rows with a value that is not finite are left out.
    seconds : float
        Length of a block [s].
    """
    vectors = np.hstack([series.angular_velocity, series.specific_force])
    known = np.isfinite(vectors).all(axis=1)
    vectors, t_ns = vectors[known], series.t_ns[known]
    start_ns = int(t_ns.min()) if len(t_ns) else 0
    since = t_ns - start_ns
    _, block = np.unique(since // round(seconds * NS_PER_S), return_inverse=True)
    count = np.bincount(block)
    offset = np.median(vectors, axis=0) if len(vectors) else np.zeros(6)

    def mean(values: FloatArray) -> FloatArray:
        return np.stack([np.bincount(block, c) / count for c in values.T], axis=1)

    means = mean(vectors - offset)
    squares = np.maximum(mean((vectors - offset) ** 2) - means**2, 0.0)
    stamps = np.bincount(block, since.astype(np.float64)) / count
    return Blocks(
        start_ns + np.round(stamps).astype(np.int64),
        (means + offset)[:, :3],
        (means + offset)[:, 3:],
        np.sqrt(squares[:, :3].mean(axis=1)),
        np.sqrt(squares[:, 3:].mean(axis=1)),
    )
