"""The magnetic field in the error-state filter: heading, disturbance, age of the readings.

Only the horizontal part of the field is used, and only for heading, gyro biases and M: a
magnetic field never tilts. Strength and dip tell how far the field is from the usual one, and so
how large the error of its direction may be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import (
    COVARIANCE,
    DISTURBED,
    approach,
    gain,
    orientation,
    turn_world,
)
from strapdown.estimation.error_state._kernels import (
    ACCEL,
    TURNED,
    XI,
    clear,
    project,
    update,
)
from strapdown.estimation.eskf.layout import (
    AGE,
    ALIGNED,
    CANDIDATE,
    CANDIDATE_AGE,
    COLUMN,
    DELAY,
    DEVIATION,
    ERROR,
    ERRORS,
    FIELD,
    FIELD_COUNT,
    FIELD_DELAY_SIGMA,
    FIELD_NOISE,
    FIELD_SIGMA,
    FIELD_TIME,
    GAIN,
    HEADING_SIGMA,
    NORTH,
    NORTH_SIGMA,
    SWING,
    USUAL,
    USUAL_AGE,
    WINDOW_AT,
    P,
)
from strapdown.geometry._kernels import quaternion_exp, quaternion_rotate

if TYPE_CHECKING:
    from typing import TypeAlias

    from strapdown._typing import FloatArray

    Three: TypeAlias = tuple[float, float, float]

BORROWS = True

LEVEL_PART: Final = 0.05  # of the field: with less in the horizontal there is no north
QUIET_PART: Final = 0.03 * math.sqrt(2.0)  # of the usual field: so far off it is still usual
DISTURBED_PART: Final = 0.15  # so far off it is disturbed
ODD_HEADING: Final = 9.0  # squared, in standard deviations: also disturbed
DOUBT: Final = 100.0  # squared, likewise: so far off, a heading counts a quarter
USUAL_S: Final = 20.0  # memory of the usual field
CANDIDATE_S: Final = 5.0
NORTH_S: Final = 100.0  # for so long the local field keeps its deviation from north
TURNING: Final = 20.0 * math.pi / 180.0  # rad/s; slower turns do not prove a field
LONGEST_PROOF_S: Final = 45.0  # a new field is usual when it has lasted as long as the old
SHORTEST_PROOF_S: Final = 5.0


def forget_field(state: FloatArray, settings: FloatArray) -> None:
    """Start: nothing is known of the field."""
    for i in range(NORTH, ERRORS):
        for j in range(ERRORS):
            state[P + i * ERRORS + j] = 0.0
            state[P + j * ERRORS + i] = 0.0
    state[P + NORTH * (ERRORS + 1)] = settings[NORTH_SIGMA] ** 2
    state[P + AGE * (ERRORS + 1)] = settings[FIELD_DELAY_SIGMA] ** 2
    state[DEVIATION] = 0.0
    state[DELAY] = 0.0
    state[USUAL_AGE] = 0.0
    clear(state, CANDIDATE, 4)
    state[DISTURBED] = 0.0
    clear_field(state)


def clear_field(state: FloatArray) -> None:
    """Begin a window."""
    clear(state, FIELD, 3)
    clear(state, SWING, 2)
    state[FIELD_COUNT] = 0.0


def let_field_age(state: FloatArray, settings: FloatArray, span: float) -> None:
    """Let the local field's deviation from north fade and be renewed."""
    keep = math.exp(-span / NORTH_S)
    state[DEVIATION] *= keep
    for i in range(ERRORS):
        state[P + i * ERRORS + NORTH] *= keep
    for i in range(ERRORS):
        state[P + NORTH * ERRORS + i] *= keep
    state[P + NORTH * (ERRORS + 1)] += (1.0 - keep * keep) * settings[NORTH_SIGMA] ** 2


def align_heading(state: FloatArray, settings: FloatArray, field: Three) -> None:
    """Turn the world about the vertical so that the field points north."""
    east, north, up = quaternion_rotate(*orientation(state), *field)
    level2 = east * east + north * north
    if level2 < LEVEL_PART**2 * (level2 + up * up):
        return
    turn_world(state, *quaternion_exp(0.0, 0.0, 0.5 * math.atan2(east, north)))
    for i in range(ERRORS):
        state[P + 2 * ERRORS + i] = 0.0
        state[P + i * ERRORS + 2] = 0.0
    state[P + 2 * (ERRORS + 1)] = settings[HEADING_SIGMA] ** 2
    state[USUAL], state[USUAL + 1] = math.sqrt(level2), up
    state[COVARIANCE + 5] = settings[HEADING_SIGMA] ** 2
    state[ALIGNED] = 2.0


