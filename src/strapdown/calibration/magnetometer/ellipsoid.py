"""Hard and soft iron of a magnetometer from readings in many attitudes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from strapdown.calibration.magnetometer.coverage import FACETS, cells_of, covered_share
from strapdown.calibration.magnetometer.describe import FULL_COVERAGE, TURN_MORE, described
from strapdown.calibration.magnetometer.readings import Readings, disturbed_rows, read
from strapdown.calibration.magnetometer.surface import (
    BASES,
    Surface,
    fit_surface,
    with_unknown_iron,
)
from strapdown.errors import UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.calibration.magnetometer.result import MagnetometerFit
    from strapdown.series import ImuSeries

__all__ = ["ellipsoid", "fit_readings"]

Kind = Literal["auto", "hard", "diagonal", "full"]

LEAST_SAMPLES: Final = 40
LEAST_COVERAGE: Final = 0.25  # below: no calibration
FLAT: Final = 0.04  # of the radius: readings of this thickness are in a plane
FLAT_CELLS: Final = 40  # readings are thinned to a grid of 1/40 of the radius
UNKNOWN_IRON: Final = 0.05  # soft iron that a small part of the sphere does not show
STRETCHED: Final = 10.0  # ratio of the axes beyond which an ellipsoid is no soft iron


def ellipsoid(
    magnetic_field: ImuSeries | ArrayLike, *, norm: float | None = None, kind: Kind = "auto"
) -> MagnetometerFit:
    """Calibrate a magnetometer from readings in many attitudes in one place.

    The readings ``s`` of a sensor that turns in a constant field are on an ellipsoid; ``m = A (s
    - b)`` maps it to a sphere. ``b`` is the field of magnets on the device (hard iron), the
    symmetric ``A`` corrects scales, cross-axis errors and the iron that bends the field (soft
    iron). A rotation of the sensor relative to the IMU remains:
    :func:`~strapdown.calibration.align_magnetometer`.

    Parameters
    ----------
    magnetic_field : ImuSeries or (N, 3)
        Readings in T, gauss, uT, nT or counts; the unit is recognised from their norm. With a
        series, intervals in which the field changes while the sensor turns slowly are left out.
    norm : float, optional
        Norm of the local field [T]; 1 normalises. By default the sensor's mean scale is kept,
        and readings in counts are normalised.
    kind : {"auto", "hard", "diagonal", "full"}
        Parameters: 3 of the bias and the common scale; 6 with scales of the axes; 9. By default
        chosen by the coverage (below 0.5: ``hard``, with the uncertainty of 5 % of soft iron) and
        the Bayesian information criterion.

    Returns
    -------
    MagnetometerFit

    Raises
    ------
    ValueRangeError
        Too few readings, readings in a plane, a coverage below 0.25, or below 0.5 for the given
        kind; a norm that is not positive.
    UnknownNameError
        There is no such kind.
    ShapeError
        The array is not (N, 3).

    References
    ----------
    Q. Li, J. Griffiths: Least squares ellipsoid specific fitting, GMP 2004.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> field = rng.normal(size=(2000, 3))
    >>> field *= 48.0 / np.linalg.norm(field, axis=1, keepdims=True)
    >>> readings = field * [1.0, 1.1, 0.9] + [30.0, -10.0, 5.0] + rng.normal(0.0, 0.2, field.shape)
    >>> fit = ellipsoid(readings)
    >>> fit.kind, fit.unit, fit.triad.bias.round(1).tolist()
    ('diagonal', 'uT', [30.0, -10.0, 5.0])
    """
    if kind not in {"auto", *BASES}:
        raise UnknownNameError("kind of magnetometer calibration", kind, ["auto", *BASES])
    if norm is not None and not 0.0 < norm < np.inf:
        raise ValueRangeError(f"expected norm above 0, got {norm}")
    return fit_readings(read(magnetic_field), norm, kind)


class _Candidate(NamedTuple):
    """Surface of one kind, with the share of the facets that its readings cover."""

    kind: str
    surface: Surface
    share: float


def fit_readings(readings: Readings, norm: float | None, kind: str) -> MagnetometerFit:
    """Return the calibration of usable readings; see :func:`ellipsoid`."""
    chosen, surface = _choose(readings.field, kind)
    # a second fit without the disturbed intervals, which the first one finds
    disturbed = disturbed_rows(readings, surface.strength(readings.field))
    if disturbed.any():
        chosen, surface = _choose(readings.field[~disturbed], kind)
    return described(chosen, surface, readings, disturbed, norm)


def _choose(field: FloatArray, kind: str) -> tuple[str, Surface]:
    """Return the surface of a kind, or the best of those that the coverage allows, and its kind."""
    if len(field) < LEAST_SAMPLES:
        raise ValueRangeError(
            f"expected at least {LEAST_SAMPLES} readings that differ, got {len(field)}; {TURN_MORE}"
        )
    sphere = fit_surface(field, "hard")
    if sphere is None or _is_flat(field, sphere):
        raise ValueRangeError(
            "expected readings around a sphere, got readings in a plane: the bias across the "
            f"plane is not observable; {TURN_MORE}"
        )
    candidates = [_Candidate("hard", sphere, _share(field, sphere, sphere))]
    for other in ("diagonal", "full"):
        surface = fit_surface(field, other) if kind in {"auto", other} else None
        if surface is not None and np.linalg.cond(surface.matrix) < STRETCHED:
            candidates.append(_Candidate(other, surface, _share(field, surface, sphere)))
    cover = candidates[0].share
    if cover < LEAST_COVERAGE:
        raise ValueRangeError(
            f"expected readings in at least {round(LEAST_COVERAGE * FACETS)} of {FACETS} facets "
            f"of the sphere, got {round(cover * FACETS)}; {TURN_MORE}"
        )
    if cover < FULL_COVERAGE and kind in {"auto", "hard"}:
        return "hard", with_unknown_iron(sphere, field, UNKNOWN_IRON)
    usable = [c for c in candidates if c.kind == "hard" or c.share >= FULL_COVERAGE]
    if kind == "auto":
        scale, correlated = min((c.surface.scale, c.surface.correlated) for c in usable)
        best = min(usable, key=lambda c: c.surface.cost(scale, correlated))
        return best.kind, best.surface
    if usable[-1].kind != kind:
        got = round(candidates[-1].share * FACETS)
        raise ValueRangeError(
            f"expected readings in at least {round(FULL_COVERAGE * FACETS)} of {FACETS} facets "
            f"of the sphere for kind {kind}, got {got}; {TURN_MORE}, or pass kind='hard'"
        )
    return kind, usable[-1].surface


def _share(field: FloatArray, surface: Surface, sphere: Surface) -> float:
    """Return the share of the facets that the readings on a surface cover.

    Seen from the centre of the sphere too: an ellipsoid around a small part of it is covered.
    """
    inside = field[~surface.is_outlier]
    return min(covered_share(surface.directions(inside)), covered_share(sphere.directions(inside)))


def _is_flat(field: FloatArray, sphere: Surface) -> bool:
    """Return whether the readings on a sphere are on one of its circles."""
    x = (field[~sphere.is_outlier] - sphere.bias) * sphere.matrix[0, 0]
    cells = cells_of(x, FLAT_CELLS)
    return bool(len(cells) < 4 or np.linalg.eigvalsh(np.cov(cells.T))[0] < FLAT**2)
