"""Columns of positions on the Earth in tables of other programs.

A position is latitude, longitude and altitude; with it a table may have accuracies, taken as
standard deviations, and a velocity along east, north and up. The altitude is kept as it is: a
note states whether its name (``altitude_msl``, ``height_ellipsoidal``) gives a reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.foreign.plan import VectorColumns
from strapdown.series import GnssSeries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.formats.foreign.names import Meaning
    from strapdown.formats.foreign.sheet import Sheet

__all__ = ["PLACES", "altitude_note", "fixes", "places"]

PLACES: Final = ("position", "position_sigma", "velocity")
"""Quantities of a position on the Earth."""
_SLOW_NS: Final = 50_000_000
"""Least step of a table of fixes only; in a faster one repeated positions are no fixes [ns]."""
_SEA_LEVEL: Final = {"msl", "amsl", "sea", "orthometric", "geoid"}
_ELLIPSOID: Final = {"ellipsoid", "ellipsoidal", "hae", "wgs84"}


def places(sheet: Sheet, meanings: Mapping[str, Meaning]) -> dict[str, VectorColumns]:
    """Return the columns of position, accuracy and velocity; nothing where there is no position."""
    axes: dict[str, dict[str, str]] = {}
    for name, meaning in meanings.items():
        if meaning.quantity in PLACES and np.isfinite(sheet.values[name]).any():
            axes.setdefault(meaning.quantity, {}).setdefault(meaning.axis, name)
    found: dict[str, VectorColumns] = {}
    position = axes.get("position", {})
    if not {*"xyz"} <= {*position}:
        return found
    columns = tuple(position[axis] for axis in "xyz")
    found["position"] = VectorColumns(columns, *_unit_of_angles(sheet, columns, meanings))
    sigma = axes.get("position_sigma", {})
    if {*"xz"} <= {*sigma}:
        plane = sigma["x"]
        columns = (plane, sigma.get("y", plane), sigma["z"])
        found["position_sigma"] = VectorColumns(columns, "m", "accuracies by their names")
    velocity = axes.get("velocity", {})
    if {*"xy"} <= {*velocity} and {*"zd"} & {*velocity}:
        up = velocity["z"] if "z" in velocity else f"-{velocity['d']}"
        columns = (velocity["x"], velocity["y"], up)
        found["velocity"] = VectorColumns(columns, "m/s", "east, north and up by their names")
    return found


def fixes(t_ns: IntArray, vectors: Mapping[str, FloatArray]) -> GnssSeries:
    """Return a series from columns in SI units; rows that repeat a position are left out.

    Parameters
    ----------
    t_ns : (N,) int64
        [ns].
    vectors : mapping of str to (N, 3) array
        ``position`` and, where the table has them, the others.
    """
    position = vectors["position"].copy()
    position[~(np.abs(position[:, 0]) <= np.pi / 2.0)] = np.nan
    known: BoolArray = np.asarray(np.isfinite(position[:, :2]).all(axis=1))
    known[1:] &= (position[1:] != position[:-1]).any(axis=1) | (np.diff(t_ns) >= _SLOW_NS)
    latitude, longitude, altitude = position.T
    sigma = np.nan_to_num(vectors.get("position_sigma", np.zeros_like(position)))
    sigma[(sigma <= 0.0).any(axis=1)] = 0.0
    series = GnssSeries(
        t_ns,
        latitude,
        longitude,
        altitude,
        sigma[..., None] ** 2 * np.eye(3),
        velocity_world=vectors.get("velocity"),
    )
    return series[known]


def altitude_note(position: VectorColumns) -> str:
    """Return a line that names what the altitude of a table counts from."""
    name = position.columns[2]
    if any(word in name.lower() for word in _SEA_LEVEL):
        return f"{name} is above mean sea level, and is kept as it is"
    if any(word in name.lower() for word in _ELLIPSOID):
        return f"{name} is above the ellipsoid"
    return f"{name} is taken as above the ellipsoid: its name states no reference"


def _unit_of_angles(
    sheet: Sheet, columns: tuple[str, ...], meanings: Mapping[str, Meaning]
) -> tuple[str, str]:
    """Return the unit of latitude and longitude, and the reason."""
    if (named := meanings[columns[0]].unit) is not None:
        return named, "unit by its name"
    angles = np.abs(np.column_stack([sheet.values[name] for name in columns[:2]]))
    largest = np.nanmax(np.where(np.isfinite(angles), angles, np.nan), axis=0)
    if (largest > 360.0).any():
        return "1e-7 deg", f"values up to {largest.max():.3g}, altitude in mm"
    if (largest <= [np.pi / 2.0, np.pi]).all():
        return "rad", f"values up to {largest.max():.3g} are no usual degrees"
    return "deg", f"values up to {largest.max():.3g}"
