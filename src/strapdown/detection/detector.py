"""What every detector is: ``update`` for a stream, ``run`` for a series, a state as a value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar, cast

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.detection import _kernels as shared
from strapdown.detection.events import Event, Events
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.intake import clipping_codes, sample_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from strapdown._typing import FloatArray, IntArray
    from strapdown.intake._kernels import Floats, Ints
    from strapdown.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["Detector", "DetectorParams", "DetectorReport", "DetectorState"]

_ROWS: Final = 256  # of events that a compiled run fills before they are collected


@dataclass(frozen=True)
class DetectorParams:
    """Base of the parameters: numbers, each with its unit in its name.

    A field is a float, a tuple of floats, or None (unknown); the kernels get them in their
    order, None as NaN.

    Raises
    ------
    ValueRangeError
        A number is not positive, or not finite. A field declared with the metadata ``zero`` may
        be zero, one with ``infinite`` may be infinite, one with ``signed`` negative.
    """

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            for number in value if isinstance(value, tuple) else (value,):
                if number is None:
                    continue
                usable = number > 0.0 or (number == 0.0 and "zero" in entry.metadata)
                usable |= "signed" in entry.metadata and not math.isnan(number)
                if not usable or (math.isinf(number) and "infinite" not in entry.metadata):
                    raise ValueRangeError(
                        f"expected {entry.name} of {type(self).__name__} finite and positive, "
                        f"got {value}"
                    )

    def settings(self) -> tuple[float, ...]:
        """Return the numbers as the kernels take them."""
        numbers: list[float] = []
        for entry in fields(self):
            value = getattr(self, entry.name)
            numbers += value if isinstance(value, tuple) else (value,)
        return tuple(math.nan if number is None else float(number) for number in numbers)


Params = TypeVar("Params", bound=DetectorParams)


@dataclass(frozen=True)
class DetectorReport:
    """An account of the samples that a detector was given.

    Parameters
    ----------
    samples : int
        All of them.
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
        detector forgot what was before.
    undecided : int
        Candidates of which too little was measured to say what they were.
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
        """Return the counts as JSON holds them."""
        return asdict(self)


