"""A live topic as a source: its newest samples, and an attitude estimated from them."""

from __future__ import annotations

from threading import Event, Lock, Thread
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.bridges.live.field_join import FieldJoin
from strapdown.bridges.live.fusion import check_type
from strapdown.errors import StrapdownError
from strapdown.estimation.filter import RecursiveFilter
from strapdown.geometry import BodyFrame, WorldFrame
from strapdown.messages import Imu, MagneticField, conversion
from strapdown.series import ImuSeries, Trajectory, timebase
from strapdown.units import NS_PER_S
from strapdown.viewer.quantities import signals_of, signals_of_track
from strapdown.viewer.signals import Span
from strapdown.viewer.sources import Figure, Pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration import ImuCalibration
    from strapdown.detection import Events
    from strapdown.estimation import OrientationFilter
    from strapdown.transport import Topic
    from strapdown.viewer.quantities import Frames
    from strapdown.viewer.signals import Signal

__all__ = ["KEPT", "LiveSource"]

KEPT: Final = 1 << 17
"""Samples that are kept: two minutes at 1 kHz."""
_DRAIN_S: Final = 0.03
"""Time between two looks at the topic [s]: blocks are cheaper than single messages."""
_SHOWN, _OWN, _ESTIMATED, _MEASURED = slice(0, 9), slice(9, 13), slice(13, 17), slice(17, 26)
"""Columns of the ring: an IMU is rate, force and field; an attitude is xyzw."""


class _Ring:
    """The newest rows of stamps and values, contiguous in memory.

    Rows are appended to a buffer of twice the size; where it is full, the newer half moves to the
    front.
    """

    def __init__(self, size: int, columns: int) -> None:
        self._size = size
        self._t = np.empty(2 * size, np.int64)
        self._values = np.empty((2 * size, columns))
        self._end = 0

    def append(self, t_ns: IntArray, values: FloatArray) -> None:
        """Append rows; of more than the size, the newest."""
        t_ns, values = t_ns[-self._size :], values[-self._size :]
        if self._end + len(t_ns) > len(self._t):
            kept = slice(max(0, self._end - self._size), self._end)
            count = kept.stop - kept.start
            self._t[:count], self._values[:count] = self._t[kept], self._values[kept].copy()
            self._end = count
        rows = slice(self._end, self._end + len(t_ns))
        self._t[rows], self._values[rows] = t_ns, values
        self._end = rows.stop

    def since(self, start_ns: int) -> tuple[IntArray, FloatArray]:
        """Return a copy of the rows from a time on, with the one before it."""
        first = max(0, self._end - self._size)
        t = self._t[first : self._end]
        first += max(0, int(np.searchsorted(t, start_ns)) - 1)
        return self._t[first : self._end].copy(), self._values[first : self._end].copy()

    @property
    def stamps(self) -> tuple[int, int] | None:
        """Oldest and newest stamp; None while it is empty."""
        if not self._end:
            return None
        return int(self._t[max(0, self._end - self._size)]), int(self._t[self._end - 1])


