"""Differences of two recordings over time, as signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.geometry import WorldFrame
from strapdown.series import ImuSeries, timebase
from strapdown.viewer.quantities import XYZ, error_angles, error_signal
from strapdown.viewer.signals import Signal
from strapdown.viewer.sources import RecordingSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray
    from strapdown.series import Trajectory
    from strapdown.viewer.quantities import Shown
    from strapdown.viewer.sources import Source

__all__ = ["Difference", "difference_of"]


class Difference:
    """A recording minus another one, at the stamps of the other.

    Attitudes are compared as :func:`~strapdown.evaluation.orientation_error` does, in ENU and the
    body frame of the second; rates and specific forces by component, in that body frame. Time is
    aligned; attitudes and mountings are not.

    Parameters
    ----------
    first, second : RecordingSource
        The second is the reference.
    shift_ns : int
        Added to the stamps of the first; 0 where both have one clock [ns].
    """

    def __init__(self, first: RecordingSource, second: RecordingSource, shift_ns: int) -> None:
        self._first, self._second, self._shift_ns = first, second, shift_ns
        self._revisions: tuple[int, int] | None = None
        self._signals: list[Signal] = []

    @property
    def name(self) -> str:
        """Names of both recordings."""
        return f"{self._first.name} minus {self._second.name}"

    @property
    def alignment(self) -> str:
        """Description of what is aligned, and of what is not."""
        time = "shared clock" if not self._shift_ns else "first samples at one time"
        return f"aligned in time ({time}); attitudes not aligned"

    def signals(self) -> Sequence[Signal]:
        """Return the differences of what both recordings have."""
        revisions = self._first.revision, self._second.revision
        if revisions != self._revisions:
            self._revisions, self._signals = revisions, self._compared()
        return self._signals

    def _compared(self) -> list[Signal]:
        one, other = self._first, self._second
        found = []
        if one.attitude is not None and other.attitude is not None:
            found.append(_of_attitudes(self._moved(one.attitude), other.attitude))
        if one.series is not None and other.series is not None:
            found += _of_samples(self._moved(one.series), other.series)
        return found

    def _moved(self, series: Shown) -> Shown:
        """Return a series of the first recording in the time of the second, in strict order."""
        return timebase.ordered(series.replace(t_ns=series.t_ns + self._shift_ns), "drop")[0]


def difference_of(sources: Sequence[Source], zeros: Sequence[int]) -> Difference | None:
    """Return the difference of two recordings whose zeros [ns] are one time; else None."""
    if len(sources) != 2:
        return None
    first, second = sources
    if not isinstance(first, RecordingSource) or not isinstance(second, RecordingSource):
        return None
    has_samples = first.series is not None and second.series is not None
    has_attitudes = first.attitude is not None and second.attitude is not None
    if not has_samples and not has_attitudes:
        return None
    return Difference(first, second, zeros[1] - zeros[0])


def _of_attitudes(first: Trajectory, second: Trajectory) -> Signal:
    first, second = (
        each.in_frames(world=WorldFrame.ENU, body=second.body) for each in (first, second)
    )
    angles = error_angles(first, second)
    frame = f"{second.world} from {second.body}"
    return error_signal(
        second.t_ns, lambda a, b: angles[a:b], name="attitude difference", frame=frame
    )


def _of_samples(first: ImuSeries, second: ImuSeries) -> list[Signal]:
    bare = ImuSeries(
        first.t_ns,
        first.angular_velocity,
        first.specific_force,
        world=first.world,
        body=first.body,
    )
    there, _ = timebase.resample(bare.in_frames(body=second.body), t_ns=second.t_ns)
    rate = there.angular_velocity - second.angular_velocity
    force = there.specific_force - second.specific_force
    return [
        _by_component("angular velocity difference", "rad/s", second, rate),
        _by_component("specific force difference", "m/s²", second, force),
    ]


def _by_component(name: str, unit: str, series: ImuSeries, values: FloatArray) -> Signal:
    return Signal(name, unit, f"body {series.body}", XYZ, series.t_ns, lambda a, b: values[a:b])
