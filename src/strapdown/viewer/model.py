"""State of one page, without a browser: time, zoom and playing, and what they show."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.geometry import BodyFrame, WorldFrame, quaternion
from strapdown.geometry.frames import convert_vector
from strapdown.units import NS_PER_S
from strapdown.viewer.signals import BINS, Span
from strapdown.viewer.sources import Frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries
    from strapdown.viewer.sources import Pose, Source

__all__ = ["Body", "Line", "Mark", "Panel", "ViewModel"]

SHOWN_FRAMES: Final = (
    Frames(WorldFrame.ENU, BodyFrame.FLU),
    Frames(WorldFrame.NED, BodyFrame.FRD),
)
SHARED_S: Final = 0.08
"""Age at which shared charts are drawn again [s]."""
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


class Body(NamedTuple):
    """A body in the scene, whose axes are east, north and up.

    Parameters
    ----------
    R_scene_from_body : (3, 3) or None
        None where the attitude is unknown.
    position_scene : (3,) or None
        [m].
    """

    R_scene_from_body: FloatArray | None
    position_scene: FloatArray | None


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
    """

    sources: Sequence[Source]
    cursor_s: float = 0.0
    is_playing: bool = False
    rate: float = 1.0
    loops: bool = True
    frames: Frames | None = None
    _zoom: tuple[float, float] | None = field(default=None, repr=False)
    _frozen: dict[int, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        spans = [None if each.is_live else each.span() for each in self.sources]
        known = [span for span in spans if span is not None]
        start = max((span.start_ns for span in known), default=0)
        together = all(span.stop_ns > start for span in known)
        first = min((span.start_ns for span in known), default=0)
        self._zeros = [
            0 if span is None else first if together else span.start_ns for span in spans
        ]
        self.is_live = all(each.is_live for each in self.sources)
        ends = [
            (span.stop_ns - zero) / NS_PER_S
            for span, zero in zip(spans, self._zeros, strict=True)
            if span is not None
        ]
        self.extent_s = (0.0, max(ends, default=0.0)) if ends else (-LIVE_S, 0.0)
        self.is_playing = self.is_live

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

    def panels(self, number: int, bins: int = BINS) -> list[Panel]:
        """Return the charts of a source in the window, reduced to the extremes of bins.

        Pages that show the same of a live source share it for a moment.
        """
        source, span = self.sources[number], self.span_of(number)
        if not source.is_live or self._frozen:
            return self._panels(number, span, bins)
        key = (self.window_s, self.frames, bins)
        made_s: float
        panels: list[Panel]
        made_s, panels = source.shared.get(key, (0.0, []))
        if monotonic() - made_s > SHARED_S:
            panels = self._panels(number, span, bins)
            source.shared[key] = monotonic(), panels
        return panels

    def _panels(self, number: int, span: Span, bins: int) -> list[Panel]:
        source, zero = self.sources[number], self._zero(number)
        panels = []
        for signal in source.signals(span, self.frames):
            t_ns, values = signal.within(span, bins)
            seconds = (t_ns - zero) / NS_PER_S
            lines = tuple(
                Line(label, np.stack([seconds, values[:, column]], axis=1))
                for column, label in enumerate(signal.labels)
            )
            panels.append(Panel(signal.name, signal.unit, signal.frame, lines))
        return panels

    def values(self, number: int) -> list[tuple[str, str, tuple[str, ...], list[float]]]:
        """Return name, unit, labels and components of each quantity at the cursor."""
        return self._values_in(number, self.frames)

    def _values_in(
        self, number: int, frames: Frames | None
    ) -> list[tuple[str, str, tuple[str, ...], list[float]]]:
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
        return _in_scene(source.body(now_ns)), _in_scene(source.ghost(now_ns))

    def arrows(self, number: int) -> dict[str, FloatArray]:
        """Return the measured directions of gravity and of the magnetic field in the scene.

        Gravity is the opposite of the specific force, and contains the acceleration.
        """
        body, _ = self.bodies(number)
        if body is None or body.R_scene_from_body is None:
            return {}
        found = {}
        signs = {"specific force": ("gravity", -1.0), "magnetic field": ("magnetic field", 1.0)}
        for name, _, _, values in self._values_in(number, None):
            if name in signs and np.isfinite(values).all() and np.any(values):
                arrow, sign = signs[name]
                direction = sign * (body.R_scene_from_body @ values)
                found[arrow] = direction / np.linalg.norm(direction)
        return found

    def _zero(self, number: int) -> int:
        source = self.sources[number]
        if not source.is_live:
            return self._zeros[number]
        if number in self._frozen:
            return self._frozen[number]
        span = source.span()
        return 0 if span is None else span.stop_ns - 1


def scene_from_world(world: WorldFrame) -> FloatArray:
    """Return the matrix (3, 3) to the axes of the scene: east, north, up."""
    return convert_vector(np.eye(3), world, WorldFrame.ENU).T


def _in_scene(pose: Pose | None) -> Body | None:
    if pose is None:
        return None
    turn = scene_from_world(pose.world)
    place = None if pose.position_world is None else turn @ pose.position_world
    if not np.isfinite(pose.q_world_from_body).all():
        return Body(None, place)
    R = quaternion.to_matrix(pose.q_world_from_body)
    return Body(turn @ R, place)