class LiveSource:
    """A live topic of IMU messages.

    A thread receives; the page reads when it wants to, so a slow page delays nobody.

    Parameters
    ----------
    topic : Topic of Imu
        Handle from which only this source receives.
    field : Topic of MagneticField, optional
        Magnetometer in the axes of the IMU, likewise. Each of its samples joins the row nearest
        in time.
    estimator : OrientationFilter, optional
        Estimates the attitude; without it the orientation of the messages is shown.
    name : str, optional
        By default the name of the topic.

    Raises
    ------
    TypeError
        A topic carries other messages.
    """

    is_live = True
    is_loading = False

    def __init__(
        self,
        topic: Topic[Any],
        *,
        field: Topic[Any] | None = None,
        estimator: OrientationFilter | None = None,
        name: str = "",
    ) -> None:
        check_type(topic, Imu)
        if field is not None:
            check_type(field, MagneticField)
        self.name = name or topic.name
        self._topic, self._field = topic, field
        self._topics = [topic] if field is None else [topic, field]
        self._join = FieldJoin()
        self._estimator = estimator
        self._lock = Lock()
        self.shared: dict[Any, Any] = {}
        self._ring = _Ring(KEPT, 26)
        self._late = 0
        self._newest_ns = int(np.iinfo(np.int64).min)
        self._arrived_ns = 0
        self._error = ""
        self._calibration: ImuCalibration | None = None
        self._stop = Event()
        if isinstance(estimator, RecursiveFilter):  # blocks are too short to load it by themselves
            load = estimator.program().machine.load
            Thread(target=load, name="strapdown load", daemon=True).start()
        self._thread = Thread(target=self._receive, name=f"view {self.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the reception; the caller closes the topics afterwards."""
        self._stop.set()
        self._thread.join()

    def _receive(self) -> None:
        while not self._stop.wait(_DRAIN_S):
            try:
                series = conversion.series_from_imu(self._topic.recv_all())
                fields = [] if self._field is None else self._field.recv_all()
                self._take(series, fields)
            except StrapdownError as error:
                self._error = str(error)
                return

    def _take(self, series: ImuSeries, fields: Sequence[MagneticField] = ()) -> None:
        """Store what has arrived, with its estimate."""
        received = len(series)
        series = self._forward(series)
        if self._field is not None:
            series = self._join.take(series, fields)
        if len(series):
            self._store(series)
        if received or len(series):
            with self._lock:
                self._arrived_ns = time_ns()

    def _store(self, series: ImuSeries) -> None:
        """Store rows as measured, as calibrated, and with their estimate."""
        measured = _numbers(series)
        if self._calibration is not None:
            series = self._calibration.apply(series)
        known = np.full((len(series), 4), np.nan)
        own = known if series.q_world_from_body is None else series.q_world_from_body
        estimated = known
        if self._estimator is not None:
            estimated = self._estimator.run(series).q_world_from_body
        values = np.hstack([_numbers(series), own, estimated, measured])
        with self._lock:
            self._ring.append(series.t_ns, values)

    def _forward(self, series: ImuSeries) -> ImuSeries:
        """Leave out and count samples whose stamp goes back."""
        reached = np.maximum.accumulate(np.concatenate([[self._newest_ns], series.t_ns]))
        self._newest_ns = int(reached[-1])
        forward = series.t_ns > reached[:-1]
        self._late += len(series) - int(forward.sum())
        return series if forward.all() else series[forward]

    def span(self) -> Span | None:
        """Return the time of the samples that are kept."""
        with self._lock:
            stamps = self._ring.stamps
        return None if stamps is None else Span(stamps[0], stamps[1] + 1)

    def arrived_ns(self) -> int:
        """Return when the newest sample arrived [ns since 1970]."""
        with self._lock:
            return self._arrived_ns

    def frames(self) -> str:
        """Return the frames of the messages."""
        return "ENU from FLU"

    def signals(self, span: Span, frames: Frames | None = None) -> Sequence[Signal]:
        """Return the quantities of the IMU and the attitude, from the begin of a span on."""
        with self._lock:
            t, values = self._ring.since(span.start_ns)
        series = self._imu(t, values[:, _SHOWN])
        track = Trajectory(t, self._shown(values))
        if frames is not None:
            series = series.in_frames(world=frames.world, body=frames.body)
            track = track.in_frames(world=frames.world, body=frames.body)
        found = signals_of(series)
        if np.isfinite(track.q_world_from_body).any():
            found.insert(2, signals_of_track(track))
        return found

    def series_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span; None where there are none."""
        return self._series(span, _SHOWN)

    def measured_within(self, span: Span) -> ImuSeries | None:
        """Return the samples of a span as received; None where there are none."""
        return self._series(span, _MEASURED)

    def apply(self, calibration: ImuCalibration) -> None:
        """Calibrate the samples that arrive from now on."""
        self._calibration = calibration

    def _series(self, span: Span, columns: slice) -> ImuSeries | None:
        """Return the samples of a span in these columns."""
        with self._lock:
            t, values = self._ring.since(span.start_ns)
        inside = (t >= span.start_ns) & (t < span.stop_ns)
        if not inside.any():
            return None
        return self._imu(t[inside], values[inside, columns])

    def _imu(self, t_ns: IntArray, numbers: FloatArray) -> ImuSeries:
        """Return rows of rate, force and field as a series."""
        rate, force, field = np.hsplit(numbers, 3)
        return ImuSeries(t_ns, rate, force, magnetic_field=None if self._field is None else field)

    def body(self, t_ns: int) -> Pose | None:
        """Return the estimate, or else the orientation of the messages, at a time."""
        with self._lock:
            _, values = self._ring.since(t_ns)
        return self._pose(self._shown(values)) if len(values) else None

    def ghost(self, t_ns: int) -> Pose | None:
        """Return the orientation of the messages at a time, next to an estimate."""
        if self._estimator is None:
            return None
        with self._lock:
            _, values = self._ring.since(t_ns)
        ghost = values[:, _OWN]
        return self._pose(ghost) if np.isfinite(ghost).any() else None

    def trail(self) -> FloatArray | None:
        """Return None: an IMU message has no position."""
        return None

    def health(self) -> Sequence[Figure]:
        """Return rate of the last second, age of the newest sample, and losses."""
        span = self.span()
        stats = [topic.stats() for topic in self._topics]
        lost = sum(each.lost_overwritten + each.lost_transport for each in stats)
        malformed = sum(each.malformed for each in stats)
        if span is None:
            waiting = self._error or "waiting for messages"
            return [Figure("state", waiting, not self._error)]
        with self._lock:
            t, values = self._ring.since(span.stop_ns - NS_PER_S)
            silent_s = (time_ns() - self._arrived_ns) / NS_PER_S
        clock = timebase.report(t)
        missing = int((~np.isfinite(values[:, :6])).sum())
        figures = [
            Figure("rate", f"{clock.rate_hz:.1f} Hz"),
            Figure("last sample", f"{silent_s:.1f} s ago", silent_s < 1.0),
            Figure("lost", str(lost), lost == 0),
            Figure("malformed", str(malformed), malformed == 0),
            Figure("late", str(self._late), self._late == 0),
            Figure("gaps", str(clock.gaps), clock.gaps == 0),
            Figure("NaN", str(missing), missing == 0),
        ]
        if self._field is not None:
            left = self._join.left_out
            figures.append(Figure("field left out", str(left), left == 0))
        if self._calibration is not None:
            figures.append(Figure("calibration", self._calibration.provenance.method))
        if self._estimator is not None:
            trouble = self._estimator.report.losses()
            figures.append(Figure("filter", "; ".join(trouble) or "good", not trouble))
        return [*figures, Figure("error", self._error, is_good=False)] if self._error else figures

    def detect(self) -> None:
        """Do nothing: detectors run over recordings."""

    def events(self) -> Events | None:
        """Return None: detectors run over recordings."""
        return None

    @staticmethod
    def _pose(rows: FloatArray) -> Pose:
        """Return the pose of the row at the wanted time: the first but the one before it."""
        q = rows[min(1, len(rows) - 1)]
        return Pose(q, None, WorldFrame.ENU, BodyFrame.FLU)

    def _shown(self, values: FloatArray) -> FloatArray:
        return values[:, _OWN if self._estimator is None else _ESTIMATED]


def _numbers(series: ImuSeries) -> FloatArray:
    """Return rate, force and field (N, 9) of a series; NaN without a field."""
    field = series.magnetic_field
    if field is None:
        field = np.full((len(series), 3), np.nan)
    return np.hstack([series.angular_velocity, series.specific_force, field])
