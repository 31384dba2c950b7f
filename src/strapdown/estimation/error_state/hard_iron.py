"""Hard iron of a magnetometer, from the strength of the field in all attitudes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.estimation.error_state.recording import all_three, median
from strapdown.samples.sample import MAX_FIELD, MIN_FIELD

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

INTERVAL_NS: Final = 100_000_000  # interval of the samples that are used
LEAST_SAMPLES: Final = 100  # and their least number
ROUNDS: Final = 20
SETTLED: Final = 1e-6  # of the strength: convergence of the centre
CUT: Final = 2.0  # robust standard deviations at which the weight is 1/2
LEAST_SPREAD: Final = 0.03  # variance of the directions along the worst axis (1/3: uniform)
LEAST_OFFSET: Final = 0.1  # of the strength: a weaker magnet averages out in rotation
EVIDENCE: Final = 0.5  # least reduction of the spread of the strength, as a ratio


@dataclass(frozen=True)
class HardIron:
    """Field of magnets that turn with the sensor, in the unit and the body axes of the series."""

    offset: FloatArray
    sigma: FloatArray


def hard_iron(series: ImuSeries) -> HardIron | None:
    """Fit a sphere to the readings; return its centre, or None if it is not determined clearly.

    A magnet fixed to the sensor makes the strength of the field depend on attitude. A magnet in
    the room, or one that is attached for a while, does not do so consistently, and a recording
    without rotation about two axes does not determine the centre.
    """
    field = series.magnetic_field
    if field is None:
        return None
    good = np.flatnonzero(all_three(np.abs(field) < MAX_FIELD))
    rows = good[np.unique(series.t_ns[good] // INTERVAL_NS, return_index=True)[1]]
    m = field[rows]
    m = m[(m * m).sum(axis=1) > MIN_FIELD**2]
    if len(m) < LEAST_SAMPLES:
        return None
    strength = np.linalg.norm(m, axis=1)
    unit = median(strength)
    m = m / unit
    design = np.column_stack([2.0 * m, np.ones(len(m))])
    x = np.linalg.lstsq(design, (m * m).sum(axis=1), rcond=None)[0]
    centre, radius = x[:3], float(np.sqrt(max(x[3] + x[:3] @ x[:3], 0.0)))
    for _ in range(ROUNDS):
        away = m - centre
        distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
        off = distance - radius
        scale = _scatter(off) + 1e-9
        weight = 1.0 / (1.0 + (off / (CUT * scale)) ** 2)
        slopes = np.column_stack([away / distance[:, None], np.ones(len(m))])
        normal = slopes.T @ (weight[:, None] * slopes)
        move = np.linalg.lstsq(normal, slopes.T @ (weight * off), rcond=None)[0]
        centre, radius = centre + move[:3], radius + move[3]
        if np.abs(move).max() < SETTLED:
            break
    if np.linalg.norm(centre) < LEAST_OFFSET * radius:
        return None
    clear = scale < EVIDENCE * _scatter(strength / unit)
    if not clear or not np.linalg.eigvalsh(np.cov((away / distance[:, None]).T))[0] > LEAST_SPREAD:
        return None
    sigma = scale * np.sqrt(np.diag(np.linalg.inv(normal))[:3])
    return HardIron(unit * centre, unit * sigma)


def _scatter(x: FloatArray) -> float:
    """Return a robust standard deviation, from the median absolute deviation."""
    return 1.4826 * median(np.abs(x - median(x)))
