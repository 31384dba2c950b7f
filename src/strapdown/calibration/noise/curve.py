"""Allan curves: of all channels as they are measured, and of one with the weights of its points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.noise.model import NoiseModel

__all__ = ["FEWEST", "AllanCurves", "Curve", "curves_of"]

FEWEST: Final = 5
"""Fewest cluster times of a fit."""
_CAP: Final = 5.0  # largest weight, in medians
_TYPES: Final = ("quantisation", "white", "flicker", "random_walk")
_PER_DECADE: Final = 40  # most cluster times of a fit
_SLOPES: Final = (-0.75, -0.25, 0.25)  # between the types
_ALLAN: Final = ("oadev", "adev", "totdev")
"""Kinds of deviation that estimate the Allan deviation; others have other curves."""


class AllanCurves(Protocol):
    """Deviations (T, C) of C channels: what the fit uses of an :class:`AllanResult`."""

    @property
    def kind(self) -> str: ...  # noqa: D102 (as AllanResult)
    @property
    def tau_s(self) -> FloatArray: ...  # noqa: D102
    @property
    def deviation(self) -> FloatArray: ...  # noqa: D102
    @property
    def edf(self) -> FloatArray: ...  # noqa: D102
    @property
    def channels(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def units(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def rate_hz(self) -> float: ...  # noqa: D102
    @property
    def samples(self) -> int: ...  # noqa: D102
    @property
    def duration_s(self) -> float: ...  # noqa: D102

    def with_noise_types(  # noqa: D102
        self, noise_types: Sequence[Sequence[str]], /
    ) -> AllanCurves: ...


def curves_of(
    result: AllanCurves, models: Sequence[NoiseModel | None] | None = None
) -> list[Curve]:
    """Return the curve of each channel, with the degrees of freedom of a type of noise.

    Parameters
    ----------
    result : AllanResult
    models : sequence of NoiseModel, optional
        Model of each channel, whose slope gives the type at each cluster time; by default white
        noise, whose degrees of freedom are at most twice those of other noise.

    Raises
    ------
    UnknownNameError
        The deviation is not an Allan deviation.
    """
    if str(result.kind) not in _ALLAN:
        raise UnknownNameError("Allan deviation for noise parameters", str(result.kind), _ALLAN)
    flat: list[NoiseModel | None] = [None] * len(result.channels)
    columns = [_types(model, result.tau_s) for model in models or flat]
    result = result.with_noise_types(list(zip(*columns, strict=True)))
    rows = _spaced(result.tau_s)
    points = zip(result.deviation[rows].T, result.edf[rows].T, strict=True)
    return [Curve.of(result.tau_s[rows], deviation, edf) for deviation, edf in points]


def _spaced(tau_s: FloatArray) -> IntArray:
    """Return the rows of a fit: denser cluster times add work, but hardly any information."""
    bins = np.floor(_PER_DECADE * np.log10(tau_s / tau_s[0]) + 1e-9)
    return np.unique(bins, return_index=True)[1] if len(tau_s) else np.arange(0)


def _types(model: NoiseModel | None, tau_s: FloatArray) -> list[str]:
    """Return the type of noise at each cluster time, by the slope of a model."""
    if model is None or not model.terms(1.0):
        return ["white"] * len(tau_s)
    return [_TYPES[k] for k in np.searchsorted(_SLOPES, model.slope(tau_s))]


@dataclass(frozen=True)
class Curve:
    """Measured variances with their expected scatter.

    Parameters
    ----------
    tau_s : (T,)
        Cluster times, ascending [s].
    variance : (T,)
        Allan variances, above 0 [u^2].
    edf : (T,)
        Equivalent degrees of freedom.
    """

    tau_s: FloatArray
    variance: FloatArray
    edf: FloatArray

    @classmethod
    def of(cls, tau_s: FloatArray, deviation: FloatArray, edf: FloatArray) -> Curve:
        """Return the curve of the points that are known."""
        good = np.isfinite(deviation) & (deviation > 0.0) & np.isfinite(edf) & (edf > 0.0)
        return cls(tau_s[good], deviation[good] ** 2, edf[good])

    def from_time(self, tau_s: float) -> Curve:
        """Return the part from a cluster time on [s]."""
        keep = self.tau_s >= tau_s
        return Curve(self.tau_s[keep], self.variance[keep], self.edf[keep])

    def upper(self, confidence: float) -> FloatArray:
        """Return the upper bound (T,) of each deviation, of a two-sided interval [u]."""
        return np.asarray(np.sqrt(self.variance / self.scatter(0.5 * (1.0 - confidence))))

    def scatter(self, probability: FloatArray | float) -> FloatArray:
        """Return the quantiles (..., T) of measured over true variance, which is chi-square."""
        from scipy.special import gammaincinv  # noqa: PLC0415 (slow to import)

        return np.asarray(2.0 * gammaincinv(0.5 * self.edf, probability) / self.edf)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.tau_s)

    @cached_property
    def log_variance(self) -> FloatArray:
        """Estimate (T,) of the logarithm of the true variance.

        The logarithm of a chi-square variable is lower on average than that of its mean.
        """
        from scipy.special import digamma  # noqa: PLC0415 (slow to import)

        half = self.edf / 2.0
        return np.asarray(np.log(self.variance) - (digamma(half) - np.log(half)))

    @cached_property
    def weights(self) -> FloatArray:
        """Weight (T,) of each point: the reciprocal variance of its logarithm, capped.

        Without the cap the shortest cluster times, of a thousand times the weight, would decide
        alone how a model fits that is only nearly true.
        """
        weights = self.edf / 2.0
        return np.minimum(weights, _CAP * np.median(weights))

    @property
    def per_octave(self) -> float:
        """Points per octave, at least 1: so many neighbours share their data."""
        octaves = np.log2(self.tau_s[-1] / self.tau_s[0])
        return max(1.0, float((len(self) - 1) / octaves))
