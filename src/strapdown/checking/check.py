"""The whole check of a series, and the quick part that every estimating verb runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.checking.attitude import check_attitude
from strapdown.checking.field import check_field
from strapdown.checking.ranges import check_ranges
from strapdown.checking.report import CheckReport
from strapdown.checking.rest import check_force, rest_of
from strapdown.checking.sensors import compared
from strapdown.checking.stamps import check_stamps
from strapdown.checking.windows import windows_of
from strapdown.series import Trajectory, timebase
from strapdown.series.series import require_series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.series import ImuSeries

__all__ = ["check", "check_reference", "doubts"]

_MOST_WINDOWS: Final = 100
_FEW_WINDOWS: Final = 30
_LARGEST: Final = 1e9


def check(
    series: ImuSeries, tracks: Mapping[str, Trajectory] | None = None, *, topic: str = ""
) -> CheckReport:
    """Check units, axes, signs and stamps of a recording against physics and each other.

    Gravity has a norm of 9.81 m/s^2 and, like the field of the Earth, a constant direction, which
    a gyro has to follow. Not visible in principle: a common rotation or permutation of all
    sensors (a mounting), and without an orientation the signs of the accelerometer, since
    ``du/dt = -w x u`` holds for -u as well.

    Parameters
    ----------
    series : ImuSeries
        In any order; an orientation that it contains is checked, too.
    tracks : mapping of str to Trajectory, optional
        Recorded orientations by topic.
    topic : str, optional
        Name of the series in the findings.

    Returns
    -------
    CheckReport

    Raises
    ------
    TypeError
        The series is no ImuSeries.

    Examples
    --------
    >>> import numpy as np
    >>> from strapdown.series import ImuSeries
    >>> rest = np.tile([0.0, 0.0, 1.0], (1000, 1))
    >>> report = check(ImuSeries(np.arange(1000) * 10_000_000, 0.0 * rest, rest))
    >>> print(report.findings[0])
    norm of the specific force 1 m/s^2 (over 10 s at rest); as if in g
    """
    require_series(series)
    kept, _ = timebase.ordered(series, "drop")
    own = {} if series.q_world_from_body is None else {topic or "orientation": _own(kept)}
    parts = [check_stamps(series, topic), *_sensors(kept, topic, own | dict(tracks or {}))]
    return CheckReport.joined([*parts, check_ranges(kept, topic)])


def doubts(series: ImuSeries) -> CheckReport:
    """Check units and axes in a fraction of a second: the part that estimates depend on most."""
    kept, _ = timebase.ordered(series, "drop")
    return CheckReport.joined(_sensors(kept, "", {}, most=_FEW_WINDOWS))


def check_reference(series: ImuSeries, track: Trajectory, *, topic: str) -> CheckReport:
    """Check whether a recorded orientation is a reference: against gyro and gravity only.

    Parameters
    ----------
    series : ImuSeries
        In any order.
    track : Trajectory
        The orientation.
    topic : str
        Its name in the findings.
    """
    kept, _ = timebase.ordered(series, "drop")
    return _sensors(kept, "", {topic: track}, most=_FEW_WINDOWS)[-1]


def _own(series: ImuSeries) -> Trajectory:
    """Return the orientation that an IMU reports."""
    assert series.q_world_from_body is not None  # noqa: S101 (asked before)
    return Trajectory(series.t_ns, series.q_world_from_body, world=series.world, body=series.body)


def _sensors(
    series: ImuSeries,
    topic: str,
    tracks: Mapping[str, Trajectory],
    *,
    most: int = _MOST_WINDOWS,
) -> list[CheckReport]:
    """Return the checks of the sensors and, after mending what they find, of orientations."""
    series = _plausible(series)
    rest = rest_of(series)
    found = compared(series, topic, windows_of(series, rest, most))
    parts = [check_force(rest, topic), check_field(series, topic), found.report]
    mended = series.replace(specific_force=series.specific_force @ found.force.T)
    if rest is not None and rest.norm > 0.0:
        parts += [
            check_attitude(mended, track, name, found.windows, rest.norm)
            for name, track in tracks.items()
        ]
    if not tracks:
        sign = "signs of the accelerometer: no recorded orientation to compare with"
        parts.append(CheckReport((), (), (sign,)))
    return parts


def _plausible(series: ImuSeries) -> ImuSeries:
    """Return a series with NaN in place of values that no sensor gives in any unit."""
    columns = ("angular_velocity", "specific_force", "magnetic_field")
    values = {name: getattr(series, name) for name in columns}
    return series.replace(
        **{
            name: np.where(np.abs(v) < _LARGEST, v, np.nan)
            for name, v in values.items()
            if v is not None
        }
    )
