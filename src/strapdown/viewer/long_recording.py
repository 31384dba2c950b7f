"""A long recording as a source: read block by block, shown while it is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._words import wording
from strapdown.errors import StrapdownError, ValueRangeError
from strapdown.formats.reports import ReadReport
from strapdown.series import timebase
from strapdown.viewer.signals import Pyramid, Span
from strapdown.viewer.sources import Figure, found_events
from strapdown.viewer.stored_samples import PART, StoredSamples
from strapdown.viewer.stored_track import StoredTrack, difference, extended

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from strapdown._typing import FloatArray
    from strapdown.calibration import ImuCalibration
    from strapdown.detection import Events
    from strapdown.estimation import OrientationFilter
    from strapdown.formats import BlockReader, Recording
    from strapdown.series import ImuSeries, Trajectory
    from strapdown.viewer.quantities import Frames
    from strapdown.viewer.signals import Signal
    from strapdown.viewer.sources import Pose

__all__ = ["LongRecordingSource"]

_MOST: Final = 2_000_000
"""Samples that are read into memory for a spectrum, a file or a calibration."""


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
        self._samples: StoredSamples | None = None
        self._reference: StoredTrack | None = None
        self._estimate: StoredTrack | None = None
        self._error_pyramids: defaultdict[Frames | None, Pyramid] = defaultdict(Pyramid)
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
            for start in range(0, len(series), PART):
                part = series[start : start + PART]
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
        """Append samples, and estimate their attitude."""
        if self._samples is not None:
            series = self._samples.later(series)
        if not len(series):
            return
        if self._estimator is not None:
            self._estimate = extended(self._estimate, self._estimator.run(series).trajectory())
        if self._samples is None:
            self._samples = StoredSamples(series)
        else:
            self._samples.append(series)

    def _add_reference(self, track: Trajectory, until_ns: int) -> None:
        """Append the rows of a reference up to a time that are not there yet."""
        first = 0
        if self._reference is not None:
            first = int(np.searchsorted(track.t_ns, self._reference.t_ns[-1], "right"))
        last = int(np.searchsorted(track.t_ns, until_ns, "right"))
        if last > first:
            self._reference = extended(self._reference, track[first:last])

    def _reduce(self) -> None:
        """Update the extremes of what is shown, before pages ask for them."""
        for signal in self._signals_in(None):
            signal.pyramid.of(signal.read, len(signal.t_ns))
        if self.span() is not None:
            self._begun.set()

    def span(self) -> Span | None:
        """Return the time from the first sample to the last so far."""
        held = self._samples, self._reference
        stamps = [each.t_ns for each in held if each is not None]
        if not stamps:
            return None
        return Span(min(int(t[0]) for t in stamps), max(int(t[-1]) for t in stamps) + 1)

    def arrived_ns(self) -> int:
        """Return 0: nothing arrives."""
        return 0

    def frames(self) -> str:
        """Return the frames of the attitude, or of the IMU."""
        shown = self._estimate or self._reference or self._samples
        return "" if shown is None else f"{shown.frames.world} from {shown.frames.body}"

    def signals(self, span: Span, frames: Frames | None = None) -> Sequence[Signal]:  # noqa: ARG002 (all samples are there)
        """Return the quantities of the IMU, the attitude, and its difference to the reference."""
        return self._signals_in(frames)

    def _signals_in(self, frames: Frames | None) -> list[Signal]:
        signals = [] if self._samples is None else self._samples.signals(frames)
        shown = self._estimate or self._reference
        if shown is not None:
            signals.insert(min(2, len(signals)), shown.signal(frames))
        if self._estimate and self._reference:
            error = difference(self._estimate, self._reference)
            error.pyramid = self._error_pyramids[frames]
            signals[3:3] = [error] if len(error.t_ns) else []
        return signals

    def series_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span; None where there are none, or no IMU.

        Raises
        ------
        ValueRangeError
            There are more than 2 million.
        """
        if self._samples is None:
            return None
        stamps = [span.start_ns, span.stop_ns]
        start, stop = np.searchsorted(self._samples.t_ns, stamps).tolist()
        if stop - start > _MOST:
            raise ValueRangeError(
                f"expected {_MOST} samples or fewer in the span, got {stop - start}: zoom in"
            )
        return self._samples.part(start, stop) if stop > start else None

    measured_within = series_within

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
        if self.is_loading or self._reference is None:
            return None
        return self._reference.positions(500)

    def health(self) -> Sequence[Figure]:
        """Return rate, gaps, order, NaN and clipping of the samples so far."""
        count = 0 if self._samples is None else len(self._samples)
        loading = f"{self._progress:.0%}, {count / 1e6:.1f} million samples so far"
        state = [Figure("loading", loading)]
        state *= self.is_loading
        if self._error is not None:
            state.append(Figure("error", str(self._error), is_good=False))
        if self._samples is None:
            rows = 0 if self._reference is None else len(self._reference)
            return [*state, Figure("rows", str(rows))]
        return [*state, *self._samples.figures()]

    def events(self) -> Events | None:
        """Return the events, once :meth:`detect` has found them."""
        return self._events

    def detect(self) -> None:
        """Run the detectors over the recording, once all of it is read."""
        self.wait()
        with self._detecting:
            if self._events is None and self._samples is not None:
                self._events = found_events(self._samples.parts())


def _pose_at(track: StoredTrack | None, t_ns: int) -> Pose | None:
    return track.pose_at(t_ns) if track else None