@dataclass(frozen=True)
class DetectorState:
    """A saved detector: continue from it and the events are the same, bit for bit.

    Parameters
    ----------
    detector : str
        Name of the detector that it belongs to.
    values : tuple of float
        The state; its layout belongs to the detector.
    account : tuple of int
        Stamps and counts.

    Raises
    ------
    ValueRangeError
        A value is not finite, or a number does not fit in 64 bits.
    """

    detector: str
    values: tuple[float, ...]
    account: tuple[int, ...]

    def __post_init__(self) -> None:
        fits = all(-(2**63) <= number < 2**63 for number in self.account)
        if not (fits and all(map(math.isfinite, self.values))):
            raise ValueRangeError(f"expected finite values of a detector state, got {self!r:.200}")

    def to_dict(self) -> dict[str, object]:
        """Return the state as JSON holds it, without loss."""
        return {
            "detector": self.detector,
            "values": list(self.values),
            "account": list(self.account),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> DetectorState:
        """Return the state that :meth:`to_dict` gave.

        Raises
        ------
        ValueRangeError
            The data are something else.
        """
        match data:
            case {"detector": str(name), "values": [*values], "account": [*account]}:
                floats = tuple(float(value) for value in values if isinstance(value, int | float))
                whole = tuple(number for number in account if isinstance(number, int))
                if len(floats) == len(values) and len(whole) == len(account):
                    return cls(name, floats, whole)
        raise ValueRangeError(
            f"expected a detector state with detector, values and account, got {data!r:.200}"
        )


class Detector(Generic[Params]):
    """Base of the detectors.

    Time steps come from the stamps, memory is bounded, and no value of a sample does harm:
    what cannot be used is left out and counted in :attr:`report`.

    A subclass names itself (``NAME``), its parameters (``PARAMS``), the kinds of its events, the
    figures and flags that they carry (``KINDS``, ``VALUES``, ``FLAGS``) and its ``KERNELS``: a
    module with ``step``, ``close``, ``FRESH`` and ``FRESH_ACCOUNT`` as
    :mod:`strapdown.detection._kernels` describes them.

    Parameters
    ----------
    params : DetectorParams, optional
        Those of the detector; by default its defaults.
    compiled : bool, optional
        False steps in plain Python, more slowly and to the same results.
    """

    NAME: ClassVar[str]
    PARAMS: ClassVar[type[DetectorParams]]
    KINDS: ClassVar[tuple[str, ...]]
    VALUES: ClassVar[tuple[str, ...]]
    FLAGS: ClassVar[tuple[str, ...]] = ()
    KERNELS: ClassVar[ModuleType]

    params: Params

    def __init__(self, params: Params | None = None, *, compiled: bool = True) -> None:
        self.params = params or cast("Params", self.PARAMS())
        self._compiled = compiled
        self._settings: Floats = self._as_vector(self._make_settings())
        self._event: Ints = self._as_whole((0,) * shared.EVENT_SIZE)
        self._values: Floats = self._as_vector((math.nan,) * len(self.VALUES))
        self.reset()

    @cached_property
    def _step(self) -> Callable[..., bool]:
        step: Callable[..., bool] = self.KERNELS.step
        return compile_kernel(step) if self._compiled else step

    def _make_settings(self) -> tuple[float, ...]:
        """Return the numbers that the kernels take."""
        return self.params.settings()

    def _fresh(self) -> DetectorState:
        """Return the state before any sample."""
        return DetectorState(self.NAME, self.KERNELS.FRESH, self.KERNELS.FRESH_ACCOUNT)

    def _as_vector(self, values: Sequence[float] | FloatArray) -> Floats:
        vector = np.array(values, np.float64)
        return vector if self._compiled else vector.tolist()

    def _as_whole(self, values: Sequence[int] | IntArray) -> Ints:
        whole = np.array(values, np.int64)
        return whole if self._compiled else whole.tolist()

    def reset(self, state: DetectorState | None = None) -> None:
        """Go back to a saved state, or to the beginning.

        Raises
        ------
        UnknownNameError
            The state belongs to another detector.
        ShapeError
            The state has not the size of this detector's: its parameters were others.
        """
        fresh = self._fresh()
        state = state or fresh
        if state.detector != self.NAME:
            raise UnknownNameError("state of this detector", state.detector, [self.NAME])
        expected = len(fresh.values), len(fresh.account)
        got = len(state.values), len(state.account)
        if expected != got:
            raise ShapeError(f"expected a {self.NAME} state of {expected} numbers, got {got}")
        self._state = self._as_vector(state.values)
        self._account = self._as_whole(state.account)

    @property
    def state(self) -> DetectorState:
        """All that the future depends on, except ``params``."""
        values, account = np.asarray(self._state).tolist(), np.asarray(self._account).tolist()
        return DetectorState(self.NAME, tuple(values), tuple(account))

    @property
    def report(self) -> DetectorReport:
        """An account of the samples since the beginning."""
        counts = self._account[shared.SAMPLES : shared.OWN_ACCOUNT]
        return DetectorReport(*(int(count) for count in counts))

    def update(self, sample: ImuSample) -> Event | None:
        """Take one sample, and return the event that it completes.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        """
        t_ns, (wx, wy, wz), (ax, ay, az), _, clipped = sample_values(sample)
        found = self._step(
            self._state, self._account, self._settings, self._event, self._values,
            t_ns, wx, wy, wz, ax, ay, az, clipped,
        )  # fmt: skip
        return self._take_event() if found else None

    def run(self, series: ImuSeries) -> Events:
        """Go on through a whole series; the same as a loop of :meth:`update`.

        The detector continues from its state: parts of a recording may be given one after the
        other. At the end of all call :meth:`finish`, lest an event that lasts to the end is
        lost. For another recording call :meth:`reset` first, or take a new detector.

        Parameters
        ----------
        series : ImuSeries
            In any body frame; stamps are taken as they come.

        Returns
        -------
        Events
            In the order in which they were complete; vectors among their values are FLU.
        """
        inside = series.in_frames(body=BodyFrame.FLU)
        clipped = clipping_codes(inside.gyro_clipping, inside.accel_clipping, len(inside))
        state, account = np.array(self._state), np.array(self._account, np.int64)
        loop = compile_kernel(shared.run, step=self.KERNELS.step)
        rows = [np.zeros((0, shared.EVENT_SIZE), np.int64)]
        figures = [np.zeros((0, len(self.VALUES)))]
        at = 0
        while at < len(inside):
            events = np.zeros((_ROWS, shared.EVENT_SIZE), np.int64)
            values = np.full((_ROWS, len(self.VALUES)), math.nan)
            at, found = loop(
                state, account, np.array(self._settings), inside.t_ns, inside.angular_velocity,
                inside.specific_force, clipped, at, events, values,
            )  # fmt: skip
            rows.append(events[:found])
            figures.append(values[:found])
        self._state, self._account = self._as_vector(state), self._as_whole(account)
        return self._as_events(np.concatenate(rows), np.concatenate(figures))

    def finish(self) -> Event | None:
        """End the data: return the event that is still open, as far as it is known.

        The detector then waits for a new event; its account stays.
        """
        found = self.KERNELS.close(
            self._state, self._account, self._settings, self._event, self._values
        )
        return self._take_event() if found else None

    def _as_events(self, rows: IntArray, figures: FloatArray) -> Events:
        """Return the events that kernels wrote."""
        bits = rows[:, shared.FLAGS]
        return Events(
            np.array(self.KINDS)[rows[:, shared.KIND]],
            rows[:, shared.START],
            rows[:, shared.END],
            rows[:, shared.DECIDED],
            {name: figures[:, column] for column, name in enumerate(self.VALUES)},
            {name: bits >> bit & 1 != 0 for bit, name in enumerate(self.FLAGS)},
        )

    def _take_event(self) -> Event:
        """Return the event that a kernel wrote."""
        row, figures = np.array([self._event], np.int64), np.array([self._values])
        return self._as_events(row, figures)[0]
