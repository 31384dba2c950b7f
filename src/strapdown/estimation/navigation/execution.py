"""Execution of a navigator, and the samples or increments that it processes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown._kernels.kernel import bind
from strapdown.estimation.execution import MEMORY, FilterExecution
from strapdown.estimation.filter import as_columns
from strapdown.estimation.intake import FilterCounts
from strapdown.estimation.navigation.aiding import AidingResult
from strapdown.estimation.navigation.errors import Correction
from strapdown.estimation.navigation.params import NavigatorParams
from strapdown.estimation.navigation.prediction import AidingUpdate, pack
from strapdown.estimation.navigation.smoothing import Adjoint, Passage, back
from strapdown.estimation.navigation.state import NavigatorMemory, NavigatorRow
from strapdown.estimation.navigation.step import (
    AidingWork,
    Increment,
    reach,
    reach_within,
    run_steps,
    step,
    step_increment,
)
from strapdown.geometry.frames import BodyFrame
from strapdown.inertial.navigation.mechanisation import Earth
from strapdown.samples.execution import BLOCK, Execution, Program
from strapdown.samples.sample import Sample
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown._kernels.records import Record, RecordArray
    from strapdown._typing import IntArray
    from strapdown.estimation.navigation.aiding import Aiding
    from strapdown.inertial.navigation import Place
    from strapdown.samples.sample import Numbers
    from strapdown.series import ImuSeries, Increments

__all__ = ["BackwardPass", "IncrementRows", "NavigatorExecution", "Rows", "SampleRows"]

_PARTS: Final = (
    NavigatorMemory,
    FilterCounts,
    NavigatorParams.record(),
    Earth,
    Correction,
    AidingWork,
)
_NAME: Final = "strapdown navigator"
_WEIGHT: Final = 5.0  # duration of a step in plain Python, relative to that of a filter
_STEPS_OF_AIDING: Final = 4  # duration of an aiding relative to a step
_NO_PASSAGES: Final = np.zeros(0, Passage.dtype())


def _over(name: str, sample: type[Record], **parts: Callable[..., Any]) -> Program:
    """Return a program over samples, or increments, and the aiding between them."""
    rows = NavigatorRow, AidingUpdate, Passage
    return Program(name, bind(run_steps, **parts), _PARTS, *rows, sample=sample, weight=_WEIGHT)


_SAMPLES: Final = _over(_NAME, Sample, take=step, reach_next=reach)
_INCREMENTS: Final = _over(
    f"{_NAME} (increments)", Increment, take=step_increment, reach_next=reach_within
)
_BACK: Final = Program(
    f"{_NAME}, back",
    back,
    (Adjoint, Correction),
    NavigatorRow,
    AidingUpdate,
    sample=Passage,
    weight=_WEIGHT,
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
        self._params = params
        known = NavigatorMemory(), FilterCounts(), params.settings(), place.for_kernels()
        sizes = (1, 1, 0, 0)  # a sample and its row, no aiding
        super().__init__(
            _SAMPLES, *known, Correction(), AidingWork(), sizes=sizes, compiled=compiled
        )

    @property
    def known(self) -> NavigatorMemory:
        """Current state of the navigator, to read a few of its fields."""
        memory: NavigatorMemory = self.view(MEMORY)
        return memory

    def prepare(self, rows: Rows, aidings: int) -> None:
        """Load or compile machine code where that is fastest for this much data."""
        self.prepare_for(rows.program, len(rows.t_ns) + _STEPS_OF_AIDING * aidings)

    def go_through(self, rows: Rows, block: Block) -> list[AidingResult]:
        """Process a block, and write the estimates after each sample."""
        return _results(block.aiding, self._go(rows, block, _NO_PASSAGES))

    def record(self, rows: Rows, block: Block) -> tuple[RecordArray, RecordArray]:
        """Process a block; return its samples and aiding for the backward pass."""
        passages = np.zeros(block.last - block.first, Passage.dtype())
        return passages, self._go(rows, block, passages)

    def _go(self, rows: Rows, block: Block, passages: RecordArray) -> RecordArray:
        updates = pack(block.aiding, block.reached, self._params.gate)
        out = rows.out[block.first : block.last]
        self.run(rows.program, rows.given(block), out, updates, passages)
        return updates

    def update_with(self, numbers: Numbers | None, aiding: Sequence[Aiding]) -> list[AidingResult]:
        """Process a sample of a stream, or none, with the aiding before it and at its stamp."""
        samples = np.zeros(0, Sample.dtype())
        reached = np.zeros(len(aiding), np.int64)
        if numbers is not None:
            samples = Sample.of_values(numbers).packed()
            reached += [each.t_ns >= numbers[0] for each in aiding]
        updates = pack(aiding, reached, self._params.gate)
        row = np.zeros(len(samples), NavigatorRow.dtype())
        self.run(_SAMPLES, samples, row, updates, _NO_PASSAGES)
        return _results(aiding, updates)


def _results(aiding: Sequence[Aiding], updates: RecordArray) -> list[AidingResult]:
    columns = (updates[name].tolist() for name in ("nis", "count", "accepted"))
    return [
        AidingResult(each.t_ns, each.kind, *result)
        for each, *result in zip(aiding, *columns, strict=True)
    ]


class BackwardPass:
    """Backward pass over what an execution has recorded, from the last block to the first."""

    def __init__(self, rows: int, aidings: int, *, compiled: bool | None) -> None:
        self._execution = Execution(
            _BACK, Adjoint(), Correction(), sizes=(1, 1, 0), compiled=compiled
        )
        self._execution.prepare_for(_BACK, rows + _STEPS_OF_AIDING * aidings)

    def over(self, passages: RecordArray, rows: RecordArray, updates: RecordArray) -> None:
        """Write the smoothed estimates to the rows of a block."""
        self._execution.run(_BACK, passages, rows, updates)


class Block(NamedTuple):
    """Successive rows of data, with the aiding between them and at their stamps."""

    first: int
    last: int
    aiding: Sequence[Aiding]
    reached: IntArray  # rows of the block before each aiding


class Rows(ABC):
    """Rows of data, and of their results."""

    program: Program
    t_ns: IntArray

    def __init__(self, count: int) -> None:
        self.out = np.zeros(count, NavigatorRow.dtype())

    @abstractmethod
    def given(self, block: Block) -> RecordArray:
        """Return the records of a block."""

    def blocks(self, aiding: Sequence[Aiding], size: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of the data, with aiding sorted by stamp."""
        count, stamps = len(self.t_ns), np.maximum.accumulate(self.t_ns)
        t_ns = np.array([each.t_ns for each in aiding], np.int64)
        reached = np.searchsorted(stamps, t_ns, "right")
        following = np.searchsorted(stamps, t_ns, "left")
        # at the stamp of a row it is in the block of that row, else in that of the next one
        own = np.maximum(reached - 1, following)
        begun = 0
        for first in range(0, max(count, 1), size):
            last = min(first + size, count)
            until = int(np.searchsorted(own, last)) if last < count else len(aiding)
            yield Block(first, last, aiding[begun:until], reached[begun:until] - first)
            begun = until


class SampleRows(Rows):
    """Samples of a series, and the rows of their results."""

    program = _SAMPLES

    def __init__(self, series: ImuSeries) -> None:
        super().__init__(len(series))
        self._columns = as_columns(series, use_magnetic_field=False)
        self.t_ns = self._columns.t_ns

    def given(self, block: Block) -> RecordArray:
        """Return the samples of a block."""
        return self._columns.block(block.first, block.last)


class IncrementRows(Rows):
    """Increments, and the rows of their results."""

    program = _INCREMENTS

    def __init__(self, increments: Increments) -> None:
        super().__init__(len(increments))
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

    def given(self, block: Block) -> RecordArray:
        """Return the increments of a block, to be divided where an aiding is within one."""
        return self._increments[block.first : block.last].copy()