def gather_field(
    state: FloatArray, settings: FloatArray, field: Three, has_rate: bool, rate: Three
) -> None:
    """Add a sample to the mean field of the window, as it is when DELAY is allowed for."""
    if state[ALIGNED] == 1.0:
        align_heading(state, settings, field)
    q = orientation(state)
    east, north, up = quaternion_rotate(*q, *field)
    if has_rate:
        x, y, z = quaternion_rotate(
            *q,
            rate[1] * field[2] - rate[2] * field[1],
            rate[2] * field[0] - rate[0] * field[2],
            rate[0] * field[1] - rate[1] * field[0],
        )
        east -= state[DELAY] * x
        north -= state[DELAY] * y
        up -= state[DELAY] * z
        state[SWING] += x
        state[SWING + 1] += y
    state[FIELD] += east
    state[FIELD + 1] += north
    state[FIELD + 2] += up
    state[FIELD_COUNT] += 1.0


def measure_field(state: FloatArray, settings: FloatArray, span: float) -> None:
    """Take in that the horizontal field points north, but for its deviation, age and errors."""
    count = state[FIELD_COUNT]
    east, north, up = state[FIELD] / count, state[FIELD + 1] / count, state[FIELD + 2] / count
    swing_east, swing_north = state[SWING] / count, state[SWING + 1] / count
    clear_field(state)
    level2 = east * east + north * north
    if state[ALIGNED] < 2.0 or level2 < LEVEL_PART**2 * (level2 + up * up):
        return
    x, y = -up * east / level2, -up * north / level2
    age = (north * swing_east - east * swing_north) / level2
    clear(state, COLUMN, ERRORS)
    project(state, P, ERRORS, COLUMN, 0, x)
    project(state, P, ERRORS, COLUMN, 1, y)
    project(state, P, ERRORS, COLUMN, 2, 1.0)
    project(state, P, ERRORS, COLUMN, NORTH, 1.0)
    project(state, P, ERRORS, COLUMN, AGE, age)
    known = explained(state, COLUMN, x, y, age)
    residual = math.atan2(east, north) - state[DEVIATION] - explained(state, ERROR, x, y, age)
    residual = math.atan2(math.sin(residual), math.cos(residual))
    level, usual2 = math.sqrt(level2), state[USUAL] ** 2 + state[USUAL + 1] ** 2
    off2 = (level - state[USUAL]) ** 2 + (up - state[USUAL + 1]) ** 2
    # Strength and dip show two components of a disturbance; the third may be as large as both.
    strange = max(off2 - QUIET_PART**2 * usual2, 0.0) / level2
    white = settings[FIELD_NOISE] ** 2 * (level2 + up * up) / level2 / count
    slow = settings[FIELD_SIGMA] ** 2
    odd = residual * residual / (known + white + slow)
    lasting = (slow + strange) * max(1.0, 2.0 * settings[FIELD_TIME] / span)
    s = known + white + lasting * (1.0 + odd / DOUBT) ** 2
    for i in range(2, ERRORS):
        state[GAIN + i] = state[COLUMN + i] / s
    clear(state, GAIN, 2)
    clear(state, GAIN + XI, 3)
    clear(state, GAIN + ACCEL, 3)
    update(state, P, ERRORS, ERROR, COLUMN, GAIN, residual, s)
    if off2 > DISTURBED_PART**2 * usual2 or odd > ODD_HEADING:
        state[DISTURBED] = 1.0
        judge_candidate(state, span, east, north, up)
    else:
        state[DISTURBED] = 0.0
        clear(state, CANDIDATE, 4)
        state[USUAL_AGE] += span
        k = max(gain(span, USUAL_S), span / state[USUAL_AGE])
        state[USUAL] += k * (level - state[USUAL])
        state[USUAL + 1] += k * (up - state[USUAL + 1])


def explained(state: FloatArray, at: int, x: float, y: float, age: float) -> float:
    """Return H times the vector at ``at``."""
    turned = x * state[at] + y * state[at + 1] + state[at + 2]
    known: float = turned + state[at + NORTH] + age * state[at + AGE]
    return known


def judge_candidate(state: FloatArray, span: float, east: float, north: float, up: float) -> None:
    """Accept another field as the usual one when it has been the same in rotation for long."""
    c = CANDIDATE
    size2 = state[c] ** 2 + state[c + 1] ** 2 + state[c + 2] ** 2
    away2 = (east - state[c]) ** 2 + (north - state[c + 1]) ** 2 + (up - state[c + 2]) ** 2
    if away2 > DISTURBED_PART**2 * size2:
        state[c], state[c + 1], state[c + 2] = east, north, up
        state[CANDIDATE_AGE] = 0.0
        return
    approach(state, c, gain(span, CANDIDATE_S), east, north, up)
    if state[WINDOW_AT + TURNED] > TURNING**2 * span:
        state[CANDIDATE_AGE] += span
    if state[CANDIDATE_AGE] > min(max(state[USUAL_AGE], SHORTEST_PROOF_S), LONGEST_PROOF_S):
        state[P + 2 * (ERRORS + 1)] += math.atan2(state[c], state[c + 1]) ** 2
        state[USUAL], state[USUAL + 1] = math.hypot(state[c], state[c + 1]), state[c + 2]
        state[USUAL_AGE] = 0.0
        clear(state, CANDIDATE, 4)
