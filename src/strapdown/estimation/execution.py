"""Execution of a filter: its state, the counts of its samples, and what is saved of them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from strapdown._kernels.records import Record, values_of
from strapdown.errors import ShapeError, UnknownNameError
from strapdown.estimation.intake import FilterCounts, FilterMemory
from strapdown.estimation.result import FilterReport, FilterState
from strapdown.samples.execution import Execution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["COUNTS", "MEMORY", "FilterExecution", "rebuilt", "report_of", "restored"]

MEMORY: Final = 0  # indices of the records of a filter
COUNTS: Final = 1

Memory = TypeVar("Memory", bound=FilterMemory)
Remembered = TypeVar("Remembered", bound=Record)


class FilterExecution(Execution):
    """Execution of programs whose first two records are the state of a filter and its counts."""

    @property
    def last_ns(self) -> int:
        """Stamp of the last sample [ns]."""
        return int(self.number(COUNTS, "last_ns"))

    @property
    def report(self) -> FilterReport:
        """Counts of the samples since the last reset."""
        with self.lock:
            return report_of(self.memory(COUNTS))

    def saved(self, name: str) -> FilterState:
        """Return the state to save, under the name of the filter."""
        with self.lock:
            return FilterState(name, self.last_ns, tuple(values_of(self.memory(MEMORY))))

    @contextmanager
    def own_account(self) -> Iterator[None]:
        """Count the samples of a run separately, then add them to those since the last reset."""
        before: FilterCounts = self.memory(COUNTS)
        self.replace(COUNTS, FilterCounts(last_ns=before.last_ns))
        yield
        self.replace(COUNTS, _total(before, self.memory(COUNTS)))


def restored(state: FilterState | None, name: str, fresh: Memory) -> tuple[Memory, int]:
    """Return the state record of a saved state (or ``fresh``) and the stamp of its last sample."""
    if state is None:
        return fresh, 0
    if state.filter != name:
        raise UnknownNameError("state of this filter", state.filter, [name])
    return rebuilt(fresh, state.values), state.t_ns


def rebuilt(like: Remembered, values: Sequence[float]) -> Remembered:
    """Return a record with the values of a saved one."""
    try:
        return like.of_values(values)
    except ValueError:
        expected, got = len(values_of(like)), len(values)
        raise ShapeError(f"expected a state of {expected} values, got {got}") from None


def report_of(counts: FilterCounts) -> FilterReport:
    """Return the counts as a report."""
    return FilterReport(**{name: n for name, n in vars(counts).items() if name != "last_ns"})


def _total(before: FilterCounts, run: FilterCounts) -> FilterCounts:
    """Return the counts since the last reset, those of a run added."""
    total = FilterCounts(last_ns=run.last_ns)
    for name in vars(report_of(run)):
        combined = max if name.endswith("_ns") else sum  # a longest time, or a count
        setattr(total, name, combined((getattr(before, name), getattr(run, name))))
    return total
