"""A long recording as a source: read block by block, shown while it is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._words import wording
from strapdown.errors import StrapdownError, ValueRangeError
from strapdown.formats.reports import ReadReport
from strapdown.formats.spill import Table
from strapdown.geometry.frames import convert_vector
from strapdown.series import ImuSeries, Trajectory, timebase
from strapdown.viewer.quantities import (
    Frames,
    attitude,
    converted,
    error_angles,
    error_signal,
    field_signal,
    imu_signals,
)
from strapdown.viewer.signals import Pyramid, Signal, Span
from strapdown.viewer.sources import Figure, Pose, clock_figures, found_events, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from strapdown._typing import AnyArray, FloatArray
    from strapdown.calibration import ImuCalibration
    from strapdown.detection import Events
    from strapdown.estimation import OrientationFilter
    from strapdown.formats import BlockReader, Recording

__all__ = ["LongRecordingSource"]

_PART: Final = 1 << 18
"""Rows that are processed at one time."""
_MOST: Final = 2_000_000
"""Samples that are read into memory for a spectrum, a file or a calibration."""
_AROUND: Final = 32
"""Rows of the estimate on both sides of those of the reference, for interpolation."""


@dataclass
class _Track:
    """Attitudes on disk, and the frames of the recording."""

    rows: Table
    frames: Frames
    pyramids: defaultdict[Frames | None, Pyramid] = field(
        default_factory=lambda: defaultdict(Pyramid)
    )

    def signal(self, frames: Frames | None) -> Signal:
        """Return roll, pitch and yaw in frames; None means its own."""

        def read(start: int, stop: int) -> FloatArray:
            return self.part(start, stop, frames).q_world_from_body

        shown = attitude(self.rows.t_ns, read, self.frames if frames is None else frames)
        shown.pyramid = self.pyramids[frames]
        return shown

    def part(self, start: int, stop: int, frames: Frames | None = None) -> Trajectory:
        """Return rows as a trajectory in frames; None means its own."""
        position = None
        if "position" in self.rows.names:
            position = self.rows.read("position", start, stop)
        track = Trajectory(
            self.rows.t_ns[start:stop],
            self.rows.read("q", start, stop),
            position_world=position,
            world=self.frames.world,
            body=self.frames.body,
        )
        return converted(track, frames)


def _extended(track: _Track | None, rows: Trajectory) -> _Track:
    """Append rows to a track, or begin one with them."""
    if track is None:
        track = _Track(Table(), Frames(rows.world, rows.body))
    columns = {"q": rows.q_world_from_body}
    if rows.position_world is not None:
        columns["position"] = rows.position_world
    track.rows.append(rows.t_ns, columns)
    return track


class LongRecordingSource:
    """A recording that is longer than memory should hold.

    A thread reads the blocks, runs a filter over them, and writes the samples to temporary files;
    in memory are the extremes of each 64 samples. Topics are those of the first block that has an
    IMU, or an attitude.

    Parameters
    ----------
    opening : callable
        Opens the recording, as a context with the block reader.
    name : str
        As shown.
    topic : str, optional
        Its IMU; by default the one with the most samples in the first block.
    estimator : OrientationFilter, optional
        Estimates the attitude; the attitude of the recording is then the reference.

    Raises
    ------
    FormatError, OSError, UnknownNameError
        The first samples cannot be read, or there are none; what is found later is shown.
    """

    is_live = False

    def __init__(
        self,
        opening: Callable[[], AbstractContextManager[BlockReader]],
        *,
        name: str,
        topic: str | None = None,
        estimator: OrientationFilter | None = None,
    ) -> None:
        self.name = name
        self.shared: dict[Any, Any] = {}
        self.report = ReadReport("")
        self.is_loading = True
        self._progress = 0.0
        self._wanted, self._topic, self._reference_topic = topic, "", ""
        self._estimator = estimator
        self._imu, self._field = Table(), Table()
        self._imu_frames: Frames | None = None
        self._reference: _Track | None = None
        self._estimate: _Track | None = None
        self._pyramids: defaultdict[tuple[Frames | None, str], Pyramid] = defaultdict(Pyramid)
        self._rate_hz, self._gap_ns = np.nan, 0
        self._faults = dict.fromkeys(("gaps", "out of order", "NaN", "clipped"), 0)
        self._events: Events | None = None
        self._detecting = Lock()
        self._begun, self._stop = Event(), Event()
        self._error: Exception | None = None
        self._thread = Thread(target=self._load, args=(opening,), name=f"read {name}", daemon=True)
        self._thread.start()
        self._begun.wait()
        if self._error is not None and self.span() is None:
            raise self._error

    def close(self) -> None:
        """End the reading."""
        self._stop.set()
        self._thread.join()

    def wait(self) -> None:
        """Wait until all is read."""
        self._thread.join()

    def _load(self, opening: Callable[[], AbstractContextManager[BlockReader]]) -> None:
        """Read all blocks; keep the error that ends it."""
        try:
            with opening() as blocks:
                block: Recording | None = None
                for block in blocks:
                    if self._stop.is_set():
                        return
                    self._progress = blocks.progress
                    self._take(block)
                self.report = blocks.report
            if self.span() is None and block is not None:
                block.imu_topic()  # says what is missing
        except (StrapdownError, OSError) as error:
            self._error = error
            self.report = replace(self.report, damage=(f"{self.name}: {wording(error)}",))
        finally:
            self.is_loading = False
            self._begun.set()

    def _take(self, block: Recording) -> None:
        """Append the samples of a block part by part."""
        reference = self._reference_of(block)
        if reference is not None:
            reference = timebase.ordered(reference, "sort")[0]
        series = self._series_of(block)
        if series is not None:
            series = timebase.ordered(series, "sort")[0]
            for start in range(0, len(series), _PART):
                part = series[start : start + _PART]
                if reference is not None and len(part):
                    self._add_reference(reference, int(part.t_ns[-1]))
                self._add_samples(part)
                self._reduce()
        if reference is not None:
            self._add_reference(reference, np.iinfo(np.int64).max)
        self._reduce()

    def _series_of(self, block: Recording) -> ImuSeries | None:
        held = {**block.imu, **block.increments}
        if not self._topic and held:
            self._topic = block.imu_topic(self._wanted)
        return block.imu_series(self._topic) if self._topic in held else None

    def _reference_of(self, block: Recording) -> Trajectory | None:
        self._reference_topic = self._reference_topic or block.reference_topic() or ""
        return block.tracks.get(self._reference_topic)

    def _add_samples(self, series: ImuSeries) -> None:
        late = int(np.searchsorted(series.t_ns, self._imu.t_ns[-1:], "right").sum())
        self._faults["out of order"] += late
        series = series[late:]
        if not len(series):
            return
        if self._imu_frames is None:
            clock = timebase.report(series.t_ns)
            self._rate_hz, self._gap_ns = clock.rate_hz, clock.gap_after_ns
        steps = np.diff(series.t_ns, prepend=self._imu.t_ns[-1:])
        self._faults["gaps"] += int((steps > self._gap_ns).sum())
        columns: dict[str, AnyArray] = {
            "rate": series.angular_velocity,
            "force": series.specific_force,
        }
        self._faults["NaN"] += sum(int((~np.isfinite(each)).sum()) for each in columns.values())
        for name in ("gyro_clipping", "accel_clipping"):
            if (bits := getattr(series, name)) is not None:
                columns[name] = bits
                self._faults["clipped"] += int(np.count_nonzero(bits))
        if self._estimator is not None:
            self._estimate = _extended(self._estimate, self._estimator.run(series).trajectory())
        field = series.magnetic_field
        if field is not None:
            there = np.isfinite(field).any(axis=1)
            self._field.append(series.t_ns[there], {"field": field[there]})
        self._imu.append(series.t_ns, columns)
        self._imu_frames = Frames(series.world, series.body)

    def _add_reference(self, track: Trajectory, until_ns: int) -> None:
        """Append the rows of a reference up to a time that are not there yet."""
        first = 0
        if self._reference is not None:
            first = int(np.searchsorted(track.t_ns, self._reference.rows.t_ns[-1], "right"))
        last = int(np.searchsorted(track.t_ns, until_ns, "right"))
        if last > first:
            self._reference = _extended(self._reference, track[first:last])

    def _reduce(self) -> None:
        """Update the extremes of what is shown, before pages ask for them."""
        for signal in self._signals_in(None):
            signal.pyramid.of(signal.read, len(signal.t_ns))
        if self.span() is not None:
            self._begun.set()

    def span(self) -> Span | None:
        """Return the time from the first sample to the last so far."""
        tables = [self._imu, *([] if self._reference is None else [self._reference.rows])]
        stamps = [each.t_ns for each in tables if len(each)]
        if not stamps:
            return None
        return Span(min(int(t[0]) for t in stamps), max(int(t[-1]) for t in stamps) + 1)

    def arrived_ns(self) -> int:
        """Return 0: nothing arrives."""
        return 0

    def frames(self) -> str:
        """Return the frames of the attitude, or of the IMU."""
        track = self._estimate or self._reference
        frames = self._imu_frames if track is None else track.frames
        return "" if frames is None else f"{frames.world} from {frames.body}"

    def signals(self, span: Span, frames: Frames | None = None) -> Sequence[Signal]:  # noqa: ARG002 (all samples are there)
        """Return the quantities of the IMU, the attitude, and its difference to the reference."""
        return self._signals_in(frames)

    def _signals_in(self, frames: Frames | None) -> list[Signal]:
        signals = [] if self._imu_frames is None else self._imu_signals(self._imu_frames, frames)
        if self._estimate is not None and self._reference is not None:
            error = _difference(self._estimate, self._reference)
            signals[2:2] = [error] if len(error.t_ns) else []
        for signal in signals:
            signal.pyramid = self._pyramids[frames, signal.name]
        shown = self._estimate or self._reference
        if shown is not None:
            signals.insert(min(2, len(signals)), shown.signal(frames))
        return signals

    def _imu_signals(self, own: Frames, frames: Frames | None) -> list[Signal]:
        body = own.body if frames is None else frames.body

        def column(table: Table, name: str) -> Callable[[int, int], FloatArray]:
            return lambda a, b: convert_vector(table.read(name, a, b), own.body, body)

        magnetic = None
        if len(self._field):
            magnetic = field_signal(self._field.t_ns, column(self._field, "field"), body)
        imu = self._imu
        return imu_signals(imu.t_ns, column(imu, "rate"), column(imu, "force"), body, magnetic)

    def series_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span; None where there are none, or no IMU.

        Raises
        ------
        ValueRangeError
            There are more than 2 million.
        """
        start, stop = np.searchsorted(self._imu.t_ns, [span.start_ns, span.stop_ns]).tolist()
        if stop - start > _MOST:
            raise ValueRangeError(
                f"expected {_MOST} samples or fewer in the span, got {stop - start}: zoom in"
            )
        return self._part(start, stop) if stop > start else None

    measured_within = series_within

    def _part(self, start: int, stop: int) -> ImuSeries:
        """Return rows as a series; the magnetic field is NaN between its samples."""
        table, frames = self._imu, self._imu_frames
        assert frames is not None  # noqa: S101 (there are rows)
        t_ns = table.t_ns[start:stop]

        def bits(name: str) -> AnyArray | None:
            return table.read(name, start, stop) if name in table.names else None

        field = None
        if len(self._field):
            field = np.full((stop - start, 3), np.nan)
            first, last = np.searchsorted(self._field.t_ns, [t_ns[0], t_ns[-1] + 1]).tolist()
            rows = np.searchsorted(t_ns, self._field.t_ns[first:last])
            field[rows] = self._field.read("field", first, last)
        return ImuSeries(
            t_ns,
            table.read("rate", start, stop),
            table.read("force", start, stop),
            magnetic_field=field,
            world=frames.world,
            body=frames.body,
            gyro_clipping=bits("gyro_clipping"),
            accel_clipping=bits("accel_clipping"),
        )

    def apply(self, calibration: ImuCalibration) -> None:  # noqa: ARG002 (refused)
        """Refuse: the samples on disk stay as they are.

        Raises
        ------
        ValueRangeError
        """
        raise ValueRangeError(
            "a long recording is shown as it is: save the file, and run strapdown calibrate apply"
        )

    def body(self, t_ns: int) -> Pose | None:
        """Return the estimate, or else the attitude of the recording, nearest to a time."""
        pose, reference = _pose_at(self._estimate, t_ns), _pose_at(self._reference, t_ns)
        if pose is None or reference is None or pose.position_world is not None:
            return pose or reference
        return pose._replace(position_world=reference.position_world)

    def ghost(self, t_ns: int) -> Pose | None:
        """Return the attitude of the recording nearest to a time, next to an estimate."""
        return None if self._estimate is None else _pose_at(self._reference, t_ns)

    def trail(self) -> FloatArray | None:
        """Return at most 500 positions of the reference; None until all is read."""
        track = self._reference
        if self.is_loading or track is None or "position" not in track.rows.names:
            return None
        rows = np.unique(np.linspace(0, len(track.rows) - 1, 500).astype(int)).tolist()
        positions = np.concatenate([track.rows.read("position", row, row + 1) for row in rows])
        known: FloatArray = positions[np.isfinite(positions).all(axis=1)]
        return known

    def health(self) -> Sequence[Figure]:
        """Return rate, gaps, order, NaN and clipping of the samples so far."""
        loading = f"{self._progress:.0%}, {len(self._imu) / 1e6:.1f} million samples so far"
        state = [Figure("loading", loading)]
        state *= self.is_loading
        if self._error is not None:
            state.append(Figure("error", str(self._error), is_good=False))
        if self._imu_frames is None:
            rows = 0 if self._reference is None else len(self._reference.rows)
            return [*state, Figure("rows", str(rows))]
        t = self._imu.t_ns
        return [*state, *clock_figures(self._rate_hz, len(t), self._faults)]

    def events(self) -> Events | None:
        """Return the events, once :meth:`detect` has found them."""
        return self._events

    def detect(self) -> None:
        """Run the detectors over the recording, once all of it is read."""
        self.wait()
        with self._detecting:
            if self._events is None and len(self._imu):
                self._events = found_events(self._parts())

    def _parts(self) -> Iterator[ImuSeries]:
        for start in range(0, len(self._imu), _PART):
            yield self._part(start, min(start + _PART, len(self._imu)))


def _difference(estimate: _Track, reference: _Track) -> Signal:
    """Return the error of the estimate where it is as late as the reference."""
    known, t_ns = estimate.rows.t_ns, reference.rows.t_ns
    t_ns = t_ns[: int(np.searchsorted(t_ns, known[-1], "right"))]

    def read(start: int, stop: int) -> FloatArray:
        first, last = np.searchsorted(known, [t_ns[start], t_ns[stop - 1]]).tolist()
        around = max(0, first - _AROUND), min(len(known), last + _AROUND)
        return error_angles(estimate.part(*around), reference.part(start, stop))

    return error_signal(t_ns, read)


def _pose_at(track: _Track | None, t_ns: int) -> Pose | None:
    if track is None or not len(track.rows):
        return None
    row = nearest(track.rows.t_ns, t_ns)
    part = track.part(row, row + 1)
    position = None if part.position_world is None else part.position_world[0]
    return Pose(part.q_world_from_body[0], position, part.world, part.body)
