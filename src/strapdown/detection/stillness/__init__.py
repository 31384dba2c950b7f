"""Stillness: when a sensor, or the foot that carries it, does not move."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from strapdown._checks import as_member
from strapdown._compile import compiled as compile_kernel
from strapdown.detection._kernels import EVENT_SIZE
from strapdown.detection.detector import Detector, DetectorParams
from strapdown.detection.events import Events
from strapdown.detection.stillness import _kernels as kernels
from strapdown.errors import UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.intake import clipping_codes
from strapdown.units import NS_PER_S, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.detection.events import Event
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["Stillness", "StillnessDetector", "StillnessKind", "StillnessParams", "quiet_noise"]

_BLOCK_S: Final = 0.5  # in which the noise of a recording is looked for
_QUIETEST: Final = 0.01  # share of the recording that says how quiet it gets
_ALIKE: Final = 2.0  # blocks up to so many times that variance are as quiet


class StillnessKind(StrEnum):
    """The statistics; see :class:`StillnessDetector`."""

    SHOE = "shoe"
    ARE = "are"
    MV = "mv"
    MAG = "mag"
    LOWPASS = "lowpass"
    VARIANCE = "variance"


@dataclass(frozen=True)
class StillnessParams(DetectorParams):
    """What can be set; the defaults are those of a foot-mounted sensor.

    Parameters
    ----------
    window_s : float
        Length of the window. Longer: surer, and later by half of it. It holds at most 512
        samples.
    accel_sigma_m_s2, gyro_sigma_rad_s : float
        The units of the statistic; with ``threshold=None`` the noise of one sample.
    gravity_m_s2 : float
        What the accelerometer reads at rest.
    accel_bias_m_s2, gyro_bias_rad_s : float
        Largest bias: so much of the length of a mean counts as none. A gyro whose bias has not
        been subtracted needs it.
    threshold : float, optional
        Of the statistic. Larger: more counts as still. None: by the chi-square law of white
        noise, for as many samples as the window holds.
    leave_ratio : float
        Stillness ends above so many thresholds.
    min_duration_s : float
        What is quiet for less is not still.
    false_alarm_rate : float
        Share of the windows of a still sensor above the threshold of the law.
    tau_s : float
        Of the low-pass of ``lowpass``.
    rate_deviation_rad_s, force_deviation_m_s2, rate_limit_rad_s : float
        Of ``lowpass``: how far a sample may be from the low-passed ones, and how large their
        angular velocity may be (a slower even turn passes for a bias).

    Raises
    ------
    ValueRangeError
        A value is not finite and positive, or the false-alarm rate is not below 1.
    """

    window_s: float = 0.025
    accel_sigma_m_s2: float = 0.01
    gyro_sigma_rad_s: float = 0.1 * RAD_PER_DEG
    gravity_m_s2: float = STANDARD_GRAVITY
    accel_bias_m_s2: float = field(default=0.0, metadata={"zero": True})
    gyro_bias_rad_s: float = field(default=0.0, metadata={"zero": True})
    threshold: float | None = 1e5
    leave_ratio: float = 2.0
    min_duration_s: float = field(default=0.0, metadata={"zero": True})
    tau_s: float = 0.5
    rate_deviation_rad_s: float = 2.0 * RAD_PER_DEG
    force_deviation_m_s2: float = 0.5
    rate_limit_rad_s: float = 3.0 * RAD_PER_DEG
    false_alarm_rate: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.false_alarm_rate < 1.0 <= self.leave_ratio:
            raise ValueRangeError(
                "expected false_alarm_rate below 1 and leave_ratio of at least 1, got "
                f"{self.false_alarm_rate} and {self.leave_ratio}"
            )

    def settings(self) -> tuple[float, ...]:
        """Return the numbers as the kernels take them."""
        quantile = -NormalDist().inv_cdf(self.false_alarm_rate)
        return (*super().settings()[:-1], quantile)

    @classmethod
    def of(cls, kind: StillnessKind | str) -> StillnessParams:
        """Return the defaults of a kind of statistic.

        Raises
        ------
        UnknownNameError
            There is no such kind.
        """
        kind = as_member(StillnessKind, kind, "kind of stillness")
        if kind is StillnessKind.LOWPASS:
            return cls(threshold=1.0, min_duration_s=1.0)
        if kind is StillnessKind.VARIANCE:
            return cls(window_s=1.0, accel_sigma_m_s2=0.02, threshold=4.0, min_duration_s=1.0)
        if kind in (StillnessKind.MV, StillnessKind.MAG):
            return cls(threshold=1e4)
        return cls()


@dataclass(frozen=True, eq=False)
class Stillness:
    """Stillness of a recording.

    Parameters
    ----------
    t_ns : (N,) int64
        Stamps of the series [ns].
    statistic : (N,)
        NaN where a window has too few samples.
    threshold : (N,)
        Below which it is quiet.
    still : (N,) bool
        Within an interval.
    intervals : Events
        Of kind ``still``.
    """

    t_ns: IntArray
    statistic: FloatArray
    threshold: FloatArray
    still: BoolArray
    intervals: Events

    def __repr__(self) -> str:
        return f"Stillness({len(self.t_ns)} samples, {self.still.mean():.0%} still)"


class StillnessDetector(Detector[StillnessParams]):
    """Find when a sensor does not move, from a window of W samples (w, f; mean of f: m).

    ============  ===========================================================================
    kind          statistic
    ============  ===========================================================================
    ``shoe``      mean of |f - g m/|m||^2 / s_a^2 + |w|^2 / s_w^2: both sensors
    ``are``       mean of |w|^2 / s_w^2: the gyro
    ``mv``        mean of |f - m|^2 / s_a^2: variance of the accelerometer
    ``mag``       (|m| - g)^2 / s_a^2: its magnitude
    ``lowpass``   the largest of |w - LP w|, |f - LP f|, |LP w| in units of their limits, squared
    ``variance``  root mean square of the variances of the three axes of f, / s_a^2
    ============  ===========================================================================

    Still is what is below the threshold for ``min_duration_s``, and until it is above
    ``leave_ratio`` thresholds. Latency: the window ends at the sample, so a stream knows of a
    change half a window late, and of stillness ``min_duration_s`` after its begin.
    :meth:`analyse` centres the windows of a recording. In navigation a noise that grows with
    the statistic serves better than a flag: see :class:`~strapdown.estimation.FootNavigator`.

    Events ``still`` carry ``duration_s`` and the mean ``statistic``; flags: ``gap`` (a hole in
    the data ended it), ``open`` (the data ended in it).

    Parameters
    ----------
    kind : StillnessKind or name
    params : StillnessParams, optional
        By default those of the kind, for a sensor on a foot (``shoe``, ``are``, ``mv``,
        ``mag``), on a body (``lowpass``), on a table (``variance``).
    thresholds : "auto", optional
        The threshold follows from the noise by the chi-square law: from that of ``params``,
        or, without any, from that of the first recording (:func:`quiet_noise`).
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.

    Raises
    ------
    UnknownNameError
        There is no such kind, or thresholds are something else than "auto", or "auto" is asked
        for ``lowpass``, which has no law.

    References
    ----------
    I. Skog, P. Handel, J.-O. Nilsson, J. Rantakokko, "Zero-velocity detection: an algorithm
    evaluation", IEEE Transactions on Biomedical Engineering 57(11), 2010. D. Laidig, T. Seel,
    "VQF", Information Fusion 91, 2023 (low-pass). D. Tedaldi, A. Pretto, E. Menegatti, "A robust
    and easy to implement method for IMU calibration without external equipments", ICRA 2014
    (variance).

    Examples
    --------
    >>> from strapdown.samples import ImuSample
    >>> detector = StillnessDetector("mv")
    >>> for k in range(10):
    ...     event = detector.update(ImuSample(k * 5_000_000, None, (0.0, 0.0, 9.81)))
    >>> detector.still
    True
    """

    NAME = "stillness"
    PARAMS = StillnessParams
    KINDS = ("still",)
    VALUES = ("duration_s", "statistic")
    FLAGS = ("gap", "open")
    KERNELS: ClassVar = kernels

    def __init__(
        self,
        kind: StillnessKind | str = StillnessKind.SHOE,
        params: StillnessParams | None = None,
        *,
        thresholds: str | None = None,
        compiled: bool = True,
    ) -> None:
        self.kind = as_member(StillnessKind, kind, "kind of stillness")
        if thresholds not in (None, "auto"):
            raise UnknownNameError("thresholds", str(thresholds), ["auto"])
        if thresholds and self.kind is StillnessKind.LOWPASS:
            raise UnknownNameError("automatic threshold", "lowpass", ["shoe", "are", "mv", "mag"])
        self._noise_is_missing = bool(thresholds) and params is None
        params = params or StillnessParams.of(self.kind)
        super().__init__(
            replace(params, threshold=None) if thresholds else params, compiled=compiled
        )

    def _make_settings(self) -> tuple[float, ...]:
        return float(list(StillnessKind).index(self.kind)), *self.params.settings()

    @property
    def statistic(self) -> float:
        """Of the window that ends with the last sample; NaN where it has too few samples."""
        value = float(self._state[kernels.STATISTIC])
        return value if value >= 0.0 else math.nan

    @property
    def still(self) -> bool:
        """Whether it is certain that the sensor is still now."""
        return bool(self._state[kernels.PHASE] == kernels.STILL)

    def update(self, sample: ImuSample) -> Event | None:
        """Take one sample, and return the still interval that it ends.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits, or automatic thresholds lack a noise.
        """
        if self._noise_is_missing:
            raise ValueRangeError(
                'expected the noise for thresholds="auto" before a stream, got none: '
                "pass params, for instance quiet_noise(series, kind)"
            )
        return super().update(sample)

    def run(self, series: ImuSeries) -> Events:
        """Go on through a series as :meth:`Detector.run` does."""
        self._learn(series)
        return super().run(series)

    def analyse(self, series: ImuSeries, *, centred: bool = True) -> Stillness:
        """Return statistic, flag and intervals of a whole recording.

        The state of the stream is left alone.

        Parameters
        ----------
        series : ImuSeries
            In any body frame.
        centred : bool
            Whether a window has its sample in the middle, or at its end as in a stream.
        """
        self._learn(series)
        inside = series.in_frames(body=BodyFrame.FLU)
        out, still = np.empty((len(series), 3)), np.zeros(len(series), bool)
        compile_kernel(kernels.trace)(
            np.array(kernels.FRESH), np.array(kernels.FRESH_ACCOUNT, np.int64),
            np.array(self._make_settings()),
            inside.t_ns, inside.angular_velocity, inside.specific_force,
            clipping_codes(inside.gyro_clipping, inside.accel_clipping, len(inside)),
            np.zeros(EVENT_SIZE, np.int64), np.zeros(len(self.VALUES)), out, still,
        )  # fmt: skip
        out[out[:, 0] < 0.0, :2] = math.nan
        if centred and len(series):
            ahead = int(np.median(out[:, 2]) - 1) // 2
            rows = np.minimum(np.arange(len(series)) + ahead, len(series) - 1)
            out, still = out[rows], still[rows]
        return Stillness(
            series.t_ns, out[:, 0], out[:, 1], still, _intervals(series.t_ns, out, still)
        )

    def _learn(self, series: ImuSeries) -> None:
        """Take the noise from the first recording, where automatic thresholds have none."""
        if self._noise_is_missing:
            self.params = quiet_noise(series, self.kind)
            self._settings = self._as_vector(self._make_settings())
            self._noise_is_missing = False


def quiet_noise(series: ImuSeries, kind: StillnessKind | str = "shoe") -> StillnessParams:
    """Return parameters whose noise is that of the quietest part of a recording.

    The quietest 1 % of half seconds say how quiet it gets; all that are alike give the noise of
    both sensors, gravity as the accelerometer reads it, and how far its mean and that of the
    gyro lie off. The threshold follows from the chi-square law.

    Parameters
    ----------
    series : ImuSeries
        Ten half seconds at least, in one of which the sensor is still.
    kind : StillnessKind or name, optional
        Whose other parameters to take.

    Raises
    ------
    ValueRangeError
        There is too little to measure, or a sensor reads the same number throughout.
    UnknownNameError
        There is no such kind.
    """
    params = StillnessParams.of(kind)
    rows = _blocks(series)
    rate, force = series.angular_velocity[rows], series.specific_force[rows]
    with np.errstate(invalid="ignore"):
        spread_w = rate.var(axis=1, ddof=1).mean(axis=-1)
        spread_f = force.var(axis=1, ddof=1).mean(axis=-1)
    both = spread_w * spread_f
    if not (both > 0.0).any():
        raise ValueRangeError(
            "expected half seconds with noise of gyro and accelerometer, got none in "
            f"{len(series)} samples: pass the noise as StillnessParams"
        )
    both[~(both > 0.0)] = math.inf
    quiet = both <= _ALIKE**2 * np.quantile(both, _QUIETEST, method="lower")
    lengths = np.linalg.norm(force[quiet].mean(axis=1), axis=-1)
    gravity = float(np.median(lengths))
    return replace(
        params,
        accel_sigma_m_s2=math.sqrt(spread_f[quiet].mean()),
        gyro_sigma_rad_s=math.sqrt(spread_w[quiet].mean()),
        gravity_m_s2=gravity,
        accel_bias_m_s2=float(np.abs(lengths - gravity).max()),
        gyro_bias_rad_s=float(np.linalg.norm(rate[quiet].mean(axis=1), axis=-1).max()),
        threshold=None,
    )


def _blocks(series: ImuSeries) -> IntArray:
    """Return the rows of half seconds, one a row."""
    count = len(series)
    if count < 20:
        raise ValueRangeError(f"expected at least 20 samples to find the noise in, got {count}")
    interval_s = float(np.median(np.diff(series.t_ns))) / NS_PER_S
    size = min(max(int(_BLOCK_S / max(interval_s, 1e-6)), 10), count)
    return np.arange(count // size * size).reshape(-1, size)


def _intervals(t_ns: IntArray, out: FloatArray, still: BoolArray) -> Events:
    """Return the runs of still rows as events."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]])))
    first, after = edges[::2], edges[1::2]
    last = after - 1
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(out[:, 0]))])
    nxt = np.minimum(after, len(t_ns) - 1)
    is_open = after == len(t_ns)
    return Events(
        np.full(len(first), "still"),
        t_ns[first],
        t_ns[last],
        t_ns[first],
        {
            "duration_s": (t_ns[last] - t_ns[first]) / NS_PER_S,
            "statistic": (sums[after] - sums[first]) / np.maximum(after - first, 1),
        },
        {"gap": ~is_open & np.isnan(out[nxt, 0]), "open": is_open},
    )
