"""The slow part of an axis' error at its nodes, D samples apart and anchored at sample 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.sensors import measuring as kernels
from strapdown.sensors._coefficients import turn_on_variance
from strapdown.sensors.noise import Recursions, bias_recursions, flicker_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.sensors.noise import NoiseKey, Recursion
    from strapdown.sensors.triad import TriadSpec

__all__ = ["SlowError", "samples_between"]

_PIECE, _COMPILED_PIECE = 64, 2048  # nodes are prepared up to whole multiples of these


class SlowError:
    """Constant, temperature, ramp, random walk, flicker and Gauss-Markov terms of one axis.

    Terms that are too fast for the grid run at every sample, on top of the interpolated slow
    ones; then every sample is a node.

    Parameters
    ----------
    triad : TriadSpec
    axis : int
        0, 1 or 2.
    key : NoiseKey
    channel : int
        Of the axis' noise.
    dt_s : float
        Between samples [s].
    temperature : callable or None
        As of :class:`~strapdown.sensors.model.SensorModel`.
    stationary : bool
        Whether the bounded processes start in their steady state instead of at 0.
    """

    def __init__(  # noqa: PLR0913 (what an axis is made of)
        self,
        triad: TriadSpec,
        axis: int,
        key: NoiseKey,
        channel: int,
        *,
        dt_s: float,
        temperature: Callable[[FloatArray], FloatArray] | None,
        stationary: bool,
    ) -> None:
        self._triad, self._axis, self._dt_s = triad, axis, dt_s
        self._temperature = temperature
        own = triad.temperature if temperature is not None else None
        self._ramp = triad.on_axis("rate_ramp", axis)
        self._reference = 0.0 if own is None else own.reference_degC
        self._bias_terms = () if own is None else own.bias[axis]
        self._scale_terms = () if own is None else own.scale[axis]
        self._noise_terms = () if own is None else own.noise[axis]
        self._grid, slow, fast = bias_recursions(triad, axis, dt_s, stationary=stationary)
        self.decimation = 1 if fast else self._grid
        self._slow = _Feed(key, channel, slow, self._known)
        self._fast = _Feed(key, channel, fast, self._interpolated) if fast else None

    def reset(self, bias: float) -> None:
        """Change the constant bias, and discard nodes computed with the old one."""
        self._bias = bias
        for feed in self._feeds():
            feed.forget()

    @property
    def has_scale(self) -> bool:
        """Whether the scale of the axis follows its temperature."""
        return bool(self._scale_terms)

    @property
    def has_loudness(self) -> bool:
        """Whether the white noise of the axis follows its temperature."""
        return bool(self._noise_terms)

    def nodes(self, start: int, samples: int, *, compiled: bool) -> FloatArray:
        """Return the nodes around samples ``start``, ``start + 1``, ... with one beyond."""
        feed = self._fast or self._slow
        return feed.values(*_around(start, samples, self.decimation), compiled=compiled)

    def scales(self, start: int, samples: int) -> FloatArray:
        """Return the relative error of the scale at the same nodes."""
        return self._at_nodes(self._scale_terms, start, samples)

    def loudness(self, start: int, samples: int) -> FloatArray:
        """Return the noise density over that at the reference temperature, at the same nodes."""
        return 1.0 + self._at_nodes(self._noise_terms, start, samples)

    def variance(self, t_s: FloatArray) -> FloatArray:
        """Return the variance (N,) of all but white noise ``t_s`` (N,) [s] after power-on."""
        triad, axis = self._triad, self._axis
        constant = turn_on_variance(triad.turn_on_bias, axis)
        constant += sum(process.sigma**2 for process in triad.gauss_markov)
        flicker = sum(flicker_terms(triad.flicker_band_s)[1])
        constant += triad.on_axis("bias_instability", axis) ** 2 * flicker
        return np.asarray(constant + triad.on_axis("bias_random_walk", axis) ** 2 * t_s)

    def state(self) -> list[Any]:
        """Return the position of the recursions, as JSON-able values."""
        return [feed.state() for feed in self._feeds()]

    def restore(self, state: list[Any]) -> None:
        """Restore a position returned by :meth:`state`."""
        for feed, own in zip(self._feeds(), state, strict=True):
            feed.restore(own)

    def _feeds(self) -> list[_Feed]:
        return [self._slow] if self._fast is None else [self._slow, self._fast]

    def _known(self, start: int, count: int, *, compiled: bool) -> FloatArray:  # noqa: ARG002 (as _interpolated)
        """Return the deterministic terms, at nodes of the grid."""
        known = np.full(count, self._bias)
        if self._bias_terms or self._ramp:
            samples = _numbers(start, count) * self._grid
            known += self._polynomial(self._bias_terms, samples)
            known += self._ramp * (samples * self._dt_s)
        return known

    def _interpolated(self, start: int, count: int, *, compiled: bool) -> FloatArray:
        """Return the slow terms at every sample."""
        nodes = self._slow.values(*_around(start, count, self._grid), compiled=compiled)
        return samples_between(nodes, self._grid, start, count)

    def _at_nodes(self, terms: Sequence[float], start: int, samples: int) -> FloatArray:
        first, count = _around(start, samples, self.decimation)
        return self._polynomial(terms, _numbers(first, count) * self.decimation)

    def _polynomial(self, terms: Sequence[float], samples: FloatArray) -> FloatArray:
        """Return the sum of c_i (T - reference)^i, i from 1 on, at samples."""
        total = np.zeros(len(samples))
        if terms and self._temperature is not None:
            above = self._temperature(samples) - self._reference
            for coefficient in reversed(terms):
                total = (total + coefficient) * above
        return total


class _Feed:
    """Nodes of recursions, prepared ahead; neighbouring chunks share one.

    A mark is the position of the recursions before certain nodes. The oldest one that is kept is
    not after the nodes that were requested last.
    """

    def __init__(
        self,
        key: NoiseKey,
        channel: int,
        terms: Sequence[Recursion],
        base: Callable[..., FloatArray],
    ) -> None:
        self._recursions = Recursions(key, channel, terms)
        self._base = base
        self._first, self._values = 0, np.empty(0)
        self._marks: list[tuple[int, Any]] = []

    def values(self, first: int, count: int, *, compiled: bool) -> FloatArray:
        """Return nodes ``first`` to ``first + count - 1``."""
        end = self._first + len(self._values)
        if not self._first <= first <= end:
            self._first, self._values, end = first, np.empty(0), first
            self._marks = []
        if first + count > end:
            piece = _COMPILED_PIECE if compiled else _PIECE
            missing = -(-(first + count) // piece) * piece - end
            self._marks.append((end, self._recursions.state()))
            base = self._base(end, missing, compiled=compiled)
            new = self._recursions.nodes(end, missing, base, compiled=compiled)
            self._values = np.concatenate((self._values[first - self._first :], new))
            self._first = first
        while len(self._marks) > 1 and self._marks[1][0] <= first:
            del self._marks[0]
        return self._values[first - self._first : first - self._first + count]

    def state(self) -> Any:  # noqa: ANN401 (what the recursions say)
        return self._marks[0][1] if self._marks else self._recursions.state()

    def restore(self, state: Any) -> None:  # noqa: ANN401 (as above)
        self._first, self._values, self._marks = 0, np.empty(0), []
        self._recursions.restore(state)

    def forget(self) -> None:
        """Discard the prepared nodes."""
        self.restore(self.state())


def samples_between(nodes: FloatArray, decimation: int, start: int, count: int) -> FloatArray:
    """Return the values at samples from their nodes; the first node is at or before ``start``."""
    if decimation == 1:
        return nodes[:count]
    offset = start % decimation + np.arange(count)
    node = offset // decimation
    left, right = nodes[node], nodes[node + 1]
    return kernels.between(left, right, 1.0 / decimation, (offset % decimation).astype(np.float64))


def _around(start: int, samples: int, decimation: int) -> tuple[int, int]:
    """Return the first node and the number of nodes between which samples lie."""
    first = start // decimation
    return first, (start + samples - 1) // decimation + 2 - first


def _numbers(start: int, count: int) -> FloatArray:
    return np.arange(start, start + count, dtype=np.float64)
