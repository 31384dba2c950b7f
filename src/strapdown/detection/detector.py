"""Base of the detectors: state, step, and the loop over samples."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

import numpy as np

from strapdown._checks import as_params
from strapdown._html import FieldsAsHtml
from strapdown._kernels.kernel import bind, kernel
from strapdown._kernels.records import values_of
from strapdown.detection.events import Event, Events
from strapdown.detection.intake import DetectorCounts, DetectorEvent, DetectorMemory
from strapdown.errors import ShapeError, UnknownNameError
from strapdown.geometry.frames import BodyFrame
from strapdown.samples.execution import Execution, Program
from strapdown.samples.params import CheckedParams
from strapdown.samples.sample import ImuSample, Sample, SampleColumns, numbers_of
from strapdown.samples.state import SavedState
from strapdown.series.series import require_series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strapdown._kernels.records import Record, RecordArray
    from strapdown.samples.sample import Numbers
    from strapdown.series import ImuSeries

    step: Callable[..., bool]  # the detector's own

__all__ = ["Detector", "DetectorParams", "DetectorReport", "DetectorState", "detect"]


@dataclass(frozen=True)
class DetectorParams(CheckedParams):
    """Base of the parameters: numbers, each with its unit in its name.

    A field is a float, a tuple of three floats, a flag, None (unknown), or the parameters of
    another detector, with a default.

    Raises
    ------
    ValueRangeError
        A number is not positive, or not finite. A field declared with the metadata ``zero`` may
        be zero, one with ``infinite`` may be infinite, one with ``signed`` negative; one with
        ``most`` is at most that.
    """


Params = TypeVar("Params", bound=DetectorParams)


@dataclass(frozen=True)
class DetectorReport(FieldsAsHtml):
    """Counts of the samples that a detector received.

    Parameters
    ----------
    samples : int
        All samples.
    gaps : int
        Steps longer than five mean sampling intervals and 20 ms.
    longest_gap_ns : int
        The longest of them [ns].
    duplicates, backward : int
        Samples left out because their stamp repeats, or goes back by up to a second.
    invalid_angular_velocity, invalid_specific_force : int
        Vectors that were missing, not finite or implausible.
    restarts : int
        Jumps of the clock, back by more than 1 s or ahead by more than 10 s, at which the
        detector was reset.
    undecided : int
        Candidates with too few measurements to be classified.
    """

    samples: int = 0
    gaps: int = 0
    longest_gap_ns: int = 0
    duplicates: int = 0
    backward: int = 0
    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    restarts: int = 0
    undecided: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the counts in types of JSON."""
        return asdict(self)


@dataclass(frozen=True)
class DetectorState(SavedState):
    """Saved state of a detector; events after it are the same, bit for bit.

    Parameters
    ----------
    detector : str
        Name of the detector that it belongs to.
    values : tuple of float or int
        Numbers of the state; stamps are integers.
    account : tuple of int
        Last stamp, and counts.

    Raises
    ------
    ValueRangeError
        A value is not finite, or a whole number does not fit in 64 bits.
    """

    detector: str
    values: tuple[float, ...]
    account: tuple[int, ...]


@kernel
def detect(
    state: Sequence[DetectorMemory],
    counts: Sequence[DetectorCounts],
    params: Sequence[DetectorParams],
    samples: Sequence[Sample],
    events: Sequence[DetectorEvent],
) -> None:
    """Step through samples, and write the event row of each."""
    for i in range(len(samples)):
        event = events[i]
        event.complete = step(state[0], counts[0], params[0], samples[i], event)  # noqa: F821 (bound by each detector)


