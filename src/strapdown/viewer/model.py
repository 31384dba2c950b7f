"""State of one page, without a browser: time, zoom and playing, and what they show."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from strapdown.geometry import BodyFrame, WorldFrame
from strapdown.units import NS_PER_S
from strapdown.viewer.bodies import Shown, arrows_of, in_scene
from strapdown.viewer.differences import difference_of
from strapdown.viewer.quantities import Frames
from strapdown.viewer.signals import BINS, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries
    from strapdown.viewer.bodies import Body, Values
    from strapdown.viewer.signals import Signal
    from strapdown.viewer.sources import Figure, Source

__all__ = ["Line", "Mark", "Panel", "ViewModel"]

Made = TypeVar("Made")
Drawn = TypeVar("Drawn")

SHOWN_FRAMES: Final = (
    Frames(WorldFrame.ENU, BodyFrame.FLU),
    Frames(WorldFrame.NED, BodyFrame.FRD),
)
SHARED_S: Final = 0.08
"""Age at which shared charts are drawn again [s]."""
HEALTH_S: Final = 0.9
"""The same of the health [s]."""
POSE_S: Final = 0.02
"""The same of poses and values [s]: a live source looks for samples as often."""
LIVE_BINS: Final = 250
"""Bins of live charts: one for about two pixels."""
LIVE_S: Final = 10.0
"""Span of live charts [s]."""
_NARROWEST_S: Final = 0.01
_FASTEST: Final = 16.0


class Line(NamedTuple):
    """One component in a span: seconds and values (M, 2), NaN where it breaks."""

    label: str
    points: FloatArray


class Panel(NamedTuple):
    """One chart: a quantity with its unit and frame, and its lines."""

    name: str
    unit: str
    frame: str
    lines: tuple[Line, ...]


class Mark(NamedTuple):
    """An event: its kind, begin and end [s]."""

    kind: str
    start_s: float
    stop_s: float


@dataclass
class ViewModel:
    """The time that a page shows, and the sources at that time.

    Times are seconds since the zero of each source: the first stamp of all recordings if their
    spans overlap, otherwise the first stamp of each; the newest sample of a live topic.

    Parameters
    ----------
    sources : sequence of Source
        At least one; live ones are shown at their newest sample.

    Attributes
    ----------
    difference : Difference or None
        Of two recordings, if they have samples or attitudes to compare.
    is_dark : bool
        Whether the page has dark colours.
    """

    sources: Sequence[Source]
    cursor_s: float = 0.0
    is_playing: bool = False
    rate: float = 1.0
    loops: bool = True
    frames: Frames | None = None
    is_dark: bool = False
    extent_s: tuple[float, float] = (-LIVE_S, 0.0)
    _zoom: tuple[float, float] | None = field(default=None, repr=False)
    _frozen: dict[int, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.is_live = all(each.is_live for each in self.sources)
        self.is_playing = self.is_live
        self.refresh()
        self.difference = difference_of(self.sources, self._zeros)

    def refresh(self) -> None:
        """Take the extent of the recordings, which grows while they are read."""
        spans = [None if each.is_live else each.span() for each in self.sources]
        known = [span for span in spans if span is not None]
        start = max((span.start_ns for span in known), default=0)
        together = all(span.stop_ns > start for span in known)
        first = min((span.start_ns for span in known), default=0)
        self._zeros = [
            0 if span is None else first if together else span.start_ns for span in spans
        ]
        ends = [
            (span.stop_ns - zero) / NS_PER_S
            for span, zero in zip(spans, self._zeros, strict=True)
            if span is not None
        ]
        if ends:
            self.extent_s = 0.0, max(ends)

    @property
    def window_s(self) -> tuple[float, float]:
        """Begin and end of the charts [s]."""
        return self.extent_s if self._zoom is None else self._zoom

    def zoom(self, start_s: float, stop_s: float) -> None:
        """Show a span of time, kept within the extent and at least 10 ms long."""
        low, high = self.extent_s
        length = min(max(stop_s - start_s, _NARROWEST_S), high - low)
        middle = (start_s + stop_s) / 2.0
        start = min(max(middle - length / 2.0, low), high - length)
        self._zoom = (start, start + length)

    def zoom_level(self, level: int) -> None:
        """Show the whole for 1, and half of the span before for each step up, about the cursor."""
        low, high = self.extent_s
        half = (high - low) / 2.0**level
        if self.is_live:
            self.extent_s = (-6.0 * LIVE_S / 2.0 ** (level - 1), 0.0)
            self._zoom = None
        else:
            self.zoom(self.cursor_s - half, self.cursor_s + half)

    def seek(self, time_s: float) -> None:
        """Move to a time within the extent; the window follows."""
        low, high = self.extent_s
        self.cursor_s = min(max(time_s, low), high)
        start, stop = self.window_s
        if not start <= self.cursor_s <= stop:
            self.zoom(self.cursor_s - (stop - start) / 2.0, self.cursor_s + (stop - start) / 2.0)

    def step(self, count: int) -> None:
        """Move by samples of the first source; hundredths of a second where it has none."""
        self.is_playing = False
        source, zero, now_ns = self.sources[0], self._zero(0), self.now_ns(0)
        signals = source.signals(Span(now_ns - NS_PER_S, now_ns + NS_PER_S))
        if not signals:
            return
        t = signals[0].t_ns
        row = int(np.searchsorted(t, now_ns)) + count
        self.seek((int(t[min(max(row, 0), len(t) - 1)]) - zero) / NS_PER_S)

    def toggle(self) -> None:
        """Play or pause; a paused live source keeps its present time."""
        self.is_playing = not self.is_playing
        self._frozen = {}
        if self.is_live and not self.is_playing:
            self._frozen = {number: self._zero(number) for number in range(len(self.sources))}

    def faster(self, factor: float) -> None:
        """Multiply the rate of playing, from 1/16 to 16."""
        self.rate = min(max(self.rate * factor, 1.0 / _FASTEST), _FASTEST)

    def advance(self, elapsed_s: float) -> None:
        """Let time pass while playing; at the end begin again, or stop."""
        if self.is_live or not self.is_playing:
            return
        time_s = self.cursor_s + elapsed_s * self.rate
        low, high = self.extent_s
        if time_s >= high:
            self.is_playing = self.loops
            time_s = low if self.loops else high
        self.seek(time_s)

    def next_frames(self) -> None:
        """Show values in the next of: the frames of each source, ENU and FLU, NED and FRD."""
        order = (None, *SHOWN_FRAMES)
        self.frames = order[(order.index(self.frames) + 1) % len(order)]

    def frames_of(self, number: int) -> str:
        """Return the frames in which a source is shown."""
        if self.frames is None:
            return self.sources[number].frames()
        return f"{self.frames.world} from {self.frames.body} (display)"

    def now_ns(self, number: int) -> int:
        """Return the cursor as a stamp of a source."""
        return self._zero(number) + round(self.cursor_s * NS_PER_S)

    def span_of(self, number: int) -> Span:
        """Return the window as stamps of a source."""
        zero, (start_s, stop_s) = self._zero(number), self.window_s
        return Span(zero + round(start_s * NS_PER_S), zero + round(stop_s * NS_PER_S))

    def series_in_window(self, number: int) -> ImuSeries | None:
        """Return the samples of a source in the window."""
        return self.sources[number].series_within(self.span_of(number))

    def marks(self, number: int) -> list[Mark]:
        """Return the events of a source."""
        events, zero = self.sources[number].events(), self._zero(number)
        if events is None:
            return []
        return [
            Mark(str(kind), (int(start) - zero) / NS_PER_S, (int(end) - zero) / NS_PER_S)
            for kind, start, end in zip(
                events.kind, events.t_start_ns, events.t_end_ns, strict=True
            )
        ]

    def panels(self, number: int, bins: int | None = None) -> list[Panel]:
        """Return the charts of a source in the window, reduced to the extremes of bins.

        By default there are 500 bins, and 250 of a live source, which is drawn many times a second.
        """
        return self.drawn(number, list, bins)[1]

    def drawn(
        self, number: int, form: Callable[[list[Panel]], Drawn], bins: int | None = None
    ) -> tuple[int, Drawn]:
        """Return when the newest sample arrived [ns], and the charts of a source in a form.

        Pages share those of a live source. ``form`` is a function of a module, so that it names
        what is shared.
        """
        source = self.sources[number]
        count = bins or (LIVE_BINS if source.is_live else BINS)

        def make() -> tuple[int, Drawn]:
            arrived_ns = source.arrived_ns()
            return arrived_ns, form(self._panels(number, self.span_of(number), count))

        return self._shared(number, (form, self.window_s, self.frames, count), SHARED_S, make)

    def difference_panels(self, bins: int = BINS) -> list[Panel]:
        """Return the charts of the difference of two recordings in the window."""
        found = [] if self.difference is None else self.difference.signals()
        return _panels(found, self.span_of(1), self._zero(1), bins) if found else []

    def health(self, number: int) -> Sequence[Figure]:
        """Return rate, losses and the like of a source."""
        return self._shared(number, "health", HEALTH_S, self.sources[number].health)

    def pose(self, number: int) -> Shown:
        """Return what a source shows at the cursor."""
        return self._shared(number, ("pose", self.frames), POSE_S, lambda: self._pose(number))

    def _pose(self, number: int) -> Shown:
        body, ghost = self.bodies(number)
        values = self.values(number)
        measured = values if self.frames is None else self._values_in(number, None)
        return Shown(body, ghost, arrows_of(body, measured), values)

    def _shared(self, number: int, key: Hashable, seconds: float, make: Callable[[], Made]) -> Made:
        """Return what is made of a source; pages that follow a live one share it for a moment."""
        source = self.sources[number]
        if not source.is_live or self._frozen:
            return make()
        made_s, made = source.shared.get(key, (-seconds, None))
        if monotonic() - made_s >= seconds:
            made = make()
            source.shared[key] = monotonic(), made
        result: Made = made
        return result

    def _panels(self, number: int, span: Span, bins: int) -> list[Panel]:
        signals = self.sources[number].signals(span, self.frames)
        return _panels(signals, span, self._zero(number), bins)

    def values(self, number: int) -> list[Values]:
        """Return name, unit, labels and components of each quantity at the cursor."""
        return self._values_in(number, self.frames)

    def _values_in(self, number: int, frames: Frames | None) -> list[Values]:
        source, now_ns = self.sources[number], self.now_ns(number)
        found = []
        for signal in source.signals(Span(now_ns, now_ns + 1), frames):
            row = min(int(np.searchsorted(signal.t_ns, now_ns)), len(signal.t_ns) - 1)
            if row >= 0:
                values = signal.read(row, row + 1)[0].tolist()
                found.append((signal.name, signal.unit, signal.labels, values))
        return found

    def bodies(self, number: int) -> tuple[Body | None, Body | None]:
        """Return the body of a source and its ghost at the cursor."""
        source, now_ns = self.sources[number], self.now_ns(number)
        return in_scene(source.body(now_ns)), in_scene(source.ghost(now_ns))

    def arrows(self, number: int) -> dict[str, FloatArray]:
        """Return the measured directions of gravity and of the magnetic field in the scene.

        Gravity is the opposite of the specific force, and contains the acceleration.
        """
        return arrows_of(self.bodies(number)[0], self._values_in(number, None))

    def _zero(self, number: int) -> int:
        source = self.sources[number]
        if not source.is_live:
            return self._zeros[number]
        if number in self._frozen:
            return self._frozen[number]
        span = source.span()
        return 0 if span is None else span.stop_ns - 1


def _panels(signals: Sequence[Signal], span: Span, zero_ns: int, bins: int) -> list[Panel]:
    """Return signals in a span as charts over seconds since a zero."""
    panels = []
    for signal in signals:
        t_ns, values = signal.within(span, bins)
        seconds = (t_ns - zero_ns) / NS_PER_S
        lines = tuple(
            Line(label, np.stack([seconds, values[:, column]], axis=1))
            for column, label in enumerate(signal.labels)
        )
        panels.append(Panel(signal.name, signal.unit, signal.frame, lines))
    return panels
