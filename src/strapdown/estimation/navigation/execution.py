"""Execution of a navigator, and the samples or increments that it processes."""

from __future__ import annotations

import math
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.kernel import bind
from strapdown._kernels.records import values_of
from strapdown.estimation.execution import COUNTS, MEMORY, FilterExecution
from strapdown.estimation.filter import as_columns
from strapdown.estimation.intake import FilterCounts
from strapdown.estimation.navigation.aiding import KINDS, Aiding, AidingResult
from strapdown.estimation.navigation.errors import Correction
from strapdown.estimation.navigation.params import NavigatorParams
from strapdown.estimation.navigation.prediction import linearise
from strapdown.estimation.navigation.smoothing import (
    Adjoint,
    Passage,
    back,
    back_over_aidings,
    record,
)
from strapdown.estimation.navigation.state import NavigatorMemory, NavigatorRow, describe
from strapdown.estimation.navigation.step import (
    AidingUpdate,
    AidingVerdict,
    Increment,
    run_aidings,
    run_steps,
    step,
    step_increment,
    write_row,
)
from strapdown.geometry.frames import BodyFrame
from strapdown.inertial.navigation.mechanisation import Earth
from strapdown.samples.execution import BLOCK, Execution, Program
from strapdown.samples.sample import Sample
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from strapdown._kernels.records import Record, RecordArray
    from strapdown.inertial.navigation import Place
    from strapdown.series import ImuSeries, Increments

__all__ = ["BackwardPass", "IncrementRows", "NavigatorExecution", "SampleRows"]

_PARTS: Final = (NavigatorMemory, FilterCounts, NavigatorParams.record(), Earth, Correction)
_NAME: Final = "strapdown navigator"


def _over(
    name: str,
    take: Callable[..., None],
    write: Callable[..., None],
    row: type[Record],
    sample: type[Record] = Sample,
) -> Program:
    """Return a program over samples, or increments."""
    loop = bind(run_steps, take=take, write=write)
    return Program(name, loop, _PARTS, row, sample=sample, weight=5.0)


_SAMPLES: Final = _over(_NAME, step, write_row, NavigatorRow)
_INCREMENTS: Final = _over(
    f"{_NAME} (increments)", step_increment, write_row, NavigatorRow, Increment
)
_AIDINGS: Final = Program(
    f"{_NAME} (aiding)", run_aidings, _PARTS, AidingVerdict, sample=AidingUpdate, weight=20.0
)
_RECORDS: Final = {  # the same, with a record for the backward pass
    _SAMPLES: _over(f"{_NAME}, to go back", step, record, Passage),
    _INCREMENTS: _over(
        f"{_NAME} (increments), to go back", step_increment, record, Passage, Increment
    ),
}
_ADJOINT: Final = (Adjoint, Correction)
_BACK: Final = Program(f"{_NAME}, back", back, _ADJOINT, NavigatorRow, sample=Passage, weight=5.0)
_AIDINGS_BACK: Final = Program(
    f"{_NAME} (aiding), back",
    back_over_aidings,
    _ADJOINT,
    AidingVerdict,
    sample=AidingUpdate,
    weight=20.0,
)


