"""Error model of the triads of a sensor, from ideal inputs, sample by sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from strapdown._kernels.compilation import compiled as compile_kernel
from strapdown.sensors import _coefficients as coefficients
from strapdown.sensors import measuring as kernels
from strapdown.sensors._nodes import SlowError, samples_between
from strapdown.sensors.noise import GYRO, Process, normals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import ByteArray, FloatArray
    from strapdown.sensors.noise import NoiseKey
    from strapdown.sensors.triad import TriadSpec

__all__ = ["SensorModel", "Step"]

_CHUNK = 65536  # samples whose nodes are prepared at once
_AHEAD = 2048  # internal samples whose noise a stream prepares at once: a block of normals


class Step(NamedTuple):
    """One output sample.

    Parameters
    ----------
    values : list of float
        Of each axis [unit of its triad]; NaN where the axis is off.
    clipping : list of int
        Of each triad, saturated axes: bits X=1, Y=2, Z=4.
    """

    values: list[float]
    clipping: list[int]


class SensorModel:
    """The errors of one or two triads, as a function of the sample number.

    In the order of a real part: element (nonlinearity, g-sensitivity, its range), filter,
    window (the last or the mean of M internal samples), scale and misalignment, slow errors
    and white noise, range, rounding. Noise depends on the key and the sample number only, so
    :meth:`run` and :meth:`step` give the same bits, in any chunks and any order of the two.

    Where a window takes a mean of several internal samples, ``measurement_range`` limits each of
    these too, as ``element_range`` does, and their flags are those of the sample.

    Parameters
    ----------
    triads : sequence of TriadSpec
        Gyro and accelerometer, or a single triad. G-sensitivity needs both.
    key : NoiseKey
        Key of the noise.
    rate_hz : float
        Output samples a second.
    channel : int, optional
        Noise channel of the first axis.
    oversampling : int, optional
        Internal samples an output sample, M.
    mean : bool, optional
        Whether a window gives its mean; otherwise only that of a boxcar does.
    stationary : bool, optional
        Whether flicker and Gauss-Markov noise start in their steady state instead of at 0.
    temperature : callable, optional
        ``temperature(samples)`` gives [degC] at sample numbers (N,) float64; without it the
        terms of temperature are off.

    Attributes
    ----------
    position : int
        Number of the next output sample; may be set where the model has no state.
    variance : (A,)
        Of one sample of each axis, by white noise and rounding [square of its unit]; at the
        reference temperature.
    """

    def __init__(  # noqa: PLR0913 (what a model is made of, all but two with defaults)
        self,
        triads: Sequence[TriadSpec],
        key: NoiseKey,
        *,
        rate_hz: float,
        channel: int = GYRO,
        oversampling: int = 1,
        mean: bool = False,
        stationary: bool = True,
        temperature: Callable[[FloatArray], FloatArray] | None = None,
    ) -> None:
        self._triads, self._key, self._channel = tuple(triads), key, channel
        self._window = oversampling
        self._axes = [(triad, axis) for triad in triads for axis in range(3)]
        self._fronts = coefficients.fronts(triads, rate_hz, oversampling, mean=mean)
        self._outputs = [coefficients.output(triad, axis, rate_hz) for triad, axis in self._axes]
        self._slow = [
            SlowError(
                triad,
                axis,
                key,
                channel + a,
                dt_s=1.0 / rate_hz,
                temperature=temperature,
                stationary=stationary,
            )
            for a, (triad, axis) in enumerate(self._axes)
        ]
        internal_hz = rate_hz * oversampling
        self._element_variance = coefficients.element_variance(triads, self._fronts, internal_hz)
        self._output_variance = [coefficients.output_variance(own) for own in self._outputs]
        self._scaled = any(slow.has_scale for slow in self._slow)
        self._loud = any(slow.has_loudness for slow in self._slow)
        self.position = 0
        self.reset()

    @property
    def has_memory(self) -> bool:
        """Whether a sample depends on inputs before it."""
        return any(own.sections for own in self._fronts) or any(o.carries for o in self._outputs)

    @property
    def window_open(self) -> bool:
        """Whether some, but not all internal samples of an output sample were given."""
        return self._memory[0][kernels.COUNT] > 0.0

    def variance_at(self, start: int, count: int) -> FloatArray:
        """Return :attr:`variance` (count, A) at the temperature of samples."""
        variance: FloatArray = np.broadcast_to(self.variance, (count, len(self._axes)))
        if not self._loud:
            return variance
        change = [self._loudness(a, start, count) ** 2 - 1.0 for a in range(len(self._axes))]
        shares = self._weights**2 * self._element_variance
        shares += np.diag([own.sigma**2 for own in self._outputs])
        for share, own in zip(shares.T, change, strict=True):  # a matrix product has no fixed order
            variance = variance + share * own[:, np.newaxis]
        return variance

    def bias_variance(self, t_s: FloatArray) -> FloatArray:
        """Return the variance (N, A) of the slow errors ``t_s`` (N,) [s] after power-on."""
        return np.stack([slow.variance(t_s) for slow in self._slow], axis=-1)

    def reset(self, power_cycle: int = 0) -> None:
        """Reset filter, window and rounding residue. The noise continues.

        Parameters
        ----------
        power_cycle : int, optional
            Number of the power cycle, for the values drawn at power-on.
        """
        key, channel, fold = self._key, self._channel, not self._fronts
        self._weights = coefficients.weights(self._triads, key, channel, power_cycle, fold=fold)
        self._rows = [
            [(weight, j) for j, weight in enumerate(row) if weight != 0.0]
            for row in self._weights.tolist()
        ]
        for a, (triad, axis) in enumerate(self._axes):
            bias = coefficients.drawn_bias(triad, axis, key, channel + a, power_cycle)
            self._slow[a].reset(bias)
        self.variance = self._weights**2 @ self._element_variance + self._output_variance
        sizes = [len(own.sections) // 5 for own in self._fronts] or [0] * len(self._axes)
        blank = [0.0] * kernels.MEMORY
        blank[kernels.ORIGIN] = math.nan
        self._memory = [blank + [0.0] * (2 * size) for size in sizes]
        self._residues = [0.0] * len(self._axes)
        self._ahead = range(0)

    def state(self) -> dict[str, Any]:
        """Return the position of the model, as JSON-able values."""
        return {
            "position": self.position,
            "memory": [[None if math.isnan(x) else x for x in row] for row in self._memory],
            "residues": list(self._residues),
            "slow": [slow.state() for slow in self._slow],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a position returned by :meth:`state`."""
        self.position = state["position"]
        self._memory = [[math.nan if x is None else x for x in row] for row in state["memory"]]
        self._residues = list(state["residues"])
        self._ahead = range(0)
        for slow, own in zip(self._slow, state["slow"], strict=True):
            slow.restore(own)

    def run(self, inputs: FloatArray, *, compiled: bool = True) -> tuple[FloatArray, ByteArray]:
        """Convert many inputs to outputs.

        Parameters
        ----------
        inputs : (A, N M)
            One row an axis, M columns an output sample.
        compiled : bool, optional
            False takes them one by one, in plain Python.

        Returns
        -------
        values : (A, N)
            NaN on axes that are off.
        clipping : (A / 3, N) uint8
            Saturated axes of each triad: bits X=1, Y=2, Z=4.
        """
        count = inputs.shape[1] // self._window
        values = np.empty((len(self._axes), count))
        clipping = np.zeros((len(self._axes) // 3, count), np.uint8)
        if compiled:
            self._run_compiled(np.ascontiguousarray(inputs), values, clipping)
        else:
            taken = map(self.step, inputs.T.tolist())
            for i, step in enumerate(step for step in taken if step is not None):
                values[:, i], clipping[:, i] = step
        return values, clipping

    def _run_compiled(self, inputs: FloatArray, values: FloatArray, clipping: ByteArray) -> None:
        count = values.shape[1]
        if self._fronts:
            inputs = self._run_fronts(inputs, clipping)
        measure, outputs = compile_kernel(kernels.measure), np.array(self._outputs)
        residues, room = np.array(self._residues), kernels.room()
        for first in range(0, count, _CHUNK):
            last = min(count, first + _CHUNK)
            nodes = [slow.nodes(self.position, last - first, compiled=True) for slow in self._slow]
            scales, loudness = [], []
            if self._scaled:
                scales = [slow.scales(self.position, last - first) for slow in self._slow]
            if self._loud:
                loudness = [slow.loudness(self.position, last - first) for slow in self._slow]
            grid = [(self.position // slow.decimation, slow.decimation) for slow in self._slow]
            measure(
                (self._key.seed & 0xFFFFFFFF, self._key.seed >> 32, self._key.sensor),
                self._channel,
                self.position,
                first,
                last,
                inputs,
                _padded(nodes),
                _padded(scales),
                _padded(loudness),
                np.array(grid),
                self._weights,
                outputs,
                residues,
                values,
                clipping,
                room,
            )
            self.position += last - first
        self._residues = residues.tolist()

    def _run_fronts(self, inputs: FloatArray, clipping: ByteArray) -> FloatArray:
        """Pass inputs through element, filter and window."""
        count = clipping.shape[1]
        conditioned, hits = np.empty((len(inputs), count)), np.empty(count)
        for a, own in enumerate(self._fronts):
            memory = np.array(self._memory[a])
            compile_kernel(kernels.condition)(
                a,
                inputs,
                self._element_normals(a, self.position, count, machine_code=True),
                np.array(own.nonlinear),
                np.array(own.leaks),
                own.limit,
                own.sigma,
                np.array(own.sections),
                own.gain,
                own.window,
                own.mean,
                memory,
                conditioned[a],
                hits,
            )
            self._memory[a] = memory.tolist()
            clipping[a // 3] |= (hits > 0.0).astype(np.uint8) << np.uint8(a % 3)
        return conditioned

    def step(self, inputs: Sequence[float]) -> Step | None:
        """Take one internal sample, in plain Python; return the output sample that it closes.

        Parameters
        ----------
        inputs : A floats
            One an axis.
        """
        if self.position not in self._ahead:
            self._look_ahead()
        i = self.position - self._ahead.start
        clipping = [0] * (len(self._axes) // 3)
        if self._fronts:
            conditioned = self._step_fronts(inputs, i, clipping)
            if conditioned is None:
                return None
            inputs = conditioned
        values = []
        axes = zip(self._rows, self._ahead_errors[i], self._outputs, strict=True)
        for a, (row, error, (_, per_lsb, lsb, rounding, low, high, carries)) in enumerate(axes):
            total = 0.0
            for weight, j in row:
                total = total + weight * inputs[j]
            if self._scaled:
                total = total + self._ahead_scales[i][a] * inputs[a]
            code = kernels.code_of(total, error, per_lsb, rounding)
            if carries:
                code, self._residues[a] = kernels.carried(code, self._residues[a])
            if code <= low or code >= high:
                clipping[a // 3] |= 1 << a % 3
                code = kernels.limited(code, low, high)
            values.append(code * lsb)
        self.position += 1
        return Step(values, clipping)

    def _step_fronts(
        self, inputs: Sequence[float], i: int, clipping: list[int]
    ) -> list[float] | None:
        """Pass an internal sample through element, filter and window, if it closes the window."""
        column = i * self._window + int(self._memory[0][kernels.COUNT])
        rows = [[x] for x in inputs]
        conditioned, out, hits, closed = [], [0.0], [0.0], 0
        for a, own in enumerate(self._fronts):
            closed = kernels.condition(
                a, rows, [self._ahead_normals[column][a]], *own, self._memory[a], out, hits
            )
            conditioned.append(out[0])
            if closed and hits[0]:
                clipping[a // 3] |= 1 << a % 3
        return conditioned if closed else None

    def _look_ahead(self) -> None:
        """Prepare the terms that depend on the sample number alone, a row a sample."""
        block = max(1, _AHEAD // self._window)
        start, count = self.position, block - self.position % block
        self._ahead = range(start, start + count)
        errors, scales, element = [], [], []
        for a, slow in enumerate(self._slow):
            nodes = slow.nodes(start, count, compiled=False)
            error = samples_between(nodes, slow.decimation, start, count)
            sigma = self._outputs[a].sigma
            if sigma > 0.0:
                where = self._key, self._channel + a, Process.WHITE, start, count
                white = normals(*where).astype(np.float64)
                if self._loud:
                    white = self._loudness(a, start, count) * white
                error = kernels.disturbed(error, sigma, white)
            errors.append(error)
            if self._scaled:
                nodes = slow.scales(start, count)
                scales.append(samples_between(nodes, slow.decimation, start, count))
            if self._fronts:
                drawn = self._element_normals(a, start, count, machine_code=False)
                element.append(drawn.astype(np.float64))
        self._ahead_errors, self._ahead_scales, self._ahead_normals = (
            np.array(columns).T.tolist() for columns in (errors, scales, element)
        )

    def _loudness(self, a: int, start: int, count: int) -> FloatArray:
        """Return the relative density of an axis' white noise at samples."""
        slow = self._slow[a]
        return samples_between(slow.loudness(start, count), slow.decimation, start, count)

    def _element_normals(
        self, a: int, start: int, count: int, *, machine_code: bool
    ) -> NDArray[np.float32] | FloatArray:
        first, n = start * self._window, count * self._window
        if self._fronts[a].sigma == 0.0:
            return np.zeros(n, np.float32)
        where = self._key, self._channel + a, Process.WHITE, first, n
        white = normals(*where, compiled=machine_code)
        if not self._loud:
            return white
        return np.repeat(self._loudness(a, start, count), self._window) * white


def _padded(rows: Sequence[FloatArray]) -> FloatArray:
    """Stack rows of different lengths; values beyond the end of a row are not read."""
    table = np.empty((len(rows), max((len(row) for row in rows), default=0)))
    for own, row in zip(table, rows, strict=True):
        own[: len(row)] = row
    return table
