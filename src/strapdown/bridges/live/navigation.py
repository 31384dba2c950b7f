"""Live navigation: samples of an IMU and fixes of a receiver in, poses out."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.bridges.live.fusion import sample_of
from strapdown.errors import ValueRangeError
from strapdown.estimation.navigation import (
    StrapdownNavigator,
    barometer_aiding,
    gnss_aiding,
)
from strapdown.estimation.navigation.gnss import BAROMETER_SIGMA, with_accuracy
from strapdown.estimation.navigation.in_motion import FIRST_WINDOW_S
from strapdown.estimation.navigation.start import (
    LEVEL_NS,
    HeadingFrom,
    level_start,
    moving_start,
    start_at_fix,
    states_heading,
)
from strapdown.inertial.navigation import Place
from strapdown.messages import (
    Batch,
    NavSatFix,
    Pose3D,
    TwistWithCovarianceStamped,
    conversion,
)
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from strapdown.estimation.navigation import (
        Aiding,
        NavigationEstimate,
        NavigationPrior,
        NavigatorParams,
    )
    from strapdown.messages import FluidPressure, Imu
    from strapdown.samples import ImuSample
    from strapdown.series import GnssSeries

    Aid: TypeAlias = NavSatFix | TwistWithCovarianceStamped | FluidPressure

__all__ = ["LiveNavigation", "pose_of"]

LONGEST_WINDOW_S: Final = 160.0
"""Time in which the motion has to determine the heading; then any heading is the start [s]."""


class LiveNavigation:
    """Navigation from the first fix on, as ``strapdown navigate`` does with a whole recording.

    Poses are those of the verb, bit for bit, if every fix, velocity of the receiver and pressure of
    a barometer is given before the first sample that is later than it. A later one corrects the
    poses after its arrival, up to ``buffer`` seconds back. The start needs a second of samples if
    the parameters state the heading; otherwise it waits for the motion that determines it. The
    poses up to then follow at once.

    Parameters
    ----------
    params : NavigatorParams
    lever_arm : sequence of 3 float
        From the IMU to the antenna [m, FLU].
    latency : float
        By how much the stamps of the fixes are late [s].
    """

    def __init__(
        self, params: NavigatorParams, *, lever_arm: Sequence[float], latency: float
    ) -> None:
        self.params, self._lever_arm = params, tuple(lever_arm)
        self._latency_ns = round(latency * NS_PER_S)
        self.origin: tuple[float, float, float] | None = None
        self.navigator: StrapdownNavigator | None = None
        self.notes: list[str] = []
        self.unused = self.late = 0
        """Fixes without position, velocities without a fix or a covariance, or messages before the
        first sample; aiding beyond the buffer."""
        self._pending: list[tuple[int, Aid]] = []
        self._fix: GnssSeries | None = None
        self._level: float | None = None
        self._first_ns: int | None = None
        self._samples: deque[ImuSample] = deque()
        self._aiding: list[Aiding] = []
        self._start_ns: int | None = None
        self._window_ns = round(FIRST_WINDOW_S * NS_PER_S)

    def aid(self, message: Aid) -> int:
        """Use a fix, a velocity or a pressure, from the next sample on; return its time [ns]."""
        stamp_ns = message.header_stamp_ns
        if isinstance(message, (NavSatFix, TwistWithCovarianceStamped)):
            stamp_ns -= self._latency_ns
        insort(self._pending, (stamp_ns, message), key=_turn)
        return stamp_ns

    def take(self, message: Imu) -> Iterator[Pose3D]:
        """Yield the poses that a sample completes: none before the start, later one."""
        sample = sample_of(message)
        if self._first_ns is None:
            self._first_ns = sample.t_ns
        while self._pending and self._pending[0][0] <= sample.t_ns:
            self._use(*self._pending.pop(0), self._first_ns)
        if self.navigator is not None:
            yield self._step(sample)
            return
        self._samples.append(sample)
        oldest = self._start_ns
        if oldest is None:
            oldest = sample.t_ns - round(self.params.buffer * NS_PER_S)
            while self._aiding and self._aiding[0].t_ns < oldest:
                del self._aiding[0]
        while self._samples and self._samples[0].t_ns < oldest:
            self._samples.popleft()
        if self._start_ns is not None and self._samples:
            yield from self._begin(sample.t_ns)

    def finish(self) -> Iterator[Pose3D]:
        """Yield the poses of samples that were waiting for a start."""
        if self.navigator is None and self._start_ns is not None and len(self._samples) > 1:
            aiding = self._used(self._samples[-1].t_ns)
            if any(each.kind == "position" for each in aiding):
                prior, source = start_at_fix(self.params, self._series(), aiding, self._place())
                yield from self._run_from(prior, source)

    def _use(self, stamp_ns: int, message: Aid, first_ns: int) -> None:
        """Convert a message to aiding, unless it is before the first sample."""
        if stamp_ns < first_ns:
            self.unused += 1
        elif isinstance(message, NavSatFix):
            self._use_fix(stamp_ns, message)
        elif isinstance(message, TwistWithCovarianceStamped):
            self._use_velocity(stamp_ns, message)
        else:
            self._use_pressure(message)

    def _use_fix(self, stamp_ns: int, fix: NavSatFix) -> None:
        """Convert a fix to aiding; the first defines the origin."""
        series = conversion.gnss_from_navsat([fix]).replace(t_ns=np.array([stamp_ns]))
        self._fix = series if series.has_fix[0] else None
        if self._fix is None:
            self.unused += 1
            return
        series, assumed = with_accuracy(series)
        if assumed and not self.notes:
            self.notes.append(f"fixes without accuracy: {assumed.partition(': ')[2]}")
        if self.origin is None and math.isfinite(series.altitude[0]):
            self.origin = series.origin
        if self.origin is None:
            self.unused += 1
            return
        found = gnss_aiding(series, self.origin, lever_arm=self._lever_arm)
        self._add(found)
        if self._start_ns is None and any(each.kind == "position" for each in found):
            self._start_ns = stamp_ns

    def _use_velocity(self, stamp_ns: int, twist: TwistWithCovarianceStamped) -> None:
        """Convert a velocity, in the axes of the place of the last fix, to aiding."""
        found: list[Aiding] = []
        if self._fix is not None and self.origin is not None:
            series = self._fix.replace(
                t_ns=np.array([stamp_ns]),
                velocity_world=np.array([twist.linear]),
                velocity_covariance=np.reshape(twist.covariance, (1, 6, 6))[:, :3, :3],
            )
            aiding = gnss_aiding(series, self.origin, lever_arm=self._lever_arm)
            found = [each for each in aiding if each.kind == "velocity"]
        self._add(found)
        self.unused += not found

    def _use_pressure(self, message: FluidPressure) -> None:
        """Convert a pressure to aiding by an altitude above that of the first one."""
        values = np.array([[message.fluid_pressure, message.variance]])
        stamp = np.array([message.header_stamp_ns])
        batch = Batch(stamp, values, (message.frame_id,), np.zeros(1, np.int64))
        series = conversion.barometer_from_fluid_pressure(batch)
        if self._level is None and math.isfinite(series.altitude[0]):
            self._level = float(series.altitude[0])
        self._add(barometer_aiding(series, BAROMETER_SIGMA, origin=self._level))

    def _add(self, found: list[Aiding]) -> None:
        """Add aiding in the order of time, altitudes after fixes."""
        self._aiding = sorted(
            [*self._aiding, *found], key=lambda each: (each.t_ns, each.kind == "altitude")
        )

    def _begin(self, now_ns: int) -> Iterator[Pose3D]:
        """Begin if the samples so far determine the start."""
        first_ns = self._samples[0].t_ns
        if states_heading(self.params):
            if now_ns >= first_ns + LEVEL_NS:
                prior = level_start(self.params, self._series(), self._used(now_ns))
                yield from self._run_from(prior, HeadingFrom.PARAMETERS)
            return
        end_ns = first_ns + self._window_ns
        if now_ns <= end_ns:
            return
        part = self._series(end_ns)
        try:
            prior = moving_start(self.params, part, self._used(end_ns), self._place())
        except ValueRangeError:
            self._window_ns *= 2
            if self._window_ns <= LONGEST_WINDOW_S * NS_PER_S:
                return
            prior = level_start(self.params, part, self._used(end_ns), anywhere=True)
            yield from self._run_from(prior, HeadingFrom.NOWHERE)
        else:
            yield from self._run_from(prior, HeadingFrom.MOTION)

    def _run_from(self, prior: NavigationPrior, source: HeadingFrom) -> Iterator[Pose3D]:
        """Process the waiting samples from a start."""
        first_ns = self._samples[0].t_ns
        self._aiding = [each for each in self._aiding if each.t_ns >= first_ns]
        self.notes.append(f"heading at the start: {source}")
        self.navigator = StrapdownNavigator(self.params, start=prior, place=self._place())
        while self._samples:
            yield self._step(self._samples.popleft())

    def _step(self, sample: ImuSample) -> Pose3D:
        """Return the pose at a sample, after the fixes up to it."""
        navigator = self.navigator
        assert navigator is not None  # noqa: S101 (called after the start)
        estimate = navigator.update(sample)
        while self._aiding and self._aiding[0].t_ns <= sample.t_ns:
            try:
                navigator.aid(self._aiding.pop(0))
            except ValueRangeError:
                self.late += 1
            estimate = navigator.estimate
        return pose_of(sample.t_ns, estimate)

    def _used(self, until_ns: int) -> list[Aiding]:
        first_ns = self._samples[0].t_ns
        return [each for each in self._aiding if first_ns <= each.t_ns <= until_ns]

    def _series(self, until_ns: int | None = None) -> ImuSeries:
        """Return the waiting samples."""
        samples = [s for s in self._samples if until_ns is None or s.t_ns <= until_ns]
        rate, force = (
            np.array([each.vectors()[k] for each in samples]).reshape(-1, 3) for k in (0, 1)
        )
        return ImuSeries(np.array([each.t_ns for each in samples], np.int64), rate, force)

    def _place(self) -> Place:
        assert self.origin is not None  # noqa: S101 (known before any aiding)
        return Place("wgs84", latitude=self.origin[0], height=self.origin[2])


def _turn(pending: tuple[int, Aid]) -> tuple[int, bool]:
    """Return the place in the order of use: by stamp, a velocity after the fix of its place."""
    stamp_ns, message = pending
    return stamp_ns, isinstance(message, TwistWithCovarianceStamped)


def pose_of(t_ns: int, estimate: NavigationEstimate) -> Pose3D:
    """Return the pose of an estimate at a stamp."""
    pose = Pose3D(timestamp_ns=t_ns)
    pose.position, pose.orientation = estimate.position_world, estimate.q_world_from_body
    return pose