class NavigatorExecution(FilterExecution):
    """State of a navigator, and the programs that change it.

    Parameters
    ----------
    params : NavigatorParams
    place : Place
    compiled : bool, optional
        As in :class:`~strapdown.estimation.navigation.StrapdownNavigator`.
    """

    def __init__(self, params: NavigatorParams, place: Place, *, compiled: bool | None) -> None:
        self._params, self._earth = params, place.for_kernels()
        memory = NavigatorMemory(), FilterCounts(), params.settings(), self._earth, Correction()
        super().__init__(_SAMPLES, *memory, beside=(_AIDINGS,), compiled=compiled)
        self.tape: list[tuple[Program, RecordArray, RecordArray]] | None = None

    @property
    def known(self) -> NavigatorMemory:
        """Current state of the navigator, to read a few of its fields."""
        memory: NavigatorMemory = self.view(MEMORY)
        return memory

    def either(self, program: Program) -> Program:
        """Return a program, or the one that also records."""
        return program if self.tape is None else _RECORDS[program]

    def go_through(self, program: Program, given: RecordArray, rows: RecordArray) -> None:
        """Process samples or increments; write the estimates after each, or record them."""
        if self.tape is None:
            self.run(program, given, rows)
            return
        passages = np.zeros(len(given), Passage.dtype())
        self.run(self.either(program), given, passages)
        self.tape.append((_BACK, passages, rows))

    @contextmanager
    def recording(self) -> Iterator[list[tuple[Program, RecordArray, RecordArray]]]:
        """Record what is processed, for the backward pass."""
        self.tape = []
        try:
            yield self.tape
        finally:
            self.tape = None

    def prepare_for_aiding(self, count: int) -> None:
        """Load or compile machine code where that is fastest for this many aidings."""
        self.prepare_for(_AIDINGS, count)

    def aid(self, aiding: Aiding) -> AidingResult:
        """Update the state with an aiding at the current time."""
        from scipy.special import chdtri  # noqa: PLC0415 (a slow import that few need)

        known = self.known
        slopes, residuals, variances = linearise(aiding, known, self._earth)
        count = len(residuals)
        update, answer = np.zeros(1, AidingUpdate.dtype()), np.zeros(1, AidingVerdict.dtype())
        update["kind"], update["count"] = KINDS.index(aiding.kind), count
        update["slopes"][0, :count] = slopes
        update["residuals"][0, :count] = residuals
        update["variances"][0, :count] = variances
        # none is accepted during the alignment, in which every sample sets the state again
        update["gate"] = chdtri(count, 1.0 - self._params.gate) if known.aligned else -math.inf
        self.run(_AIDINGS, update, answer)
        nis, accepted = answer["nis"].item(), answer["accepted"].item()
        if self.tape is not None and accepted:
            self.tape.append((_AIDINGS_BACK, update, answer))
        return AidingResult(aiding.t_ns, aiding.kind, nis, count, accepted)

    def describe(self, rows: RecordArray) -> None:
        """Write the current estimates to a row."""
        row = NavigatorRow()
        describe(row, self.known)
        rows[:] = row.packed()

    def reach(self, t_ns: int, following: Sequence[float]) -> None:
        """Advance to a time before the next sample, of which the numbers are passed."""
        known, readings = self.known, following[1:7]
        if not (known.started and all(map(math.isfinite, readings))):
            return
        if not self._params.mean_samples:
            start_ns = self.last_ns - round(known.behind * NS_PER_S)
            weight = (t_ns - start_ns) / (following[0] - start_ns)
            last = known.past.rates[0] + known.past.forces[0]
            pairs = zip(readings, last, strict=True)
            readings = [weight * now + (1.0 - weight) * before for now, before in pairs]
        with self.uncounted(t_ns):
            sample = Sample.of_values([t_ns, *readings, *following[7:]])
            self.go_through(_SAMPLES, sample.packed(), np.zeros(1, NavigatorRow.dtype()))

    @contextmanager
    def uncounted(self, t_ns: int) -> Iterator[None]:
        """Advance to a time within a row of data without counting a sample."""
        counts = self.array(COUNTS).copy()
        yield
        counts["last_ns"] = t_ns
        self.replace(COUNTS, counts)


class BackwardPass:
    """Backward pass over what an execution has recorded, from the last block to the first."""

    def __init__(self, rows: int, aidings: int, *, compiled: bool | None) -> None:
        self._execution = Execution(_BACK, Adjoint(), Correction(), compiled=compiled)
        self._execution.prepare_for(_BACK, rows)
        self._execution.prepare_for(_AIDINGS_BACK, aidings)

    def over(self, tape: list[tuple[Program, RecordArray, RecordArray]]) -> None:
        """Write the smoothed estimates to the rows of a tape."""
        for program, given, rows in reversed(tape):
            self._execution.run(program, given, rows)


