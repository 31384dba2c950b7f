"""One interface to recordings and live topics: signals, attitudes, health and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from strapdown.errors import StrapdownError
from strapdown.series import timebase
from strapdown.viewer.quantities import Frames, converted, difference, signals_of, signals_of_track
from strapdown.viewer.signals import Signal, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration import ImuCalibration
    from strapdown.detection import Events
    from strapdown.estimation import OrientationFilter, OrientationSmoother
    from strapdown.formats import Recording
    from strapdown.geometry import BodyFrame, WorldFrame
    from strapdown.series import ImuSeries, Trajectory

    Estimator: TypeAlias = OrientationFilter | OrientationSmoother[Any]

__all__ = [
    "Estimator",
    "Figure",
    "Pose",
    "RecordingSource",
    "Source",
    "clock_figures",
    "found_events",
    "nearest",
]


_PIECE: Final = 1 << 15
"""Samples that a detector processes at one time: more need memory, and are no faster."""


class Figure(NamedTuple):
    """One figure of the health of a source.

    Parameters
    ----------
    name, value : str
        As shown.
    is_good : bool
        Whether it is as it should be.
    """

    name: str
    value: str
    is_good: bool = True


class Pose(NamedTuple):
    """Attitude, and position where known, at one time.

    Parameters
    ----------
    q_world_from_body : (4,)
        xyzw; NaN where unknown.
    position_world : (3,) or None
        [m].
    world, body : WorldFrame, BodyFrame
    """

    q_world_from_body: FloatArray
    position_world: FloatArray | None
    world: WorldFrame
    body: BodyFrame


class Source(Protocol):
    """A recording or a live topic, as the page shows it."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether samples are still arriving."""
        ...

    @property
    def is_loading(self) -> bool:
        """Whether a recording is still being read."""
        ...

    @property
    def shared(self) -> dict[Any, Any]:
        """Results that pages share for a moment, such as charts."""
        ...

    def span(self) -> Span | None:
        """Return the time of the present samples; None before the first."""
        ...

    def arrived_ns(self) -> int:
        """Return when the newest sample arrived [ns since 1970]; 0 of recordings."""
        ...

    def frames(self) -> str:
        """Return the frames of its values, such as "ENU from FLU"."""
        ...

    def signals(self, span: Span, frames: Frames | None = None) -> Sequence[Signal]:
        """Return its quantities in the order of the charts, with at least the samples of a span.

        They are in the frames of the source, or in those that are given.
        """
        ...

    def series_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span; None where there are none, or no IMU."""
        ...

    def measured_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span without an applied calibration."""
        ...

    def apply(self, calibration: ImuCalibration) -> None:
        """Show calibrated samples, in every page."""
        ...

    def body(self, t_ns: int) -> Pose | None:
        """Return the pose of the body: the estimate where there is one."""
        ...

    def ghost(self, t_ns: int) -> Pose | None:
        """Return the reference that the estimate is compared with."""
        ...

    def trail(self) -> FloatArray | None:
        """Return positions (N, 3) of the way [m, world]."""
        ...

    def health(self) -> Sequence[Figure]:
        """Return rate, losses and the like."""
        ...

    def detect(self) -> None:
        """Run the detectors, once."""
        ...

    def events(self) -> Events | None:
        """Return the events of the detectors; None where they have not run."""
        ...


