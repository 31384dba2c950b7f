"""Probability that a candidate is a fall, learnt from recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from strapdown.detection.falls.detector import FallDetector
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.detection.falls.params import FallParams
    from strapdown.series import ImuSeries

__all__ = ["FallScore"]


@dataclass(frozen=True)
class FallScore:
    """Logistic law of the probability that a candidate is a fall, fitted to recordings.

    A detector with a score decides by it instead of by low phase and tilt; candidates are still
    opened by the peak.

    Parameters
    ----------
    weights : tuple of 6 float
        Of the features in the order of ``FEATURES``.
    offset : float
        Log-odds where all features are 0.
    threshold : float
        Probability from which a candidate is reported.

    Raises
    ------
    ShapeError
        There are not 6 weights.
    """

    weights: tuple[float, ...]
    offset: float
    threshold: float = 0.5

    FEATURES: ClassVar[tuple[str, ...]] = (
        "peak_m_s2",
        "low_duration_s",
        "angle_rad",
        "horizontal_std_m_s2",
        "rate_peak_rad_s",
        "activity_m_s2",
    )

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.FEATURES):
            raise ShapeError(f"expected {len(self.FEATURES)} weights, got {len(self.weights)}")

    @classmethod
    def fit(
        cls,
        recordings: Sequence[ImuSeries],
        labels: ArrayLike,
        *,
        params: FallParams | None = None,
        ridge: float = 1.0,
    ) -> FallScore:
        """Fit the law to recordings with known labels.

        Of each recording the candidate with the largest peak is used; one without a candidate is
        ignored. All recordings should have the same sensors: without a gyro the turn rate is 0.

        Parameters
        ----------
        recordings : sequence of N ImuSeries
            Each with one fall or none.
        labels : (N,) bool
            Whether the recording has a fall.
        params : FallParams, optional
            Parameters of the detector.
        ridge : float, optional
            Penalty on the squares of the weights of standardised features; it keeps them finite
            where falls and others are separable.

        Raises
        ------
        ShapeError
            The numbers of labels and recordings differ.
        ValueRangeError
            The candidates are all falls, or all others.
        """
        known = np.asarray(labels, np.bool_)
        if known.shape != (len(recordings),):
            raise ShapeError(f"expected {len(recordings)} labels, got {known.shape}")
        every = cls((0.0,) * len(cls.FEATURES), 500.0)
        found = [_features(series, FallDetector(params, score=every)) for series in recordings]
        rows = np.array([row is not None for row in found], np.bool_)
        features = np.array([row for row in found if row is not None])
        target = known[rows].astype(np.float64)
        if not 0.0 < target.sum() < len(target):
            raise ValueRangeError(
                f"expected candidates of both kinds, got {int(target.sum())} falls among "
                f"{len(target)} candidates; give recordings of falls and of activities"
            )
        mean, scale = features.mean(axis=0), features.std(axis=0)
        scale[scale == 0.0] = 1.0
        slopes, offset = _logistic((features - mean) / scale, target, ridge)
        weights = slopes / scale
        return cls(tuple(weights.tolist()), float(offset - weights @ mean))


def _features(series: ImuSeries, detector: FallDetector) -> FloatArray | None:
    """Return the features of the largest candidate of a recording."""
    events = detector.run(series).filter("fall")
    if not len(events):
        return None
    largest = int(np.argmax(events.values["peak_m_s2"]))
    return np.array([events.values[name][largest] for name in FallScore.FEATURES])


def _logistic(features: FloatArray, target: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    """Return slopes and offset of the penalised maximum likelihood, by Newton's method."""
    design = np.column_stack([features, np.ones(len(features))])
    penalty = ridge * np.diag([1.0] * features.shape[1] + [1e-6])
    law = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ law, -500.0, 500.0)))
        gradient = design.T @ (target - p) - penalty @ law
        hessian = (design * (p * (1.0 - p))[:, None]).T @ design + penalty
        change = np.linalg.solve(hessian, gradient)
        law += change
        if np.abs(change).max() < 1e-9:
            break
    return law[:-1], float(law[-1])