class Detector(Generic[Params]):
    """Base of the detectors.

    Time steps follow from the stamps, memory is bounded, and unusable values of a sample are left
    out and counted in :attr:`report`.

    A subclass declares its name (``NAME``), its parameters (``PARAMS``), the kinds and flags of
    its events (``KINDS``, by default its name; ``FLAGS``), its initial state (``MEMORY``), its
    event row (``EVENT``; every float in it is one of ``VALUES``), and two kernels, which return
    whether they have written an event: ``STEP(memory, counts, params, sample, event)`` and, at
    the end of the data, ``CLOSE(memory, params, event)``.

    Parameters
    ----------
    params : DetectorParams, optional
        Parameters of the detector.
    compiled : bool, optional
        True uses machine code from the first sample, and waits until it is compiled; False uses
        plain Python. By default a detector starts in plain Python, and switches as soon as
        machine code is loaded. The results are the same.
    """

    NAME: ClassVar[str]
    PARAMS: ClassVar[type[DetectorParams]]
    KINDS: ClassVar[tuple[str, ...]]
    FLAGS: ClassVar[tuple[str, ...]] = ()
    VALUES: ClassVar[tuple[str, ...]]
    MEMORY: ClassVar[type[DetectorMemory]]
    EVENT: ClassVar[type[DetectorEvent]]
    STEP: ClassVar[Callable[..., bool]]
    CLOSE: ClassVar[Callable[..., bool]]

    params: Params

    def __init_subclass__(cls) -> None:
        figures = (name for name, value in cls.EVENT.fresh().items() if isinstance(value, float))
        cls.VALUES = tuple(figures)
        cls.KINDS = vars(cls).get("KINDS", (cls.NAME,))

    def __init__(self, params: Params | None = None, *, compiled: bool | None = None) -> None:
        self.params = as_params(params, cast("type[Params]", self.PARAMS))
        self._compiled = compiled
        self._execution = self._fresh_execution()

    @classmethod
    @cache
    def program(cls) -> Program:
        """Return the program of the detector."""
        memory = cls.MEMORY, DetectorCounts, cls.PARAMS.record()
        return Program(cls.NAME, bind(detect, step=cls.STEP), memory, cls.EVENT)

    def _fresh_execution(self) -> Execution:
        memory = self.MEMORY(), DetectorCounts(), self._settings()
        return Execution(self.program(), *memory, compiled=self._compiled)

    def _settings(self) -> Record:
        """Return the parameters for the kernels."""
        return self.params.settings()

    def reset(self, state: DetectorState | None = None) -> None:
        """Reset to a saved state, or to the state before the first sample.

        Raises
        ------
        UnknownNameError
            The state belongs to another detector.
        ShapeError
            The state does not have the size of this detector's.
        """
        memory, counts = self.MEMORY(), DetectorCounts()
        if state is not None:
            if state.detector != self.NAME:
                raise UnknownNameError("state of this detector", state.detector, [self.NAME])
            expected = len(values_of(memory)), len(values_of(counts))
            got = len(state.values), len(state.account)
            if expected != got:
                raise ShapeError(f"expected a {self.NAME} state of {expected} numbers, got {got}")
            memory = self.MEMORY.of_values(state.values)
            counts = DetectorCounts.of_values(state.account)
        with self._execution.lock:
            self._execution.replace(0, memory, counts, self._settings())

    @property
    def _memory(self) -> Any:  # noqa: ANN401 (of its MEMORY)
        with self._execution.lock:
            return self._execution.memory(0)

    def _number(self, name: str) -> Any:  # noqa: ANN401 (a field of its MEMORY)
        with self._execution.lock:
            return self._execution.number(0, name)

    @property
    def _counts(self) -> DetectorCounts:
        with self._execution.lock:
            counts: DetectorCounts = self._execution.memory(1)
            return counts

    @property
    def state(self) -> DetectorState:
        """State that future results depend on, without ``params``."""
        with self._execution.lock:
            account = self._counts.astuple()
            return DetectorState(self.NAME, tuple(values_of(self._memory)), account)

    @property
    def report(self) -> DetectorReport:
        """Counts of the samples since the last reset."""
        counts = vars(self._counts)
        return DetectorReport(**{name: n for name, n in counts.items() if name != "last_ns"})

    @overload
    def update(self, sample: ImuSample, /) -> Event | None: ...

    @overload
    def update(
        self,
        t_ns: int,
        angular_velocity: Iterable[float] | None,
        specific_force: Iterable[float] | None,
        magnetic_field: Iterable[float] | None = None,
        /,
    ) -> Event | None: ...

    def update(
        self,
        sample: ImuSample | int,
        angular_velocity: Iterable[float] | None = None,
        specific_force: Iterable[float] | None = None,
        magnetic_field: Iterable[float] | None = None,
        /,
    ) -> Event | None:
        """Process one sample, and return the event that it completes.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes. Or its stamp [ns], followed by its vectors (None: not measured).

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        ShapeError
            A vector is not three numbers.
        """
        return self._take(numbers_of(sample, angular_velocity, specific_force, magnetic_field))

    def _take(self, numbers: Numbers) -> Event | None:
        execution = self._execution
        with execution.lock:
            if execution.update(numbers)["complete"]:
                return self._as_events(execution.rows()[0])[0]
        return None

    def run(self, series: ImuSeries) -> Events:
        """Process a series; equivalent to a loop of :meth:`update`.

        The detector continues from its state: a recording may be passed in several parts. After
        the last one call :meth:`finish` for the event that is still open. For another recording
        call :meth:`reset` first, or create a new detector.

        Parameters
        ----------
        series : ImuSeries
            In any body frame; samples out of order are left out.

        Returns
        -------
        Events
            In the order of their completion; vectors among their values are FLU.
        """
        blocks = rows_of(self._execution, series)
        found = [rows[rows["complete"]] for rows in blocks]
        return self._as_events(np.concatenate([np.zeros(0, self.EVENT.dtype()), *found]))

    def finish(self) -> Event | None:
        """End the data: return the event that is still open, with the figures so far.

        The detector then waits for a new event; its counts are kept.
        """
        execution, event = self._execution, self.EVENT()
        with execution.lock:
            memory, counts, params = (execution.memory(part) for part in range(3))
            found = type(self).CLOSE(memory, params, event)
            counts.undecided += event.undecided
            execution.replace(0, memory, counts)
        return self._as_events(event.packed())[0] if found else None

    def _as_events(self, rows: RecordArray) -> Events:
        """Return the events of rows that kernels wrote."""
        return Events(
            np.array(self.KINDS)[rows["kind"]],
            rows["start_ns"],
            rows["end_ns"],
            rows["decided_ns"],
            {name: rows[name] for name in self.VALUES},
            {name: rows["flags"] >> bit & 1 != 0 for bit, name in enumerate(self.FLAGS)},
        )


def rows_of(execution: Execution, series: ImuSeries) -> Iterable[RecordArray]:
    """Process a series; yield the rows of its samples, block by block."""
    require_series(series)
    samples = SampleColumns(series.in_frames(body=BodyFrame.FLU), use_magnetic_field=False)
    with execution.lock:
        for _, rows in execution.through(samples):
            yield rows
