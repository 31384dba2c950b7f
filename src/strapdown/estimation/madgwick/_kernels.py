"""One sample into the Madgwick filter; its state is that of the classical filters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import DROPPED, intake, normalise, orientation
from strapdown.estimation.classical._kernels import (
    ACCEL_NOISE,
    CLASSICAL_SETTINGS,
    FIELD_NOISE,
    FRESH_CLASSICAL,
    Sight,
    descend,
    look,
    noise_of,
    predict,
    tighten_both,
    turn_body,
)
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

BETA: Final = CLASSICAL_SETTINGS  # places in the settings
ZETA: Final = CLASSICAL_SETTINGS + 1
BIAS_CLIP: Final = CLASSICAL_SETTINGS + 2
FRESH: Final = FRESH_CLASSICAL

LEAST_GRADIENT: Final = 1e-12


def step(
    state: FloatArray,
    account: IntArray,
    settings: FloatArray,
    t_ns: int,
    wx: float,
    wy: float,
    wz: float,
    ax: float,
    ay: float,
    az: float,
    mx: float,
    my: float,
    mz: float,
    clipped: int,
) -> None:
    """Predict by the gyro, then go a step of fixed speed down the gradient of both errors."""
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    if s.event == DROPPED:
        return
    before = orientation(state)
    part = predict(state, settings, s)
    sight = look(state, settings, s, ax, ay, az, mx, my, mz)
    span = max(sight.up_wait, sight.north_wait)
    if span > 0.0:
        # A sensor that came more often has had its steps in between.
        up, north = sight.up_wait / span, sight.north_wait / span
        slope = math.hypot(
            math.hypot(up * sight.up_x + north * sight.north_x, north * sight.north_z),
            up * sight.up_y + north * sight.north_y,
        )
        if slope > LEAST_GRADIENT:
            # The gradient of two unit vectors turns at most so fast: no step overshoots.
            length = 2.0 * settings[BETA] * span
            size = min(length / slope, 1.0 / (up + north))
            learning = settings[ZETA] / settings[BETA]
            descend(state, sight, size * up, size * north, learning, settings[BIAS_CLIP])
            # A slope below its noise is small by chance: it makes no step more certain.
            size = min(size, length / usual_slope(settings, sight))
            tighten_both(state, settings, sight, size * up, size * north)
    turn_body(state, s, 1.0 - part)
    normalise(state, *before)


def usual_slope(settings: FloatArray, sight: Sight) -> float:
    """Return how large the noise alone makes the gradient."""
    if sight.up_wait > 0.0:
        return math.sqrt(noise_of(settings[ACCEL_NOISE] / STANDARD_GRAVITY, sight.up_wait))
    return math.sqrt(noise_of(settings[FIELD_NOISE], sight.north_wait))