class SampleRows:
    """Samples of a series, and the rows of their results."""

    def __init__(self, series: ImuSeries) -> None:
        self._columns = as_columns(series, use_magnetic_field=False)
        self._block = (-1, np.zeros(0, Sample.dtype()))  # the last that was read
        self.t_ns = self._columns.t_ns
        self.out = np.zeros(len(series), NavigatorRow.dtype())

    def copy(self) -> Self:
        """Return the samples with the same rows of results."""
        return copy(self)

    def run(self, execution: NavigatorExecution, first: int, last: int) -> None:
        """Process the samples from ``first`` to before ``last``."""
        execution.prepare_for(execution.either(_SAMPLES), len(self.t_ns))
        while first < last:
            samples = self._from(first)[: last - first]
            upto = first + len(samples)
            execution.go_through(_SAMPLES, samples, self.out[first:upto])
            first = upto

    def reach(self, execution: NavigatorExecution, t_ns: int, row: int) -> None:
        """Advance to a time before the sample ``row``."""
        (following,) = Sample.unpack(self._from(row)[:1])
        execution.reach(t_ns, values_of(following))

    def _from(self, row: int) -> RecordArray:
        """Return the samples from a row to the end of its block."""
        first = row - row % BLOCK
        if self._block[0] != first:
            self._block = first, self._columns.block(first, first + BLOCK)
        return self._block[1][row - first :]


class IncrementRows:
    """Increments, and the rows of their results."""

    def __init__(self, increments: Increments) -> None:
        inside = increments.in_frames(body=BodyFrame.FLU)
        self.t_ns = inside.t_ns
        self._increments = np.zeros(len(inside), Increment.dtype())
        self._increments["t_ns"] = inside.t_ns
        self._increments["magnetic_field"] = math.nan
        accel = (inside.accel_clipping & 7).astype(np.int64)
        self._increments["clipping"] = (inside.gyro_clipping & 7) | accel << 3
        for name in ("delta_angle", "delta_velocity"):
            self._increments[name] = getattr(inside, name)
            self._increments[f"{name}_dt"] = getattr(inside, f"{name}_dt_ns") / NS_PER_S
        _write_means(self._increments)
        self.out = np.zeros(len(inside), NavigatorRow.dtype())

    def copy(self) -> Self:
        """Return the increments, which :meth:`reach` changes, with the same rows of results."""
        other = copy(self)
        vars(other)["_increments"] = self._increments.copy()
        return other

    def run(self, execution: NavigatorExecution, first: int, last: int) -> None:
        """Process the increments from ``first`` to before ``last``."""
        execution.prepare_for(execution.either(_INCREMENTS), len(self.t_ns))
        execution.go_through(_INCREMENTS, self._increments[first:last], self.out[first:last])

    def reach(self, execution: NavigatorExecution, t_ns: int, row: int) -> None:
        """Advance to a time within the increment ``row``, which keeps the rest."""
        whole = self._increments[row : row + 1]
        span_ns = whole["delta_velocity_dt"][0] * NS_PER_S
        part = 1.0 - (self.t_ns[row] - t_ns) / span_ns
        if not 0.0 < part < 1.0:
            return
        first = whole.copy()
        first["t_ns"] = t_ns
        for increment, share in ((first, part), (whole, 1.0 - part)):
            for name in ("delta_angle", "delta_velocity"):
                increment[name] *= share
                increment[f"{name}_dt"] *= share
            _write_means(increment)
        with execution.uncounted(t_ns):
            execution.go_through(_INCREMENTS, first, np.zeros(1, NavigatorRow.dtype()))


def _write_means(increments: RecordArray) -> None:
    """Write the mean rates of the increments; NaN for those without duration."""
    for mean, name in (("angular_velocity", "delta_angle"), ("specific_force", "delta_velocity")):
        seconds = increments[f"{name}_dt"]
        per_second = np.full(len(seconds), math.nan)
        np.divide(1.0, seconds, out=per_second, where=seconds > 0.0)
        increments[mean] = per_second[:, None] * increments[name]
