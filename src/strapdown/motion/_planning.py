"""Planning of motion commands: profiles of Euler angles and body velocity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.motion import _profiles as profiles
from strapdown.motion._pieces import Pieces
from strapdown.motion._profiles import State
from strapdown.motion.command_file import Command, CommandType, InitialState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown.motion._profiles import Profile

__all__ = ["Limits", "Segment", "planned"]

_SLIVER_S: Final = 1e-9  # pieces shorter than the resolution of stamps are merged into the next


@dataclass(frozen=True)
class Limits:
    """Limits of a vehicle that moves to a target, each for one axis.

    Commands of type RATES may exceed them. With the default jerks, an acceleration
    reaches its bound in a tenth of a second.

    Parameters
    ----------
    acceleration : float
        Rate of a component of body velocity [m/s^2].
    jerk : float
        Rate of that rate [m/s^3].
    angular_rate : float
        Rate of roll, pitch or yaw [rad/s].
    angular_acceleration : float
        [rad/s^2].
    angular_jerk : float
        [rad/s^3].

    Raises
    ------
    ValueRangeError
        A limit is not positive and finite.
    """

    acceleration: float = 1.0
    jerk: float = 10.0
    angular_rate: float = 2.0
    angular_acceleration: float = 0.5
    angular_jerk: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 < value < math.inf:
                raise ValueRangeError(f"expected {name} above 0 and finite, got {value:g}")


@dataclass(frozen=True)
class Segment:
    """Outcome of a command.

    Parameters
    ----------
    command : Command
        The command.
    start_s, end_s : float
        Start and end of its execution [s].
    reached : bool
        Whether its target was reached; rates always are.
    """

    command: Command
    start_s: float
    end_s: float
    reached: bool


def planned(
    initial: InitialState, commands: Iterable[Command], limits: Limits, blend_s: float
) -> tuple[tuple[Segment, ...], Pieces]:
    """Return the outcome of commands.

    Parameters
    ----------
    initial, commands, limits, blend_s
        As for :class:`strapdown.motion.commands.MotionCommands`.

    Returns
    -------
    segments : tuple of Segment
        One a command. A command that takes a nanosecond or less does nothing.
    variables : Pieces
        Roll, pitch, yaw [rad] and body velocity [m/s, FRD].

    Raises
    ------
    ValueRangeError
        No command takes time.
    """
    states = [State(x, 0.0, 0.0) for x in (*initial.roll_pitch_yaw, *initial.velocity)]
    segments: list[Segment] = []
    starts: list[float] = []
    origins: list[float] = []
    coefficients: list[list[list[float]]] = []  # of each piece, variable and power
    now = 0.0
    for command in commands:
        plan = _carried_out(command, states, limits, blend_s)
        length, reached = command.duration_s, command.type is CommandType.RATES
        arrival = max(map(profiles.arrival_s, plan))
        if not reached and arrival <= length:
            length, reached = arrival, True
        length = length if length > _SLIVER_S else 0.0
        segments.append(Segment(command, now, now + length, reached))
        if length == 0.0:
            continue
        edges = {edge for profile in plan for edge in profiles.starts_s(profile)}
        for edge in sorted(edge for edge in edges if edge < length - _SLIVER_S):
            if edge > 0.0 and now + edge - starts[-1] < _SLIVER_S:
                del origins[-1], coefficients[-1]
            else:
                starts.append(now + edge)
            origins.append(now + edge)
            coefficients.append([profiles.coefficients_at(profile, edge) for profile in plan])
        states = [profiles.state_at(profile, length) for profile in plan]
        now += length
    if not starts:
        raise ValueRangeError("expected a command that takes time, got none; give a duration")
    return tuple(segments), Pieces(np.array(starts), np.array(origins), np.array(coefficients).T)


def _carried_out(
    command: Command, states: Sequence[State], limits: Limits, blend_s: float
) -> list[Profile]:
    """Return the profiles of roll, pitch, yaw and body velocity for a command."""
    numbers = (*command.roll_pitch_yaw, *command.velocity)
    if command.type is CommandType.RATES:
        blend_s = min(blend_s, command.duration_s)
        blend_s = blend_s if blend_s > _SLIVER_S else 0.0
        return [
            profiles.blend(state, rate, blend_s=blend_s)
            for state, rate in zip(states, numbers, strict=True)
        ]
    changes = (command.type.changes_attitude,) * 3 + (command.type.changes_velocity,) * 3
    targets = [
        state.value + number if change else number
        for state, number, change in zip(states, numbers, changes, strict=True)
    ]
    angles = [
        profiles.turn(
            state,
            target,
            max_rate=limits.angular_rate,
            max_acceleration=limits.angular_acceleration,
            max_jerk=limits.angular_jerk,
        )
        for state, target in zip(states[:3], targets[:3], strict=True)
    ]
    velocity = [
        profiles.settle(state, target, max_rate=limits.acceleration, max_acceleration=limits.jerk)
        for state, target in zip(states[3:], targets[3:], strict=True)
    ]
    return angles + velocity
