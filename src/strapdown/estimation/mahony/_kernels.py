"""One sample into the Mahony filter; its state is that of the classical filters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.estimation._kernels import DROPPED, gain, intake, normalise, orientation
from strapdown.estimation.classical._kernels import (
    CLASSICAL_SETTINGS,
    FRESH_CLASSICAL,
    descend,
    look,
    predict,
    tighten_both,
    turn_body,
)

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

BORROWS = True

K_P: Final = CLASSICAL_SETTINGS  # places in the settings
K_I: Final = CLASSICAL_SETTINGS + 1
FIELD_WEIGHT: Final = CLASSICAL_SETTINGS + 2
BIAS_CLIP: Final = CLASSICAL_SETTINGS + 3
FRESH: Final = FRESH_CLASSICAL

MOST_ERROR: Final = 0.2  # rad, of which a bias is learnt


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
    """Predict by the gyro, then turn in proportion to the errors of both directions."""
    s = intake(state, account, settings, t_ns, wx, wy, wz, ax, ay, az, mx, my, mz, clipped)
    if s.event == DROPPED:
        return
    before = orientation(state)
    part = predict(state, settings, s)
    sight = look(state, settings, s, ax, ay, az, mx, my, mz)
    span = sight.up_wait + settings[FIELD_WEIGHT] * sight.north_wait
    if span > 0.0:
        # Held over the span; that the error shrinks meanwhile keeps a long one stable.
        size = gain(span, 1.0 / settings[K_P]) / span
        up, north = size * sight.up_wait, size * settings[FIELD_WEIGHT] * sight.north_wait
        # An error that no bias makes is not taken for one: the integral would need minutes
        # to forget it.
        east, above = sight.up_x + sight.north_x, sight.north_z
        error = math.hypot(math.hypot(east, sight.up_y + sight.north_y), above)
        learning = settings[K_I] / settings[K_P] if error < MOST_ERROR else 0.0
        descend(state, sight, up, north, learning, settings[BIAS_CLIP])
        tighten_both(state, settings, sight, up, north)
    turn_body(state, s, 1.0 - part)
    normalise(state, *before)
