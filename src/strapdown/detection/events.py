"""Results of detectors: one :class:`Event`, or many as arrays, :class:`Events`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, overload

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.series.columns import as_stamps
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray

__all__ = ["Event", "Events", "Marker"]

_STAMPS: Final = ("t_start_ns", "t_end_ns", "t_decided_ns")


@dataclass(frozen=True)
class Event:
    """Detected event.

    Parameters
    ----------
    kind : str
        Kind of event, such as ``"free_fall"``.
    t_start_ns, t_end_ns : int
        Start and end [ns]; equal for an instant.
    t_decided_ns : int
        Stamp of the sample at which the event was certain [ns]; the time since the start is the
        latency.
    values : mapping of str to float
        Figures, with units in their names; unknown ones are absent.
    flags : frozenset of str
        Further properties of the event.
    """

    kind: str
    t_start_ns: int
    t_end_ns: int
    t_decided_ns: int
    values: Mapping[str, float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()

    @property
    def duration_s(self) -> float:
        """Time from its start to its end [s]."""
        return (self.t_end_ns - self.t_start_ns) / NS_PER_S

    def to_dict(self) -> dict[str, object]:
        """Return the event in types of JSON."""
        return vars(self) | {"values": dict(self.values), "flags": sorted(self.flags)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Event:
        """Return the event from the dictionary of :meth:`to_dict`.

        Raises
        ------
        ValueRangeError
            The data are no such dictionary.
        """
        match data:
            case {
                "kind": str(kind),
                "t_start_ns": int(start),
                "t_end_ns": int(end),
                "t_decided_ns": int(decided),
                "values": dict(values),
                "flags": [*flags],
            }:
                return cls(kind, start, end, decided, values, frozenset(map(str, flags)))
        raise ValueRangeError(
            "expected an event with kind, t_start_ns, t_end_ns, t_decided_ns, values and flags, "
            f"got {data!r:.200}"
        )


class Marker(NamedTuple):
    """Mark of an event in a figure.

    Parameters
    ----------
    t_start_ns, t_end_ns : int
        Marked interval [ns].
    kind : str
        Kind of event; events of one kind have the same style.
    label : str
        Readable kind and flags.
    """

    t_start_ns: int
    t_end_ns: int
    kind: str
    label: str


@dataclass(frozen=True, eq=False, repr=False)
class Events:  # noqa: PLW1641 (what holds arrays has no hash)
    """Events as arrays, one row per event.

    ``len(events)`` is their number, ``events[3]`` an :class:`Event`, and ``events[rows]`` with a
    slice, a mask or an array of row numbers Events. Two are equal if all their events are.

    Parameters
    ----------
    kind : (N,) str
        Kind of each event.
    t_start_ns, t_end_ns, t_decided_ns : (N,) int64
        As in :class:`Event` [ns].
    values : mapping of str to (N,) float
        NaN where an event does not have the figure.
    flags : mapping of str to (N,) bool
        Whether each event has the flag.

    Raises
    ------
    ShapeError
        A column does not have one row per event.
    """

    kind: np.ndarray[tuple[int, ...], np.dtype[np.str_]]
    t_start_ns: IntArray
    t_end_ns: IntArray
    t_decided_ns: IntArray
    values: Mapping[str, FloatArray] = field(default_factory=dict)
    flags: Mapping[str, BoolArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stamps = {name: as_stamps(getattr(self, name)) for name in _STAMPS}
        columns = {
            "kind": np.asarray(self.kind, np.str_),
            **stamps,
            "values": {name: as_floats(of, name, ()) for name, of in self.values.items()},
            "flags": {name: np.asarray(of, np.bool_) for name, of in self.flags.items()},
        }
        for name, value in columns.items():
            object.__setattr__(self, name, value)
        rows = (len(self.t_start_ns),)
        named = {"kind": self.kind, **stamps, **self.values, **self.flags}
        for name, column in named.items():
            if column.shape != rows:
                raise ShapeError(f"expected {name} of shape {rows}, got {column.shape}")

    @classmethod
    def of(cls, events: Iterable[Event]) -> Events:
        """Return events as arrays, in the same order."""
        events = list(events)
        values = dict.fromkeys(name for event in events for name in event.values)
        flags = sorted({name for event in events for name in event.flags})
        return cls(
            np.array([event.kind for event in events], np.str_),
            np.array([event.t_start_ns for event in events], np.int64),
            np.array([event.t_end_ns for event in events], np.int64),
            np.array([event.t_decided_ns for event in events], np.int64),
            {name: np.array([e.values.get(name, math.nan) for e in events]) for name in values},
            {name: np.array([name in event.flags for event in events]) for name in flags},
        )

    def __len__(self) -> int:
        return len(self.t_start_ns)

    def __iter__(self) -> Iterator[Event]:
        return (self[row] for row in range(len(self)))

    @overload
    def __getitem__(self, rows: int) -> Event: ...
    @overload
    def __getitem__(self, rows: slice | ArrayLike) -> Events: ...
    def __getitem__(self, rows: int | slice | ArrayLike) -> Event | Events:
        if isinstance(rows, int | np.integer):
            return self._event(int(rows))
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(chosen, slice) and not chosen.size:
            chosen = slice(0)
        return Events(
            self.kind[chosen],
            self.t_start_ns[chosen],
            self.t_end_ns[chosen],
            self.t_decided_ns[chosen],
            {name: column[chosen] for name, column in self.values.items()},
            {name: column[chosen] for name, column in self.flags.items()},
        )

    def _event(self, row: int) -> Event:
        values = {name: float(column[row]) for name, column in self.values.items()}
        return Event(
            str(self.kind[row]),
            int(self.t_start_ns[row]),
            int(self.t_end_ns[row]),
            int(self.t_decided_ns[row]),
            {name: value for name, value in values.items() if not math.isnan(value)},
            frozenset(name for name, column in self.flags.items() if column[row]),
        )

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Events) else NotImplemented

    def __repr__(self) -> str:
        counts = (f"{count} {kind}" for kind, count in self.counts.items())
        return f"Events({', '.join(counts) or 'none'})"

    @property
    def counts(self) -> dict[str, int]:
        """Number of events of each kind."""
        kinds, counts = np.unique(self.kind, return_counts=True)
        return dict(zip(kinds.tolist(), counts.tolist(), strict=True))

    @property
    def duration_s(self) -> FloatArray:
        """Time from the start to the end of each [s], (N,)."""
        return (self.t_end_ns - self.t_start_ns) / NS_PER_S

    def filter(
        self,
        kind: str | None = None,
        *,
        flag: str | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
    ) -> Events:
        """Return the events that meet all given conditions.

        Parameters
        ----------
        kind : str, optional
            Kind of the events.
        flag : str, optional
            Flag that the events have.
        start_ns, stop_ns : int, optional
            Events that overlap ``start_ns <= t < stop_ns`` [ns].
        """
        keep = np.ones(len(self), np.bool_)
        if kind is not None:
            keep &= self.kind == kind
        if flag is not None:
            keep &= self.flags.get(flag, False)
        if start_ns is not None:
            keep &= self.t_end_ns >= start_ns
        if stop_ns is not None:
            keep &= self.t_start_ns < stop_ns
        return self[keep]

    def merge(self, *others: Events) -> Events:
        """Return these and other events, in the order of their starts."""
        events = [event for events in (self, *others) for event in events]
        return Events.of(sorted(events, key=lambda event: event.t_start_ns))

    def to_markers(self) -> list[Marker]:
        """Return an interval and a label for each event, for figures."""
        return [
            Marker(event.t_start_ns, event.t_end_ns, event.kind, _label(event)) for event in self
        ]

    def to_dict(self) -> dict[str, object]:
        """Return counts and events in types of JSON."""
        return {"counts": self.counts, "events": [event.to_dict() for event in self]}


def _label(event: Event) -> str:
    flags = f" ({', '.join(sorted(event.flags))})" if event.flags else ""
    return (event.kind + flags).replace("_", " ")
