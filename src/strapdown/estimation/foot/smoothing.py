"""Backward pass of the smoother of the foot-mounted navigator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._kernels.kernel import kernel
from strapdown.estimation.foot.filter import MOST, write
from strapdown.estimation.navigation.smoothing import smooth, step_back, untake
from strapdown.estimation.navigation.state import POSITION, SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.estimation.foot.filter import FootRow, Passage
    from strapdown.estimation.navigation.errors import Correction
    from strapdown.estimation.navigation.smoothing import Adjoint


@kernel
def back(
    adjoint: Sequence[Adjoint],
    correction: Sequence[Correction],
    passages: Sequence[Passage],
    rows: Sequence[FootRow],
) -> None:
    """Write the smoothed estimates, from the last sample to the first."""
    a = adjoint[0]
    for i in range(len(passages) - 1, -1, -1):
        known, tape = passages[i].known, passages[i].tape
        if not known.aligned:
            continue
        smooth(a, correction[0], known)
        write(rows[i], known)
        if tape.new_floor:
            cut_floor(a)
            for k in range(SIZE):
                rows[i].lift -= tape.with_floor[k] * a.vector[k][0]
        for number in range(MOST - 1, -1, -1):
            if tape.variances[number] > 0.0:
                untake(a, tape.slopes[number], tape, number)
        if tape.h > 0.0:
            step_back(a, tape)


@kernel
def cut_floor(a: Adjoint) -> None:
    """Clear the height in the adjoint, as heights before a new floor are independent."""
    up = POSITION + 2
    a.vector[up][0] = 0.0
    for k in range(SIZE):
        a.matrix[up][k] = a.matrix[k][up] = 0.0
