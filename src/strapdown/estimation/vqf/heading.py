"""Heading correction of VQF by the magnetic field, and rejection of disturbed fields."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import UNKNOWN
from strapdown.estimation.vqf.low_pass import design, low_pass, paced
from strapdown.estimation.vqf.small_angles import angle, quick_gain, small_turn, unit, wrapped
from strapdown.geometry.vectors import square

if TYPE_CHECKING:
    from strapdown._typing import Three
    from strapdown.estimation.vqf.params import VqfParams
    from strapdown.estimation.vqf.state import FieldSignature, VqfMemory

STEADY_FIELD_S: Final = 1.0  # correlation time of the error of magnetic headings, ...
FIELD_WORTH: Final = 0.1**2 * STEADY_FIELD_S  # rad^2 s, ... of 0.1 rad: error of a mean
TURNED: Final = 0.1  # rad; a dip farther from the near one replaces it
TINY: Final = 1e-30  # keeps a quotient finite


@kernel
def design_for_field(s: VqfMemory, p: VqfParams) -> None:
    """Fit the low-pass of the field to its sampling interval."""
    interval = s.field_pace.designed = s.field_pace.interval
    design(s.slow_field, p.field_tau, interval)


@kernel
def correct_heading(s: VqfMemory, p: VqfParams, wait: float, field: Three) -> None:
    """Turn heading by a part of the angle from the magnetic field (world) to north."""
    if paced(s.field_pace, wait):
        design_for_field(s, p)
    weight, opening = quick_gain(wait, p.tau_mag), s.opening
    if p.reject_disturbed_field:
        judge_field(s, p, wait, field)
        weight, s.rejected_s = less_disturbed(p, s.disturbed, s.rejected_s, wait, weight)
    weight = max(weight, opening)
    s.opening = next_opening(opening, p.tau_mag, s.field_pace.interval)
    narrow_heading(s, p, weight, opening, field)
    if weight > 0.0:
        turn_heading(s, weight, field[0], field[1])


@kernel
def less_disturbed(
    p: VqfParams, disturbed: bool, rejected: float, wait: float, weight: float
) -> tuple[float, float]:
    """Return the weight of a field, and for how long disturbed ones have been rejected.

    The weight is 0 while disturbed, for up to rejection_time; then reduced.
    """
    if not disturbed:
        return weight, max(rejected - p.rejection_factor * wait, 0.0)
    if rejected <= p.rejection_time:
        return 0.0, rejected + wait
    return weight / p.rejection_factor, rejected


@kernel
def next_opening(opening: float, tau: float, interval: float) -> float:
    """Return the least weight of the field after one of least weight ``opening``."""
    after = opening / (opening + 1.0)
    return after if after * tau >= interval else 0.0


@kernel
def opening_after(lost: float, interval: float) -> float:
    """Return the least weight of the next field after a lost rotation [rad]."""
    return 1.0 / (1.0 + FIELD_WORTH / (lost * lost * interval))


@kernel
def turn_heading(s: VqfMemory, weight: float, east: float, north: float) -> None:
    """Turn heading by a part of the angle between a field and north."""
    _, _, sine, cosine = unit(0.0, 0.0, s.half_sine, s.half_cosine)
    cos, sin = cosine * cosine - sine * sine, 2.0 * sine * cosine
    change = weight * angle(cos * east - sin * north, sin * east + cos * north)
    s.heading_offset = wrapped(s.heading_offset + change)
    turned, kept = small_turn(0.5 * change)
    s.half_sine = turned * cosine + kept * sine
    s.half_cosine = kept * cosine - turned * sine
    s.has_heading = True


@kernel
def judge_field(s: VqfMemory, p: VqfParams, wait: float, field: Three) -> None:
    """Detect a disturbance, and update the usual field or its candidate."""
    east, north, up = field
    level2 = east * east + north * north
    s.slow_field.output[0] = math.sqrt(level2 + up * up)
    s.slow_field.output[1] = dip(s, math.sqrt(level2), up)
    low_pass(s.slow_field, p.field_tau, s.field_pace.interval)
    memory = quick_gain(wait, p.field_memory)
    if resembles(s, p, s.usual):
        s.undisturbed_s += wait
        if s.undisturbed_s >= p.undisturbed_time:
            s.disturbed = False
            follow(s, s.usual, memory)
    else:
        s.undisturbed_s = 0.0
        s.disturbed = True
    if not resembles(s, p, s.candidate):
        s.candidate_s = 0.0
        follow(s, s.candidate, 1.0)
        return
    if square(s.slow_rate.output) >= p.new_field_rate * p.new_field_rate:
        s.candidate_s += wait
    follow(s, s.candidate, memory)
    first = s.usual.strength == 0.0 and s.candidate_s >= p.first_field_time
    if s.disturbed and (first or s.candidate_s >= p.new_field_time):
        s.usual.strength, s.usual.dip = s.candidate.strength, s.candidate.dip
        s.disturbed = False
        s.undisturbed_s = p.undisturbed_time


@kernel
def dip(s: VqfMemory, level: float, up: float) -> float:
    """Return the dip of a field [rad], computed relative to a dip before."""
    sine, cosine = s.near_sine, s.near_cosine
    change = angle(-up * cosine - level * sine, level * cosine - up * sine)
    now = s.near_dip + change
    if abs(change) > TURNED:
        s.near_dip = now
        s.near_sine, s.near_cosine = math.sin(now), math.cos(now)
    return now


@kernel
def resembles(s: VqfMemory, p: VqfParams, known: FieldSignature) -> bool:
    """Whether the low-passed field is close to a known one."""
    strength, dip = s.slow_field.output[0], s.slow_field.output[1]
    alike = abs(strength - known.strength) < p.strength_tolerance * known.strength
    return alike and abs(dip - known.dip) < p.dip_tolerance


@kernel
def follow(s: VqfMemory, known: FieldSignature, weight: float) -> None:
    """Move a known field towards the low-passed one."""
    known.strength += weight * (s.slow_field.output[0] - known.strength)
    known.dip += weight * (s.slow_field.output[1] - known.dip)


@kernel
def narrow_heading(s: VqfMemory, p: VqfParams, weight: float, opening: float, field: Three) -> None:
    """Reduce the variance of heading towards that of the magnetic field.

    An error of tilt causes one of heading, larger by the tangent of the dip.
    """
    east, north, up = field
    steepness = up * up / (east * east + north * north + TINY)
    floor = p.heading_sigma * p.heading_sigma + steepness * s.covariance[0][0]
    if opening > 0.0:
        known_s = (1.0 / opening - 1.0) * s.field_pace.interval
        floor = max(floor, FIELD_WORTH / (known_s + STEADY_FIELD_S))
    floor = min(floor, UNKNOWN)
    kept = 1.0 - weight
    s.covariance[2][2] = floor + kept * kept * (s.covariance[2][2] - floor)
