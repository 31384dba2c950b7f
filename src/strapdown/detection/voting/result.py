"""Results of a voter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from strapdown._html import FieldsAsHtml

if TYPE_CHECKING:
    from strapdown._typing import IntArray
    from strapdown.detection.events import Event, Events
    from strapdown.messages.px4 import SensorSelection
    from strapdown.series import ImuSeries

__all__ = ["SensorState", "Vote", "VoteResult", "VoterReport"]


class SensorState(IntEnum):
    """State of a sensor."""

    OK = 0
    SUSPECT = 1
    FAILED = 2


class Vote(NamedTuple):
    """Voted angular velocity and specific force, and changes.

    Parameters
    ----------
    t_ns : int
        Common stamp [ns]: the oldest of the sensors that are not late.
    angular_velocity, specific_force : tuple of 3 float
        [rad/s], [m/s^2], body axes, at the origin of the body; NaN where no sensor measures.
    events : tuple of Event
        Changes in this cycle.
    """

    t_ns: int
    angular_velocity: tuple[float, float, float]
    specific_force: tuple[float, float, float]
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, eq=False)
class VoteResult:
    """Result of voting on recordings.

    Parameters
    ----------
    series : ImuSeries
        The voted samples, N rows, body axes.
    states : (N, 2, n) int64
        :class:`SensorState` of the gyro and the accelerometer of each sensor.
    selected : (N, 2) int64
        Number of the selected sensor for angular velocity and specific force.
    events : Events
        Changes in chronological order.
    selections : tuple of SensorSelection
        PX4's message for the first row, and for each at which the selection changes.
    """

    series: ImuSeries
    states: IntArray
    selected: IntArray
    events: Events
    selections: tuple[SensorSelection, ...]


@dataclass(frozen=True)
class VoterReport(FieldsAsHtml):
    """Counts of the cycles.

    Parameters
    ----------
    dropped : int
        Cycles whose common stamp repeats or goes back by up to a second.
    restarts : int
        Jumps of the common stamp by more than a second.
    missing_gyro, missing_accel : tuple of int
        For each sensor the number of cycles in which it was late, absent, not finite or
        implausible.
    """

    dropped: int
    restarts: int
    missing_gyro: tuple[int, ...]
    missing_accel: tuple[int, ...]
