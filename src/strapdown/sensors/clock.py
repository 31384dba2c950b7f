"""The clock of a device: its sampling instants and its counter."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.sensors._blocks import BLOCK, Blocks, check_rows
from strapdown.sensors.noise import DEVICE, Process, Recursion, Recursions, normals
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.sensors.noise import NoiseKey
    from strapdown.sensors.spec import Clock

__all__ = ["SampleClock", "exact", "whole"]

_PPM = 1e-6
_JITTER_LIMIT = 0.49


def exact(number: float | Fraction) -> Fraction:
    """Return a number as the fraction of its shortest decimal form.

    ``exact(39.0625e-6)`` is 5/128000, although no float is. Integers and fractions are unchanged.
    """
    return Fraction(number if isinstance(number, int | Fraction) else repr(float(number)))


def whole(values: IntArray, ratio: Fraction, *, nearest: bool) -> IntArray:
    """Return ``values * ratio`` in whole numbers, exactly.

    Parameters
    ----------
    values : (N,) int64
        From 0 on.
    ratio : Fraction
        Positive, of any size; products above 63 bits take a slow path.
    nearest : bool
        Round to the nearest whole number, halves up, instead of down.
    """
    factor, divisor = ratio.numerator, ratio.denominator
    if divisor > 1 and nearest:
        factor, divisor = 2 * factor, 2 * divisor
    half = divisor // 2 if nearest else 0
    if int(values.max(initial=0)) * factor + divisor < 2**63:
        scaled = values * factor
        return scaled if divisor == 1 else (scaled + half) // divisor
    return np.array([(value * factor + half) // divisor for value in values.tolist()], np.int64)


class SampleClock:
    """True instants of the samples, and the device's own stamps.

    The device samples every T = 1/rate of its own time tau: sample k at tau = kT exactly. Its
    clock runs at ``1 + e`` of true time, with a constant error, linear ageing and a random walk.
    Without the walk tau is quadratic in true time t since the start, tau = (1 + e0) t + a t^2/2
    (the deterministic clock model of W. J. Riley, Handbook of Frequency Stability Analysis, NIST
    SP 1065, 2008), and the instant follows in closed form from the integer k:
    t = 2 tau / ((1 + e0) + sqrt((1 + e0)^2 + 2 a tau)), which is tau / (1 + e0) without ageing.

    The walk w_k changes at samples, w_0 = 0, and makes period k longer by the exact difference
    T/(r_k + w_k) - T/r_k, where r_k is the rate without it. Only these small differences are
    summed, in blocks that do not depend on the request.

    Jitter moves one instant only: the next one is unaffected. It is cut off at
    0.49 of the interval between internal samples at the start, so instants increase however large
    it is, while ageing and walk stay below 2 %. A standard deviation above an eighth of the
    interval is visibly cut.

    Parameters
    ----------
    clock : Clock
        The parameters.
    rate_hz : float or Fraction
        Output samples a second of the device's time. A float means its shortest decimal
        form.
    key : NoiseKey
        Of jitter and walk.
    start_s : float, optional
        True instant of sample 0 without jitter [s].
    oversampling : int, optional
        Internal samples an output sample, M.
    compiled : bool, optional
        Compile the noise; the bits are the same.

    Raises
    ------
    ValueRangeError
        The rate or the oversampling is not positive.
    """

    def __init__(  # noqa: PLR0913 (three parts and their options)
        self,
        clock: Clock,
        rate_hz: float | Fraction,
        key: NoiseKey,
        *,
        start_s: float = 0.0,
        oversampling: int = 1,
        compiled: bool = False,
    ) -> None:
        if not 0.0 < rate_hz < math.inf:
            raise ValueRangeError(f"expected rate_hz above 0, got {rate_hz}")
        if oversampling < 1:
            raise ValueRangeError(f"expected oversampling of 1 or more, got {oversampling}")
        self.rate_hz = exact(rate_hz)
        self.oversampling = oversampling
        self.start_s = start_s
        self._key = key
        self._compiled = compiled
        self._jitter_s = clock.jitter_s
        self._rate = 1.0 + clock.rate_error_ppm * _PPM
        self._ageing = clock.ageing_ppm_per_s * _PPM
        self._internal_rate = self.rate_hz * oversampling
        tick_s = Fraction(1, NS_PER_S) if clock.tick_s is None else exact(clock.tick_s)
        self._ticks_per_sample = 1 / (self.rate_hz * tick_s)
        self._tick_ns = tick_s * NS_PER_S
        self._counts_ns = clock.tick_s is None
        self._wrap = None if clock.tick_bits is None else 2**clock.tick_bits
        self._walk: Blocks | None = None
        if clock.walk_ppm:
            diffusion, step_s = clock.walk_ppm * _PPM, float(1 / self.rate_hz)
            walk = Recursion.random_walk(Process.CLOCK_WALK, diffusion, step_s)
            self._recursions = Recursions(key, DEVICE, [walk])
            self._walk = Blocks(BLOCK, self._walk_block, [0.0, self._recursions.state()])

    def instants(self, start: int, count: int) -> FloatArray:
        """Return true instants (count,) [s] of output samples ``start``, ``start + 1``, ..."""
        check_rows(start, count)
        m = self.oversampling
        return self._instants((start + 1) * m - 1, count, m)

    def internal_instants(self, start: int, count: int) -> FloatArray:
        """Return true instants (count M,) [s] of the internal samples of output samples.

        Each output sample has M, evenly spaced after the output sample before it; the last is
        its own instant. Those of sample 0 begin less than one period before the start.
        """
        check_rows(start, count)
        return self._instants(start * self.oversampling, count * self.oversampling, 1)

    def edges(self, start: int, count: int) -> FloatArray:
        """Return :meth:`internal_instants` with the instant before them, (count M + 1,) [s].

        The one before sample 0 is one period before the start, without jitter.
        """
        check_rows(start, count)
        return self._instants(start * self.oversampling - 1, count * self.oversampling + 1, 1)

    def device_ns(self, start: int, count: int) -> IntArray:
        """Return the device's time at output samples, 0 at sample 0, (count,) int64 [ns].

        Whole ticks that never wrap, to the nearest nanosecond; without a tick k nominal periods.
        """
        return whole(self._counted(start, count), self._tick_ns, nearest=True)

    def ticks(self, start: int, count: int) -> IntArray:
        """Return the device's counter at output samples, (count,) int64.

        Ticks that have passed since sample 0, modulo two to the width of the counter. Without
        a tick it counts nanoseconds, to the nearest.
        """
        counted = self._counted(start, count)
        return counted if self._wrap is None else counted % self._wrap

    def state(self) -> list[list[Any]]:
        """Return the position of the walk, as JSON-able values; nothing else has a state."""
        return [] if self._walk is None else self._walk.state()

    def restore(self, state: list[list[Any]]) -> None:
        """Restore a position returned by :meth:`state`; instants are the same, at less cost."""
        if self._walk is not None:
            self._walk.restore(state)

    def _instants(self, first: int, count: int, step: int) -> FloatArray:
        """Return the instants of internal samples first, first + step, ...; first >= -1."""
        if count > BLOCK:  # computation within the cache is faster
            parts = range(0, count, BLOCK)
            return np.concatenate(
                [self._instants(first + step * k, min(BLOCK, count - k), step) for k in parts]
            )
        if count == 0:
            return np.empty(0)
        # internal sample i has the device time (i - (M - 1)) T / M
        begin = first - (self.oversampling - 1)
        index = np.arange(begin, begin + step * count, step)
        tau = _quotient(index, self._internal_rate)
        if self._ageing:
            tau = (tau + tau) / (self._rate + self._rate_at(tau))
        else:
            tau /= self._rate
        t_s = self.start_s + tau
        if self._walk is not None:
            t_s += self._walked(self._walk, index)
        if self._jitter_s:
            t_s += self._jitter(first, count, step)
        return t_s

    def _rate_at(self, tau: FloatArray) -> FloatArray:
        """Return the rate against true time, without the walk, at times of the device."""
        squared = self._rate**2 + (2.0 * self._ageing) * tau
        if squared[-1] <= 0.0:
            raise ValueRangeError(
                f"expected a running clock, got one that ageing_ppm_per_s stops before {tau[-1]} "
                "s; shorten the run, or check the unit"
            )
        rate: FloatArray = np.sqrt(squared)
        return rate

    def _walked(self, walk: Blocks, index: IntArray) -> FloatArray:
        """Return the delay by the walk, linear between output samples."""
        before, part = np.divmod(index, self.oversampling)
        first = int(before[0])
        known = max(first, 0)
        (delay,) = walk.rows(known, int(before[-1]) + 2 - known)
        delay = np.concatenate((np.zeros(known - first), delay))
        here, after = delay[before - first], delay[before - first + 1]
        delayed: FloatArray = here + (part / self.oversampling) * (after - here)
        return delayed

    def _walk_block(self, block: int, carry: list[Any]) -> tuple[tuple[FloatArray], list[Any]]:
        delay, state = carry
        self._recursions.restore(state)
        start = block * BLOCK
        walk = self._recursions.nodes(start, BLOCK, np.zeros(BLOCK), compiled=self._compiled)
        tau = _quotient(np.arange(start, start + BLOCK), self.rate_hz)
        rate = self._rate_at(tau)
        longer = -float(1 / self.rate_hz) * walk / (rate * (rate + walk))
        delays = np.cumsum(np.concatenate(([delay], longer)))
        return (delays[:-1],), [float(delays[-1]), self._recursions.state()]

    def _jitter(self, first: int, count: int, step: int) -> FloatArray:
        drawn = max(first, 0)
        noise = normals(
            self._key,
            DEVICE,
            Process.JITTER,
            drawn,
            first + step * (count - 1) + 1 - drawn,
            compiled=self._compiled,
        ).astype(np.float64)
        limit = _JITTER_LIMIT / (float(self._internal_rate) * self._rate)
        jitter = np.clip(self._jitter_s * noise, -limit, limit)
        return np.concatenate((np.zeros(drawn - first), jitter))[::step]

    def _counted(self, start: int, count: int) -> IntArray:
        check_rows(start, count)
        samples = np.arange(start, start + count)
        return whole(samples, self._ticks_per_sample, nearest=self._counts_ns)


def _quotient(index: IntArray, rate: Fraction) -> FloatArray:
    """Return index / rate, each correctly rounded."""
    largest = max(abs(int(index[0])), abs(int(index[-1]))) * rate.denominator
    if max(largest, rate.numerator) < 2**53:
        return index.astype(np.float64) * rate.denominator / rate.numerator
    return np.array([i * rate.denominator / rate.numerator for i in index.tolist()])
