"""Processes with state: random walks, Gauss-Markov processes and flicker noise.

Each is a recursion over nodes, and runs from node 0 in order, so a chunk never restarts one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from strapdown._kernels.compilation import compiled as compile_kernel
from strapdown.errors import ShapeError
from strapdown.sensors.noise import generator as kernels
from strapdown.sensors.noise.flicker import flicker_terms
from strapdown.sensors.noise.streams import Process, halves, normals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.sensors.noise.streams import NoiseKey
    from strapdown.sensors.triad import TriadSpec

__all__ = ["Recursion", "Recursions", "RecursionsState", "bias_recursions"]

_CHECKPOINT = 2**16  # nodes from one saved state to the next
_PIECE = kernels.BLOCK  # nodes that run at once
_WINDOW = 128  # nodes whose normals a stream draws at once
_NODES_PER_CORRELATION_TIME = 5
_LONGEST_STEP_S = 1.0 / 30.0  # of a random walk, which has no time constant


@dataclass(frozen=True)
class Recursion:
    """x_0 = start n_0, and then x_j = phi x_{j-1} + q n_j, with standard normal n_j.

    Parameters
    ----------
    process : int
        Number of the stream that gives n.
    phi, q, start : float
    """

    process: int
    phi: float
    q: float
    start: float

    @classmethod
    def random_walk(cls, process: int, diffusion: float, step_s: float) -> Recursion:
        """Return a random walk from 0: variance ``diffusion**2 t`` [diffusion: u/sqrt(s)]."""
        return cls(process, 1.0, diffusion * math.sqrt(step_s), 0.0)

    @classmethod
    def gauss_markov(
        cls,
        process: int,
        sigma: float,
        correlation_time_s: float,
        step_s: float,
        *,
        stationary: bool = True,
    ) -> Recursion:
        """Return a Gauss-Markov process of steady deviation ``sigma``, exact for the step."""
        phi = math.exp(-step_s / correlation_time_s)
        q = sigma * math.sqrt(-math.expm1(-2.0 * step_s / correlation_time_s))
        return cls(process, phi, q, sigma if stationary else 0.0)


class RecursionsState(TypedDict):
    """Position of recursions: the next node, and the values at the one before it."""

    node: int
    values: list[float]


class Recursions:
    """The recursions of one channel on one grid of nodes, summed in a fixed order.

    Its position is between two nodes, where it continues; a request for other nodes replays from
    the nearest checkpoint, up to 65,536 nodes. So keep the last node of a chunk where the next one
    needs it, and request several nodes at once.

    Parameters
    ----------
    key : NoiseKey
    channel : int
    recursions : sequence of Recursion
    """

    def __init__(self, key: NoiseKey, channel: int, recursions: Sequence[Recursion]) -> None:
        self._key = key
        self._channel = channel
        self._processes = np.array([r.process for r in recursions], np.int64)
        self._words = channel << 16 | self._processes
        self._terms = [(r.phi, r.q, r.start) for r in recursions]
        self._table = np.array(self._terms)
        self._node = 0
        self._values = [0.0] * len(recursions)
        self._checkpoints = {0: self._values}
        self._window_start = 0
        self._window: list[list[float]] = [[] for _ in recursions]

    def nodes(
        self, start: int, count: int, base: FloatArray, *, compiled: bool = False
    ) -> FloatArray:
        """Return ``((base + x_0) + x_1) + ...`` at consecutive nodes.

        Parameters
        ----------
        start, count : int
            The first node, and the number of nodes.
        base : (count,)
            Added to the values of the recursions; not changed.
        compiled : bool
            Whether to run machine code; the bits are the same.

        Returns
        -------
        (count,)

        Raises
        ------
        ShapeError
            ``base`` has another shape.
        """
        out = np.array(base, np.float64)
        if out.shape != (count,):
            raise ShapeError(f"expected base of shape ({count},), got {out.shape}")
        if self._terms:
            self._go_to(start, compiled=compiled)
            self._run(out, compiled=compiled)
        return out

    def state(self) -> RecursionsState:
        """Return the position, as JSON-able values."""
        return {"node": self._node, "values": list(self._values)}

    def restore(self, state: RecursionsState) -> None:
        """Restore a position returned by :meth:`state`.

        Raises
        ------
        ShapeError
            The state belongs to another number of recursions.
        """
        if len(state["values"]) != len(self._terms):
            raise ShapeError(
                f"expected a state of {len(self._terms)} recursions, got {len(state['values'])}"
            )
        self._node, self._values = state["node"], list(state["values"])

    def _go_to(self, node: int, *, compiled: bool) -> None:
        nearest = max(saved for saved in self._checkpoints if saved <= node)
        if not nearest <= self._node <= node:
            self._node, self._values = nearest, self._checkpoints[nearest]
        while self._node < node:
            skipped = np.zeros(min(node - self._node, _CHECKPOINT))
            self._run(skipped, compiled=compiled)

    def _run(self, out: FloatArray, *, compiled: bool) -> None:
        """Add the next nodes to ``out``, in pieces that end at multiples of their length."""
        done = 0
        while done < len(out):
            count = min(len(out) - done, _PIECE - self._node % _PIECE)
            advance = self._advance_compiled if compiled else self._advance
            advance(out[done : done + count])
            done += count
            self._node += count
            if self._node % _CHECKPOINT == 0:
                self._checkpoints[self._node] = self._values

    def _advance(self, out: FloatArray) -> None:
        values, sums = list(self._values), out.tolist()
        kernels.advance(self._node, self._terms, values, self._normals(len(out)), sums)
        self._values = values
        out[:] = sums

    def _advance_compiled(self, out: FloatArray) -> None:
        values = np.array(self._values)
        compile_kernel(kernels.advance_streams)(
            *halves(self._key.seed), self._key.sensor, self._words,
            self._node, self._table, values, out,
            np.empty((len(self._words), len(out)), np.float32), kernels.scratch(),
        )  # fmt: skip
        self._values = values.tolist()

    def _normals(self, count: int) -> list[list[float]]:
        """Return rows of normals from here on, from a window that is drawn at once."""
        first = self._node - self._window_start
        if first < 0 or first + count > len(self._window[0]):
            self._window = normals(
                self._key, self._channel, self._processes, self._node, max(count, _WINDOW)
            ).tolist()
            self._window_start, first = self._node, 0
        return [row[first : first + count] for row in self._window]


class _Bias(NamedTuple):
    """A term of a bias before its step is known; no correlation time is a random walk."""

    process: int
    size: float
    correlation_time_s: float | None = None

    def recursion(self, step_s: float, *, stationary: bool) -> Recursion:
        if self.correlation_time_s is None:
            return Recursion.random_walk(self.process, self.size, step_s)
        return Recursion.gauss_markov(
            self.process, self.size, self.correlation_time_s, step_s, stationary=stationary
        )

    @property
    def longest_step_s(self) -> float:
        if self.correlation_time_s is None:
            return _LONGEST_STEP_S
        return min(_LONGEST_STEP_S, self.correlation_time_s / _NODES_PER_CORRELATION_TIME)


def bias_recursions(
    triad: TriadSpec, axis: int, dt_s: float, *, stationary: bool = True
) -> tuple[int, tuple[Recursion, ...], tuple[Recursion, ...]]:
    """Return the recursions of a bias, the slow ones on a coarse grid.

    A slow recursion has a node at every D-th sample, and is linear between nodes. With at least
    five nodes in a correlation time, and thirty in a second, the Allan deviation of flicker noise
    is off by less than 0.04 % at the lower end of its band. Recursions that are too fast for the
    grid run at every sample. D is the power of two with the least computation.

    Parameters
    ----------
    triad : TriadSpec
    axis : int
        0, 1 or 2.
    dt_s : float
        Interval of the samples [s].
    stationary : bool
        Whether Gauss-Markov processes start in their steady state, or at 0.

    Returns
    -------
    decimation : int
        D, in samples.
    slow : tuple of Recursion
        Random walk, Gauss-Markov and flicker, in this order, with a step of D samples.
    fast : tuple of Recursion
        In the same order, with a step of one sample; empty where D is 1.
    """
    terms = _bias_terms(triad, axis)
    grids = [1]
    while 2 * grids[-1] * dt_s <= _LONGEST_STEP_S:
        grids.append(2 * grids[-1])

    def is_slow(term: _Bias, grid: int) -> bool:
        return grid == 1 or grid * dt_s <= term.longest_step_s

    def work(grid: int) -> float:
        return sum(1.0 / grid if is_slow(term, grid) else 1.0 for term in terms)

    decimation = min(reversed(grids), key=work)
    slow, fast = [], []
    for term in terms:
        if is_slow(term, decimation):
            slow.append(term.recursion(decimation * dt_s, stationary=stationary))
        else:
            fast.append(term.recursion(dt_s, stationary=stationary))
    return decimation, tuple(slow), tuple(fast)


def _bias_terms(triad: TriadSpec, axis: int) -> list[_Bias]:
    terms = [_Bias(Process.RANDOM_WALK, triad.on_axis("bias_random_walk", axis))]
    for i, process in enumerate(triad.gauss_markov):
        terms.append(_Bias(Process.GAUSS_MARKOV + i, process.sigma, process.correlation_time_s))
    instability = triad.on_axis("bias_instability", axis)
    for i, (time_s, weight) in enumerate(zip(*flicker_terms(triad.flicker_band_s), strict=True)):
        terms.append(_Bias(Process.FLICKER + i, instability * math.sqrt(weight), time_s))
    return [term for term in terms if term.size]
