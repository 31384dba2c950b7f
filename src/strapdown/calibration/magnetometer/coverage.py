"""Coverage of the sphere by directions: 32 facets of equal area, and the largest empty cone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray

__all__ = [
    "FACETS",
    "FACET_SAMPLES",
    "RINGS",
    "Coverage",
    "cells_of",
    "coverage_of",
    "covered_share",
    "facet_of",
    "ring_edges",
    "spiral",
]

RINGS: Final = (1, 6, 9, 9, 6, 1)
"""Facets of each ring, from +z to -z: two caps, and rings whose facets are about square."""
FACETS: Final = sum(RINGS)
FACET_SAMPLES: Final = 5
"""Samples that make a facet count as covered."""
DIRECTIONS: Final = 2_000  # candidates for the axis of the largest empty cone: 4 deg apart
CELLS: Final = 40  # samples are thinned to a grid of 1/40 of the radius


@dataclass(frozen=True, eq=False)
class Coverage:
    """Directions that a set of samples covers.

    Parameters
    ----------
    counts : (32,) int
        Samples in each facet.
    share : float
        Facets with at least 5 samples, as a part of 32.
    empty_cone_deg : float
        Half angle of the largest cone without a sample in a covered facet [deg].
    empty_axis : (3,)
        Its axis.
    """

    counts: IntArray
    share: float
    empty_cone_deg: float
    empty_axis: FloatArray


def ring_edges() -> FloatArray:
    """Return the heights (7,) of the edges of the rings, from 1 to -1."""
    edges: FloatArray = 1.0 - 2.0 * np.concatenate([[0.0], np.cumsum(RINGS)]) / FACETS
    return edges


def facet_of(directions: FloatArray) -> IntArray:
    """Return the facet (N,), 0 to 31, of each unit vector (N, 3).

    A ring between two heights has an area in proportion to their difference (Archimedes), so
    facets of equal area need heights in proportion to their number.
    """
    rings = np.array(RINGS)
    first = np.concatenate([[0], np.cumsum(rings)[:-1]])
    ring = np.clip(np.searchsorted(-ring_edges(), -directions[:, 2], "right") - 1, 0, 5)
    turns = np.arctan2(directions[:, 1], directions[:, 0]) / (2.0 * np.pi) % 1.0
    sector = np.minimum(turns * rings[ring], rings[ring] - 1).astype(np.int64)
    facets: IntArray = first[ring] + sector
    return facets


def coverage_of(directions: FloatArray) -> Coverage:
    """Return the coverage by unit vectors (N, 3).

    Samples in facets that are not covered are not counted on for the empty cone either.
    """
    facets = facet_of(directions)
    counts = np.bincount(facets, minlength=FACETS)
    covered = counts >= FACET_SAMPLES
    axes, cells = spiral(DIRECTIONS), cells_of(directions[covered[facets]], CELLS)
    cells /= np.linalg.norm(cells, axis=1, keepdims=True)
    nearest = np.full(DIRECTIONS, -1.0)
    for start in range(0, len(cells), 1_000):
        np.maximum(nearest, (axes @ cells[start : start + 1_000].T).max(axis=1), out=nearest)
    emptiest = int(nearest.argmin())
    cone_deg = float(np.arccos(np.clip(nearest[emptiest], -1.0, 1.0)) / RAD_PER_DEG)
    return Coverage(counts, float(covered.mean()), cone_deg, axes[emptiest])


def covered_share(directions: FloatArray) -> float:
    """Return the part of the facets that have at least 5 of the unit vectors (N, 3)."""
    counts = np.bincount(facet_of(directions), minlength=FACETS)
    return float(np.mean(counts >= FACET_SAMPLES))


def cells_of(points: FloatArray, cells: int) -> FloatArray:
    """Return the centres (M, 3) of the cubes of side 1/cells that contain points (N, 3)."""
    cube = np.round(cells * np.clip(points, -2.0, 2.0)).astype(np.int64)
    width = 4 * cells + 1
    key = np.unique((cube + 2 * cells) @ [width * width, width, 1])
    axes = np.column_stack([key // width**2, key // width % width, key % width])
    centres: FloatArray = (axes - 2 * cells) / cells
    return centres


def spiral(count: int) -> FloatArray:
    """Return unit vectors (count, 3) spread evenly: a spiral with the golden angle."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + np.sqrt(5.0)) * k
    radius = np.sqrt(1.0 - z * z)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z])
