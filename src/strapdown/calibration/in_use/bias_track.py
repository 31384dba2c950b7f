"""Bias over successive estimates: fusion, and detection of jumps and drifts.

References
----------
E. Page, "Continuous inspection schemes", Biometrika 41, 1954 (CUSUM).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite, as_params
from strapdown.detection import DetectorParams, Event
from strapdown.errors import ValueRangeError
from strapdown.samples.params import MAY_BE_ZERO
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["BiasTrack", "BiasTrackParams"]

_SIGNS: Final = np.array([[1.0], [-1.0]])


@dataclass(frozen=True)
class BiasTrackParams(DetectorParams):
    """Parameters of a track of biases, in the unit u of the bias; the defaults are for a gyro.

    Parameters
    ----------
    random_walk : float
        K, growth of the standard deviation between estimates [u/sqrt(s)].
    floor : float
        Least standard deviation of the track [u]: the bias follows temperature, which the random
        walk does not cover.
    jump_sigmas : float
        Innovation that is a jump [standard deviations].
    drift_sigmas : float
        Limit of the cumulative sum of innovations that is a drift [standard deviations].
    slack_sigmas : float
        Part of each innovation that the sum ignores [standard deviations]; the sum detects changes
        of twice this size soonest.

    Raises
    ------
    ValueRangeError
        A value is not positive or not finite.
    """

    random_walk: float = field(default=3e-5, metadata=MAY_BE_ZERO)
    floor: float = field(default=5e-5, metadata=MAY_BE_ZERO)
    jump_sigmas: float = 6.0
    drift_sigmas: float = 8.0
    slack_sigmas: float = 0.5


class BiasTrack:
    """Running estimate of a bias: a scalar Kalman filter per axis, which monitors its innovations.

    An innovation beyond ``jump_sigmas`` on any axis is a jump: the track restarts at the new
    estimate instead of averaging, and returns an event ``bias_jump``, with the flag ``shock`` where
    there was a shock since the estimate before. A two-sided cumulative sum (CUSUM) of the
    innovations beyond ``drift_sigmas`` is an event ``bias_drift``: the bias changes in one
    direction faster than its random walk explains. It begins where the sum left zero.

    Values of both events: ``bias_{x,y,z}`` after the event and ``change_{x,y,z}`` since its start
    [unit of the bias], and ``sigmas``, innovation or sum.

    Parameters
    ----------
    params : BiasTrackParams, optional

    Examples
    --------
    >>> track = BiasTrack()
    >>> for minute, bias in enumerate([0.010, 0.0101, 0.013]):
    ...     event = track.update(minute * 60_000_000_000, [bias, 0.0, 0.0], [1e-4] * 3, shock=True)
    >>> event.kind, sorted(event.flags), track.bias.tolist()
    ('bias_jump', ['shock'], [0.013, 0.0, 0.0])
    """

    def __init__(self, params: BiasTrackParams | None = None) -> None:
        self.params = as_params(params, BiasTrackParams)
        self.t_ns: int | None = None
        self._bias = np.full(3, np.nan)
        self._variance = np.full(3, np.inf)
        self._clear_sums()

    @property
    def bias(self) -> FloatArray:
        """Bias (3,); NaN before the first estimate."""
        return self._bias.copy()

    @property
    def sigma(self) -> FloatArray:
        """Standard deviation (3,) of the bias at the last estimate; infinite before the first."""
        sigma: FloatArray = np.sqrt(self._variance)
        return sigma

    def update(
        self, t_ns: int, bias: ArrayLike, sigma: ArrayLike, *, shock: bool = False
    ) -> Event | None:
        """Fuse an estimate, and return the jump or drift that it shows.

        Parameters
        ----------
        t_ns : int
            Stamp of the estimate [ns].
        bias, sigma : (3,)
            Estimate and its standard deviation.
        shock : bool, optional
            Whether there was a shock since the last estimate.

        Raises
        ------
        ShapeError, ValueRangeError
            A vector has another shape, is not finite, or a standard deviation is not positive.
        """
        bias, variance = as_finite(bias, "bias", (3,)), as_finite(sigma, "sigma", (3,)) ** 2
        if not (variance > 0.0).all():
            raise ValueRangeError(f"expected sigma above 0, got {sigma!r}")
        if self.t_ns is None:
            self._start(t_ns, bias, variance)
            return None
        wait_s = max(t_ns - self.t_ns, 0) / NS_PER_S
        predicted = self._variance + self.params.random_walk**2 * wait_s
        innovation = bias - self._bias
        scores = innovation / np.sqrt(predicted + variance)
        largest = float(np.abs(scores).max())
        if largest > self.params.jump_sigmas:
            event = self._event("bias_jump", self.t_ns, t_ns, innovation, bias, largest, shock)
            self._start(t_ns, bias, variance)
            return event
        self._sum(scores, self.t_ns)
        gain = predicted / (predicted + variance)
        self._bias = self._bias + gain * innovation
        self._variance = np.maximum((1.0 - gain) * predicted, self.params.floor**2)
        self.t_ns = t_ns
        return self._drift(t_ns, shock)

    def _start(self, t_ns: int, bias: FloatArray, variance: FloatArray) -> None:
        """Start at an estimate."""
        self.t_ns = t_ns
        self._bias, self._variance = bias.copy(), np.maximum(variance, self.params.floor**2)
        self._clear_sums()

    def _clear_sums(self) -> None:
        """Clear the sums of both directions and three axes; each knows when it left zero."""
        self._sums = np.zeros((2, 3))
        self._since_ns = np.zeros((2, 3), np.int64)
        self._since_bias = np.zeros((2, 3, 3))

    def _sum(self, scores: FloatArray, before_ns: int) -> None:
        """Add innovations since the estimate before to the sums."""
        at_zero = self._sums == 0.0
        self._since_ns[at_zero] = before_ns
        self._since_bias[at_zero] = self._bias
        self._sums = np.maximum(self._sums + _SIGNS * scores - self.params.slack_sigmas, 0.0)

    def _drift(self, t_ns: int, shock: bool) -> Event | None:  # noqa: FBT001 (a flag of the event)
        """Return the drift that the sums show."""
        largest = np.unravel_index(int(np.argmax(self._sums)), self._sums.shape)
        total = float(self._sums[largest])
        if total <= self.params.drift_sigmas:
            return None
        start_ns, change = int(self._since_ns[largest]), self._bias - self._since_bias[largest]
        self._clear_sums()
        return self._event("bias_drift", start_ns, t_ns, change, self._bias, total, shock)

    @staticmethod
    def _event(  # noqa: PLR0913, PLR0917 (one a field)
        kind: str,
        start_ns: int,
        end_ns: int,
        change: FloatArray,
        bias: FloatArray,
        sigmas: float,
        shock: bool,  # noqa: FBT001
    ) -> Event:
        values = {"sigmas": sigmas}
        values |= {f"bias_{axis}": float(v) for axis, v in zip("xyz", bias, strict=True)}
        values |= {f"change_{axis}": float(v) for axis, v in zip("xyz", change, strict=True)}
        return Event(kind, start_ns, end_ns, end_ns, values, frozenset(["shock"] * shock))
