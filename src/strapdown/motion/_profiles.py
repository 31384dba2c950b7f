"""Jerk-limited laws of one variable, as polynomials in pieces.

A profile is a list of pieces in time order; the last one has no end. Velocities
:func:`settle`: their slope is bounded and continuous. Angles :func:`turn`: their rate and
acceleration are bounded, and the acceleration is continuous. :func:`blend` changes to a
commanded rate.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "ORDER",
    "Piece",
    "Profile",
    "State",
    "arrival_s",
    "blend",
    "coefficients_at",
    "settle",
    "starts_s",
    "state_at",
    "turn",
]

ORDER: Final = 7
"""Coefficients of the longest polynomial: the integral of a quintic blend."""


class Piece(NamedTuple):
    """A polynomial in the time since its start, lowest power first, and its duration."""

    duration_s: float
    coefficients: tuple[float, ...]


class State(NamedTuple):
    """A variable and its first two derivatives."""

    value: float
    rate: float
    acceleration: float


Profile: TypeAlias = list[Piece]
_Phase: TypeAlias = tuple[float, float]  # duration, and the highest derivative during it


def settle(start: State, target: float, *, max_rate: float, max_acceleration: float) -> Profile:
    """Move a variable to a target with zero final rate, in the shortest time.

    Parameters
    ----------
    start : State
        Initial state; the acceleration may jump and is ignored.
    target : float
        Final value.
    max_rate, max_acceleration : float
        Bounds of the first two derivatives. A rate above its bound is first reduced.
    """
    phases = _change(start.value, start.rate, target, max_rate, max_acceleration)
    integral = _integrated(State(0.0, start.value, start.rate), phases)
    pieces = [Piece(t, (b, 2.0 * c, 3.0 * d)) for t, (_, b, c, d) in integral]
    return [*pieces, Piece(math.inf, (target,))]


def turn(
    start: State, target: float, *, max_rate: float, max_acceleration: float, max_jerk: float
) -> Profile:
    """Move a variable to a target with its first two derivatives zero at the end.

    The rate changes to a cruising rate and from there to zero, each by the fastest change that
    the bounds allow. A cruise of some length happens only at ``max_rate``; below it the
    cruising rate is the one whose path ends at the target.

    Parameters
    ----------
    start : State
        Initial state.
    target : float
        Final value.
    max_rate, max_acceleration, max_jerk : float
        Bounds of the first three derivatives. Derivatives above them are first reduced.
    """

    def legs(rate: float) -> list[_Phase]:
        return [
            *_change(start.rate, start.acceleration, rate, max_acceleration, max_jerk),
            *_change(rate, 0.0, 0.0, max_acceleration, max_jerk),
        ]

    def left(rate: float) -> float:
        state = start
        for duration, jerk in legs(rate):
            state = _moved(state, jerk, duration)
        return target - state.value

    side = math.copysign(1.0, left(0.0))
    cruise_s = side * left(side * max_rate) / max_rate
    if cruise_s >= 0.0:
        rate = side * max_rate
    else:
        # Without further change of acceleration the rate would become this one; faster than
        # that, the end of the path moves steadily with the cruising rate.
        steady = side * (start.rate + _ramp(start.acceleration, max_jerk))
        rate = side * _cruising_rate(lambda r: side * left(side * r), steady, max_rate)
    phases = legs(rate)
    phases.insert(3, (max(0.0, cruise_s), 0.0))
    return [*_integrated(start, phases), Piece(math.inf, (target,))]


def blend(start: State, rate: float, *, blend_s: float) -> Profile:
    """Change to a commanded rate, and hold it.

    The rate follows the quintic ``10 u^3 - 15 u^4 + 6 u^5`` of u = t / ``blend_s``. Where the
    start has an acceleration, ``acceleration blend_s u (1 - u)^3 (1 - 3 u)`` is added, which
    takes it to zero and has no integral: after a time T >= ``blend_s`` the variable is at
    ``value + rate T - (rate - start.rate) blend_s / 2``. With ``blend_s`` = 0 the rate steps.
    """
    value, change = start.value, rate - start.rate
    if blend_s == 0.0 or (change == 0.0 and start.acceleration == 0.0):
        return [Piece(math.inf, (value, rate))]
    bend = start.acceleration * blend_s
    # The rate in powers of u; its integral in powers of t.
    powers = (
        start.rate,
        bend,
        -6.0 * bend,
        10.0 * change + 12.0 * bend,
        -15.0 * change - 10.0 * bend,
        6.0 * change + 3.0 * bend,
    )
    path = (value, *(c / ((n + 1) * blend_s**n) for n, c in enumerate(powers)))
    end = value + 0.5 * (rate + start.rate) * blend_s
    return [Piece(blend_s, path), Piece(math.inf, (end, rate))]


def starts_s(profile: Profile) -> list[float]:
    """Return the start of each piece."""
    return list(accumulate((piece.duration_s for piece in profile[:-1]), initial=0.0))


def arrival_s(profile: Profile) -> float:
    """Return the start of the last piece, which has no end."""
    return starts_s(profile)[-1]


def coefficients_at(profile: Profile, t_s: float) -> list[float]:
    """Return the polynomial (ORDER,) at an instant, in powers of the time since that instant."""
    starts = starts_s(profile)
    index = bisect_right(starts, t_s) - 1
    coefficients, shift = list(profile[index].coefficients), t_s - starts[index]
    if shift > 0.0:  # Horner's rule, repeated
        for first in range(len(coefficients) - 1):
            for n in range(len(coefficients) - 2, first - 1, -1):
                coefficients[n] += shift * coefficients[n + 1]
    return coefficients + [0.0] * (ORDER - len(coefficients))


def state_at(profile: Profile, t_s: float) -> State:
    """Return the variable and its derivatives at an instant."""
    value, rate, half, *_ = coefficients_at(profile, t_s)
    return State(value, rate, 2.0 * half)


def _cruising_rate(left: Callable[[float], float], steady: float, max_rate: float) -> float:
    """Return the rate in 0 ... max_rate at which ``left`` turns from positive to negative.

    By bisection to the last bit.
    """
    if left(0.0) == 0.0:
        return 0.0
    low, high = 0.0, max_rate
    middle = min(max(steady, low), high)
    while True:
        if left(middle) >= 0.0:
            low = middle
        else:
            high = middle
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return low


def _ramp(slope: float, max_curvature: float) -> float:
    """Return the change of a value while its slope decreases linearly to zero."""
    return 0.5 * slope * abs(slope) / max_curvature


def _change(
    value: float, slope: float, target: float, max_slope: float, max_curvature: float
) -> list[_Phase]:
    """Return the fastest path from (value, slope) to (target, 0): three phases of curvature.

    The slope changes linearly to a peak, stays there if the peak is the bound, and changes
    linearly to zero.
    """
    gain = target - value
    side = math.copysign(1.0, gain - _ramp(slope, max_curvature))
    gain, slope = side * gain, side * slope
    peak = math.sqrt(max(0.0, max_curvature * gain + 0.5 * slope * slope))
    hold = 0.0
    if peak > max_slope:
        peak = max_slope
        ramps = 0.5 * (peak + slope) * abs(peak - slope) + 0.5 * peak * peak
        hold = max(0.0, (gain - ramps / max_curvature) / peak)
    first = math.copysign(max_curvature, peak - slope)
    return [
        (abs(peak - slope) / max_curvature, side * first),
        (hold, 0.0),
        (peak / max_curvature, -side * max_curvature),
    ]


def _integrated(start: State, phases: Iterable[_Phase]) -> Profile:
    """Return the cubic pieces of a variable whose third derivative has these phases."""
    pieces = []
    state = start
    for duration, jerk in phases:
        if duration > 0.0:
            cubic = (state.value, state.rate, 0.5 * state.acceleration, jerk / 6.0)
            pieces.append(Piece(duration, cubic))
            state = _moved(state, jerk, duration)
    return pieces


def _moved(state: State, jerk: float, t: float) -> State:
    """Return the state after a time of constant jerk."""
    value, rate, acceleration = state
    return State(
        value + t * (rate + t * (0.5 * acceleration + t * (jerk / 6.0))),
        rate + t * (acceleration + t * (0.5 * jerk)),
        acceleration + t * jerk,
    )
