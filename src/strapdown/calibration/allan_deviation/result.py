"""Result of :func:`allan`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown._html import html_table
from strapdown._words import counted
from strapdown.calibration.allan_deviation.confidence import (
    as_noise_types,
    bounds,
    degrees_of_freedom,
    expected_error,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.allan_deviation.confidence import NoiseType
    from strapdown.calibration.allan_deviation.estimators import DeviationKind
    from strapdown.calibration.noise import NoiseFit, Reading
    from strapdown.calibration.noise.result import Intervals

__all__ = ["AllanResult"]


@dataclass(frozen=True, eq=False, repr=False)
class AllanResult:
    """Deviations of the channels of a log over T cluster times.

    Parameters
    ----------
    kind : DeviationKind
        Kind of deviation.
    tau_s : (T,)
        Cluster times, ascending [s].
    cluster_size : (T,) int64
        Samples in a cluster.
    deviation : (T, C)
        In the unit of the channel.
    terms : (T,) int64
        Number of squared differences in each value.
    edf : (T, C)
        Equivalent degrees of freedom, for the type of noise.
    lower, upper : (T, C)
        Confidence bounds, in the unit of the channel.
    confidence : float
        Probability between the bounds.
    channels : tuple of str
        Names, such as ``angular_velocity.x``; for an array the numbers of the columns.
    units : tuple of str
        Units of the deviations: ``rad/s`` and ``m/s^2``, of ``tdev`` ``rad`` and ``m/s``; empty
        for an array.
    rate_hz : float
        Sampling rate; from stamps their mean rate [Hz].
    samples : int
        Samples in the pieces.
    duration_s : float
        Time from the first to the last sample, with gaps [s].
    pieces : int
        Number of stretches without missing samples; no difference spans two of them.
    coverage : float
        Share of the duration in the pieces.
    notes, warnings : tuple of str
        Properties of the input that were accounted for, and those that make values doubtful.
    noise_types : tuple of tuple of NoiseType
        Type of noise by cluster time and channel, on which ``edf`` is based.
    piece_samples : (P,) int64
        Samples in each piece.
    """

    kind: DeviationKind
    tau_s: FloatArray
    cluster_size: IntArray
    deviation: FloatArray
    terms: IntArray
    edf: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    channels: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float
    samples: int
    duration_s: float
    pieces: int
    coverage: float
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    noise_types: tuple[tuple[NoiseType, ...], ...]
    piece_samples: IntArray

    def __repr__(self) -> str:
        return (
            f"AllanResult({self.kind} of {counted(len(self.channels), 'channel')}, "
            f"{counted(len(self.tau_s), 'cluster time')}, {self.duration_s:.6g} s "
            f"at {self.rate_hz:.6g} Hz)"
        )

    def _repr_html_(self) -> str:
        heading = ["tau [s]", *map("{} [{}]".format, self.channels, self.units)]
        rows = [
            [f"{tau:.6g}", *(f"{value:.4g}" for value in values)]
            for tau, values in zip(self.tau_s, self.deviation, strict=True)
        ]
        return html_table(repr(self), heading, rows)

    @property
    def expected_error(self) -> FloatArray:
        """Relative standard error (T,) of a deviation of white noise, ``1/sqrt(2(N/m - 1))``."""
        return expected_error(self.samples, self.cluster_size)

    def with_noise_types(self, noise_types: Sequence[Sequence[NoiseType | str]]) -> AllanResult:
        """Return the same deviations with degrees of freedom and bounds for given types of noise.

        Parameters
        ----------
        noise_types : (T, C) sequence of NoiseType or name
            For instance those of the largest term of a fitted model.

        Raises
        ------
        ShapeError
            There is not one type for each value.
        UnknownNameError
            There is no such type.
        """
        types = as_noise_types(noise_types, self.deviation.shape)
        edf = degrees_of_freedom(self.kind, self.cluster_size, self.piece_samples, types)
        lower, upper = bounds(self.deviation, edf, self.confidence)
        return replace(self, noise_types=types, edf=edf, lower=lower, upper=upper)

    def read(self) -> dict[str, dict[str, Reading]]:
        """Return the noise coefficients of each channel as read off the curve.

        :func:`strapdown.calibration.read_noise` describes the method.
        """
        from strapdown.calibration.noise import read_noise  # noqa: PLC0415 (needs SciPy)

        return read_noise(self)

    def fit(
        self,
        *,
        gauss_markov: int = 3,
        bandwidth_hz: float | None = None,
        intervals: Intervals = "fast",
        seed: int = 0,
    ) -> NoiseFit:
        """Return the noise terms of each channel with 95 % intervals.

        The parameters are those of :func:`strapdown.calibration.fit_noise`.
        """
        from strapdown.calibration.noise import fit_noise  # noqa: PLC0415 (needs SciPy)

        return fit_noise(
            self,
            gauss_markov=gauss_markov,
            bandwidth_hz=bandwidth_hz,
            intervals=intervals,
            seed=seed,
        )

    def to_csv(self, fit: NoiseFit | None = None) -> str:
        """Return the curves with bounds as CSV text, and the model of a fit.

        One row a cluster time: ``tau_s``, ``terms``, and of each channel ``NAME``, ``NAME.lower``,
        ``NAME.upper``, ``NAME.edf`` and ``NAME.model``, in SI units.
        """
        from strapdown.calibration.noise.table import to_csv  # noqa: PLC0415 (few need it)

        return to_csv(self, fit)

    def to_dict(self) -> dict[str, object]:
        """Return every field in types of JSON (NaN may occur)."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    """Return a value in types of JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, str) else value
