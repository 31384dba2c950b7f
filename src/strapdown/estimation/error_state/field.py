"""Magnetic field in the error-state filter: heading, disturbance, delay of the readings.

Only the horizontal part of the field is used, and it corrects only heading, gyro bias and gyro
matrix, never tilt. The difference of strength and dip from the usual field determines the
assumed error of its direction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown._kernels.kernel import kernel
from strapdown.estimation.attitude import gain, turn_world
from strapdown.estimation.error_state.model import ACCEL_ERROR, PHI, XI
from strapdown.estimation.error_state.state import AGE, HEADING, NORTH
from strapdown.estimation.error_state.update import consider, joseph, project, set_variance
from strapdown.geometry.formulas import quaternion_exp, quaternion_rotate
from strapdown.geometry.triples import cross, plus
from strapdown.geometry.vectors import (
    add_to,
    approach,
    clear,
    distance2,
    four,
    length,
    put,
    square,
    three,
)
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._kernels.records import Vector
    from strapdown.estimation.error_state.params import ErrorStateParams
    from strapdown.estimation.error_state.state import ErrorStateMemory, FieldState
    from strapdown.samples.sample import Sample

LEVEL_PART: Final = 0.05  # of the field: with a smaller horizontal part there is no heading
QUIET_PART: Final = 0.03 * math.sqrt(2.0)  # of the usual field: a smaller difference is usual
DISTURBED_PART: Final = 0.15  # a larger difference is a disturbance
ODD_HEADING: Final = 9.0  # squared standard deviations of heading: likewise
DOUBT: Final = 100.0  # likewise: at this error a heading counts a quarter
USUAL_S: Final = 20.0  # time constant of the usual field
CANDIDATE_S: Final = 5.0
NORTH_S: Final = 100.0  # correlation time of the local deviation from north
TURNING: Final = 20.0 * RAD_PER_DEG  # rad/s; slower rotation is no evidence for a field
LONGEST_PROOF_S: Final = 45.0  # a new field becomes usual after as long as the old one lasted
SHORTEST_PROOF_S: Final = 5.0


@kernel
def forget_field(s: ErrorStateMemory, p: ErrorStateParams) -> None:
    """Reset all estimates of the field."""
    set_variance(s.error_covariance, NORTH, p.north_sigma)
    set_variance(s.error_covariance, AGE, p.field_delay_sigma)
    field = s.field
    field.deviation = field.delay = field.usual_age = 0.0
    s.disturbed = False
    forget_candidate(field)
    clear_field(field)


@kernel
def forget_candidate(field: FieldState) -> None:
    """Discard the candidate for the usual field."""
    clear(field.candidate)
    field.candidate_age = 0.0


@kernel
def clear_field(field: FieldState) -> None:
    """Clear the sums for a new window."""
    clear(field.total)
    clear(field.swing)
    field.count = 0


@kernel
def let_field_age(s: ErrorStateMemory, p: ErrorStateParams, span: float) -> None:
    """Predict the local deviation from north: a Gauss-Markov process."""
    keep = math.exp(-span / NORTH_S)
    s.field.deviation *= keep
    covariance = s.error_covariance
    row = covariance[NORTH]
    for i in range(len(row)):
        covariance[i][NORTH] *= keep
    for i in range(len(row)):
        row[i] *= keep
    row[NORTH] += (1.0 - keep * keep) * (p.north_sigma * p.north_sigma)


@kernel
def shows_north(level2: float, up: float) -> bool:
    """Whether enough of a field is horizontal, by the square of that part."""
    return level2 >= LEVEL_PART * LEVEL_PART * (level2 + up * up)


@kernel
def align_heading(s: ErrorStateMemory, p: ErrorStateParams, field: Vector) -> None:
    """Turn the world about the vertical so that the field points north."""
    east, north, up = quaternion_rotate(*four(s.orientation), *three(field))
    level2 = east * east + north * north
    if not shows_north(level2, up):
        return
    turn_world(s.orientation, quaternion_exp(0.0, 0.0, 0.5 * math.atan2(east, north)))
    set_variance(s.error_covariance, HEADING, p.heading_sigma)
    s.covariance[2][2] = p.heading_sigma * p.heading_sigma
    s.field.usual_level, s.field.usual_up = math.sqrt(level2), up
    s.has_heading = True


@kernel
def gather_field(s: ErrorStateMemory, p: ErrorStateParams, sample: Sample, has_rate: bool) -> None:
    """Add a sample, corrected for the delay, to the mean field of the window."""
    m = sample.magnetic_field
    if not s.has_heading:
        align_heading(s, p, m)
    q, field = four(s.orientation), s.field
    now = quaternion_rotate(*q, *three(m))
    if has_rate:
        swing = quaternion_rotate(*q, *cross(three(sample.angular_velocity), three(m)))
        now = plus(now, swing, -field.delay)
        field.swing[0] += swing[0]
        field.swing[1] += swing[1]
    add_to(field.total, now)
    field.count += 1


class Sight(NamedTuple):
    """The mean field of a window, and the row H of its heading."""

    east: float
    north: float
    up: float
    level: float  # horizontal part
    tilt_x: float  # entry of H for phi x; for heading and deviation it is 1
    tilt_y: float  # for phi y
    age: float  # for the delay


@kernel
def measure_field(s: ErrorStateMemory, p: ErrorStateParams, span: float) -> None:
    """Update with the heading of the mean horizontal field of the window."""
    field, count = s.field, s.field.count
    east, north, up = field.total[0] / count, field.total[1] / count, field.total[2] / count
    swing_east, swing_north = field.swing[0] / count, field.swing[1] / count
    clear_field(field)
    level2 = east * east + north * north
    if not (s.has_heading and shows_north(level2, up)):
        return
    x, y = -up * east / level2, -up * north / level2
    age = (north * swing_east - east * swing_north) / level2
    sight = Sight(east, north, up, math.sqrt(level2), x, y, age)
    odd = correct_heading(s, p, span, sight, count)
    judge_field(s, span, sight, odd)


@kernel
def correct_heading(
    s: ErrorStateMemory, p: ErrorStateParams, span: float, sight: Sight, count: int
) -> float:
    """Update with the heading of a field; return its squared error in standard deviations."""
    covariance, error, column = s.error_covariance, s.correction.error, s.correction.column
    clear(column)
    project(covariance, column, PHI, sight.tilt_x)
    project(covariance, column, PHI + 1, sight.tilt_y)
    project(covariance, column, HEADING, 1.0)
    project(covariance, column, NORTH, 1.0)
    project(covariance, column, AGE, sight.age)
    known = explained(column, sight)
    turn = math.atan2(sight.east, sight.north) - s.field.deviation - explained(error, sight)
    residual = math.atan2(math.sin(turn), math.cos(turn))
    level2, up = sight.east * sight.east + sight.north * sight.north, sight.up
    # Strength and dip show two components of a disturbance; the third is assumed as large as both.
    quiet2 = QUIET_PART * QUIET_PART * usual2(s.field)
    strange = max(off2(s.field, sight) - quiet2, 0.0) / level2
    white = p.field_noise * p.field_noise * (level2 + up * up) / level2 / count
    slow = p.field_sigma * p.field_sigma
    odd = residual * residual / (known + white + slow)
    lasting = (slow + strange) * max(1.0, 2.0 * p.field_time / span)
    doubt = 1.0 + odd / DOUBT
    variance = known + white + lasting * (doubt * doubt)
    weights = s.correction.gain
    for i in range(len(weights)):
        weights[i] = column[i] / variance
    consider(weights, PHI, 2)
    consider(weights, XI, 3)
    consider(weights, ACCEL_ERROR, 3)
    joseph(covariance, error, column, weights, residual, variance)
    return odd


@kernel
def explained(v: Vector, sight: Sight) -> float:
    """Return H times a vector."""
    turned = sight.tilt_x * v[PHI] + sight.tilt_y * v[PHI + 1] + v[HEADING]
    return turned + v[NORTH] + sight.age * v[AGE]


@kernel
def usual2(field: FieldState) -> float:
    """Return the square of the usual field."""
    return field.usual_level * field.usual_level + field.usual_up * field.usual_up


@kernel
def off2(field: FieldState, sight: Sight) -> float:
    """Return the squared distance of a field from the usual one."""
    level, up = sight.level - field.usual_level, sight.up - field.usual_up
    return level * level + up * up


@kernel
def judge_field(s: ErrorStateMemory, span: float, sight: Sight, odd: float) -> None:
    """Detect a disturbance; otherwise update the usual field."""
    field = s.field
    bound = DISTURBED_PART * DISTURBED_PART * usual2(field)
    s.disturbed = off2(field, sight) > bound or odd > ODD_HEADING
    if s.disturbed:
        judge_candidate(s, span, sight)
        return
    forget_candidate(field)
    field.usual_age += span
    k = max(gain(span, USUAL_S), span / field.usual_age)
    field.usual_level += k * (sight.level - field.usual_level)
    field.usual_up += k * (sight.up - field.usual_up)


@kernel
def judge_candidate(s: ErrorStateMemory, span: float, sight: Sight) -> None:
    """Accept another field as the usual one after it was constant in rotation for long enough."""
    field, candidate = s.field, s.field.candidate
    seen = (sight.east, sight.north, sight.up)
    if distance2(seen, candidate) > DISTURBED_PART * DISTURBED_PART * square(candidate):
        put(candidate, seen)
        field.candidate_age = 0.0
        return
    approach(candidate, gain(span, CANDIDATE_S), seen)
    if s.window.turned > TURNING * TURNING * span:
        field.candidate_age += span
    if field.candidate_age > min(max(field.usual_age, SHORTEST_PROOF_S), LONGEST_PROOF_S):
        turn = math.atan2(candidate[0], candidate[1])
        s.error_covariance[HEADING][HEADING] += turn * turn
        field.usual_level = length(candidate[0], candidate[1])
        field.usual_up = candidate[2]
        field.usual_age = 0.0
        forget_candidate(field)
