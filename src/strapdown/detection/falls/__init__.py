"""Falls of people."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.falls import _kernels as kernels
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.series import ImuSeries

__all__ = ["FALL_PRESETS", "FallDetector", "FallParams", "FallScore"]


@dataclass(frozen=True)
class FallParams(DetectorParams):
    """What can be set; the defaults are for a sensor at the waist.

    Parameters
    ----------
    low_m_s2 : float
        The specific force is below this at some time in the second before the impact.
    high_m_s2, high_below_40_hz_m_s2 : float
        Its peak is above this; the second below 40 Hz, where peaks are missed.
    angle_rad : float
        The mean specific force turns by more than this, from the second that ends one second
        before the impact to the second that begins one second after it.
    coverage : float
        Share of each of these seconds that has to be measured; with less a candidate stays
        undecided, and is counted.
    long_lie_s, long_lie_within_s : float
        To lie still for so long, at the latest so long after the impact, is an event of its own.
    still_m_s2, still_rad_s : float
        Still is who moves less than this: specific force about its mean, turn rate.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive, or the coverage above 1.
    """

    low_m_s2: float = 0.7 * STANDARD_GRAVITY
    high_m_s2: float = 2.5 * STANDARD_GRAVITY
    high_below_40_hz_m_s2: float = 1.8 * STANDARD_GRAVITY
    angle_rad: float = 45.0 * RAD_PER_DEG
    coverage: float = 0.8
    long_lie_s: float = 10.0
    long_lie_within_s: float = 60.0
    still_m_s2: float = 0.5
    still_rad_s: float = 10.0 * RAD_PER_DEG

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coverage > 1.0:
            raise ValueRangeError(f"expected coverage up to 1, got {self.coverage}")


FALL_PRESETS: Final[Mapping[str, FallParams]] = MappingProxyType(
    {
        "waist": FallParams(),
        "pocket": FallParams(high_m_s2=2.0 * STANDARD_GRAVITY),
        "wrist": FallParams(high_m_s2=3.0 * STANDARD_GRAVITY),
    }
)
"""Parameters by the place of the sensor. The wrist is a weak place: arms swing, turn and knock as
in a fall, and a fall need not turn them."""


@dataclass(frozen=True)
class FallScore:
    """How likely a candidate is a fall: a logistic law, fitted on recordings of one's own.

    With a score a detector decides by it, and no longer by low phase and tilt; candidates are
    still opened by the peak.

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
        """Fit the law to recordings of which one knows whether there is a fall in them.

        Of each recording the candidate with the largest peak is taken; one without a candidate
        teaches nothing. All recordings should have the same sensors: without a gyro the turn rate
        is 0.

        Parameters
        ----------
        recordings : sequence of N ImuSeries
            Each with one fall or none.
        labels : (N,) bool
            Whether there is a fall.
        params : FallParams, optional
            Those with which the detector will work.
        ridge : float, optional
            Penalty on the squares of the weights of standardised features; it keeps them finite
            where falls and others are separable.

        Raises
        ------
        ShapeError
            There are not as many labels as recordings.
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


class FallDetector(Detector[FallParams]):
    """Find falls of people: a low specific force, an impact, and another posture after it.

    A sample above ``high_m_s2`` opens a candidate, and a larger one within a second moves it. It is
    a fall if the specific force was low in the second before it, and if its mean, a second
    before and a second after, differs in direction by more than ``angle_rad``. To lie still is not
    demanded, since people move after a fall; it is an event of its own.

    Latency: 2 s from the impact. For sampling rates of 20 to 1000 Hz.

    An event ``fall`` begins with the smallest specific force and ends with the impact. An event
    ``long_lie`` begins when the wearer of a sensor that reported a fall lies still, and ends
    ``long_lie_s`` later; there is one at most for a fall.

    =====================  ====================================================================
    value                  meaning
    =====================  ====================================================================
    low_m_s2               smallest specific force in the second before the impact
    peak_m_s2              specific force at the impact, at least so much where it is clipped
    low_duration_s         how long it was below ``low_m_s2`` in that second
    angle_rad              change of posture
    horizontal_std_m_s2    largest standard deviation of the horizontal specific force in 1 s,
                           below 5 Hz
    rate_peak_rad_s        largest turn rate within a second of the impact; 0 without a gyro
    activity_m_s2          standard deviation below 5 Hz from 1 s to 2 s after it
    score                  probability, where a score was fitted
    since_fall_s           of a long lie: time since the impact
    =====================  ====================================================================

    The flag ``clipped`` says that the accelerometer was saturated at the peak, and ``free_fall``
    that it read nearly nothing (below 1.5 m/s^2) for 0.2 s before: people do not fall so, and the
    device may have been dropped.

    This is a signal detector and no medical device: nothing here shows that it serves anybody's
    safety.

    Parameters
    ----------
    params : FallParams, optional
        ``FALL_PRESETS`` has some by the place of the sensor; by default the waist.
    score : FallScore, optional
        Decide by a law fitted on one's own recordings.
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.

    References
    ----------
    A. Sucerquia, J. D. Lopez, J. F. Vargas-Bonilla, "SisFall: a fall and movement dataset", Sensors
    17(1):198, 2017 (horizontal standard deviation). Q. T. Huynh et al., "Optimization of an
    accelerometer and gyroscope-based fall detection algorithm", Journal of Sensors 2015.
    """

    NAME = "fall"
    PARAMS = FallParams
    KINDS = ("fall", "long_lie")
    VALUES = ("low_m_s2", *FallScore.FEATURES, "score", "since_fall_s")
    FLAGS = ("clipped", "free_fall")
    KERNELS: ClassVar = kernels

    def __init__(
        self,
        params: FallParams | None = None,
        *,
        score: FallScore | None = None,
        compiled: bool = True,
    ) -> None:
        self.score = score
        super().__init__(params, compiled=compiled)

    def _make_settings(self) -> tuple[float, ...]:
        none = (np.nan,) * (len(FallScore.FEATURES) + 2)
        law = (*self.score.weights, self.score.offset, self.score.threshold) if self.score else none
        return (*self.params.settings(), *law)


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