class RecordingSource:
    """A recording.

    Parameters
    ----------
    recording : Recording
        With an IMU, an attitude, or both.
    topic : str, optional
        Its IMU; by default the one with the most samples.
    estimator : callable, optional
        Returns a filter or smoother that estimates the attitude; the attitude of the recording is
        then the reference.
    name : str, optional
        By default the name of the file.

    Raises
    ------
    FormatError
        The recording has neither an IMU nor an attitude.
    UnknownNameError
        There is no such topic.
    """

    is_live = False
    is_loading = False

    def __init__(
        self,
        recording: Recording,
        *,
        topic: str | None = None,
        estimator: Callable[[], Estimator] | None = None,
        name: str = "",
    ) -> None:
        self.recording = recording
        self.report = recording.report
        self.name = name or recording.path.name
        self.topic = recording.imu_topic(topic) if recording.imu or recording.increments else None
        self.series: ImuSeries | None = None
        self._estimator, self._calibration = estimator, ""
        if self.topic is not None:
            self.series, _ = timebase.ordered(recording.imu_series(self.topic), "sort")
        self._measured = self.series
        reference = recording.reference_topic()
        self.reference = None if reference is None else _in_order(recording.tracks[reference])
        self.estimate = self._estimated()
        if self.series is None and self.reference is None:
            recording.imu_topic()  # says what is missing
        self.shared: dict[Any, Any] = {}
        self.revision = 0
        self._signals: dict[Frames | None, list[Signal]] = {}
        self._events: Events | None = None

    @property
    def attitude(self) -> Trajectory | None:
        """Estimate, or else the attitude of the recording."""
        return self.estimate or self.reference

    def _estimated(self) -> Trajectory | None:
        if self._estimator is None or self.series is None:
            return None
        return self._estimator().run(self.series).trajectory()

    def apply(self, calibration: ImuCalibration) -> None:
        """Show calibrated samples, and estimate the attitude from them."""
        if self._measured is None:
            return
        self.series = calibration.apply(self._measured)
        self.estimate = self._estimated()
        self._signals.clear()
        self.revision += 1
        self._calibration = calibration.provenance.method

    def _signals_in(self, frames: Frames | None) -> list[Signal]:
        """Return the quantities in frames; None means those of the recording."""
        series, shown = self.series, self.attitude
        signals = [] if series is None else signals_of(converted(series, frames))
        if shown is not None:
            signals.insert(min(2, len(signals)), signals_of_track(converted(shown, frames)))
        if self.estimate is not None and self.reference is not None:
            signals.insert(3, difference(self.estimate, self.reference))
        return signals

    def span(self) -> Span | None:
        """Return the time from the first sample to the last."""
        stamps = [
            each.t_ns for each in (self.series, self.reference) if each is not None and len(each)
        ]
        if not stamps:
            return None
        return Span(min(int(t[0]) for t in stamps), max(int(t[-1]) for t in stamps) + 1)

    def arrived_ns(self) -> int:
        """Return 0: nothing arrives."""
        return 0

    def frames(self) -> str:
        """Return the frames of the attitude, or of the IMU."""
        shown = self.attitude or self.series
        return "" if shown is None else f"{shown.world} from {shown.body}"

    def signals(self, span: Span, frames: Frames | None = None) -> Sequence[Signal]:  # noqa: ARG002 (all samples are there)
        """Return the quantities of the IMU, the attitude, and its difference to the reference."""
        if frames not in self._signals:
            self._signals[frames] = self._signals_in(frames)
        return self._signals[frames]

    def series_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span; None where there are none, or no IMU."""
        return _part(self.series, span)

    def measured_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span as recorded; None where there are none, or no IMU."""
        return _part(self._measured, span)

    def body(self, t_ns: int) -> Pose | None:
        """Return the estimate, or else the attitude of the recording, nearest to a time.

        An estimate of attitude alone is shown at the position of the reference.
        """
        pose, reference = _pose_at(self.estimate, t_ns), _pose_at(self.reference, t_ns)
        if pose is None or reference is None or pose.position_world is not None:
            return pose or reference
        return pose._replace(position_world=reference.position_world)

    def ghost(self, t_ns: int) -> Pose | None:
        """Return the attitude of the recording nearest to a time, next to an estimate."""
        return None if self.estimate is None else _pose_at(self.reference, t_ns)

    def trail(self) -> FloatArray | None:
        """Return at most 500 positions of the reference."""
        track = self.reference
        if track is None or track.position_world is None or not len(track):
            return None
        rows = np.unique(np.linspace(0, len(track) - 1, 500).astype(int))
        positions = track.position_world[rows]
        known: FloatArray = positions[np.isfinite(positions).all(axis=1)]
        return known

    def health(self) -> Sequence[Figure]:
        """Return rate, gaps, order, NaN and clipping of the whole recording."""
        series = self.series
        if series is None:
            return [Figure("rows", str(0 if self.reference is None else len(self.reference)))]
        clock = timebase.report(series.t_ns)
        lost = int(
            (~np.isfinite(series.angular_velocity) | ~np.isfinite(series.specific_force)).sum()
        )
        clipped = sum(
            int(np.count_nonzero(bits))
            for bits in (series.gyro_clipping, series.accel_clipping)
            if bits is not None
        )
        applied = [Figure("calibration", self._calibration)] if self._calibration else []
        return [
            *applied,
            *clock_figures(
                clock.rate_hz,
                len(series),
                {
                    "gaps": clock.gaps,
                    "out of order": clock.duplicates + clock.backward,
                    "NaN": lost,
                    "clipped": clipped,
                },
            ),
        ]

    def events(self) -> Events | None:
        """Return the events, once :meth:`detect` has found them."""
        return self._events

    def detect(self) -> None:
        """Run the detectors over the recording, once."""
        if self.series is not None and self._events is None:
            self._events = found_events([self.series])


def found_events(parts: Iterable[ImuSeries]) -> Events:
    """Return the events of all detectors in successive parts of a recording."""
    from strapdown.detection import DETECTORS, Events  # noqa: PLC0415 (takes its time)

    detectors = [kind() for kind in DETECTORS.values()]
    found = Events.of([])
    for part in parts:
        for start in range(0, len(part), _PIECE):
            for detector in [*detectors]:
                try:
                    found = found.merge(detector.run(part[start : start + _PIECE]))
                except StrapdownError:
                    detectors.remove(detector)  # it needs what the recording lacks
    last = [detector.finish() for detector in detectors]
    for event in last:
        found = found if event is None else found.merge(Events.of([event]))
    return found


def clock_figures(rate_hz: float, samples: int, faults: Mapping[str, int]) -> list[Figure]:
    """Return the figures of the samples of a recording: rate, count, and counts of faults."""
    return [
        Figure("rate", f"{rate_hz:.1f} Hz"),
        Figure("samples", str(samples)),
        *(Figure(name, str(count), count == 0) for name, count in faults.items()),
    ]


def _part(series: ImuSeries | None, span: Span) -> ImuSeries | None:
    if series is None:
        return None
    part = series[slice(*np.searchsorted(series.t_ns, [span.start_ns, span.stop_ns]))]
    return part if len(part) else None


def _in_order(track: Trajectory) -> Trajectory:
    return timebase.ordered(track, "sort")[0]


def _pose_at(track: Trajectory | None, t_ns: int) -> Pose | None:
    """Return the row nearest to a time."""
    if track is None or not len(track):
        return None
    row = nearest(track.t_ns, t_ns)
    position = None if track.position_world is None else track.position_world[row]
    return Pose(track.q_world_from_body[row], position, track.world, track.body)


def nearest(t_ns: IntArray, at_ns: int) -> int:
    """Return the row of the stamp nearest to a time."""
    right = min(int(np.searchsorted(t_ns, at_ns)), len(t_ns) - 1)
    left = max(right - 1, 0)
    return left if at_ns - t_ns[left] <= t_ns[right] - at_ns else right
