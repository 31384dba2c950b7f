"""Last four seconds of a fall detector, in a ring of cells of 20 ms.

Each cell holds the sums and extremes that a decision needs. Memory is thus independent of the
sampling rate, and the cost of a sample is constant; only a new or higher peak evaluates a second,
and a decision four.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.geometry.vectors import clear, square

if TYPE_CHECKING:
    from strapdown._typing import Three

CELL_NS: Final = 20_000_000
CELLS: Final = 208  # four seconds and some
SECOND: Final = 50  # cells
STRIDE: Final = 5  # cells between the starts of the seconds whose spread is computed
FAR: Final = 1e6
FREE: Final = 1.5  # m/s^2: below it a device falls, not a person


class Cell(Record):
    """Measurements of 20 ms; a sample is weighted by the time since the one before it."""

    number: int = -1  # counted from the beginning
    covered: float = 0.0  # measured time [s]
    force: Vector = filled(3)  # integral of specific force
    lowest: float = FAR  # smallest specific force [m/s^2], and its time [ns after the beginning]
    lowest_at_ns: int = 0
    low_for: float = 0.0  # time below the low threshold [s],
    free_for: float = 0.0  # and near zero
    fastest: float = 0.0  # largest turn rate [rad/s]
    smooth: Vector = filled(3)  # integrals of the smooth force,
    products: Vector = filled(6)  # and of its products: xx yy zz xy xz yz


@kernel
def empty(cell: Cell, number: int) -> None:
    """Reset a cell for another 20 ms."""
    cell.number = number
    cell.covered = cell.low_for = cell.free_for = cell.fastest = 0.0
    cell.lowest = FAR
    cell.lowest_at_ns = 0
    clear(cell.force)
    clear(cell.smooth)
    clear(cell.products)


@kernel
def add(
    cell: Cell, weight: float, force: Vector, norm: float, low: float, smooth: Vector, at_ns: int
) -> None:
    """Add a sample to its cell; ``low`` is the threshold of low specific force."""
    cell.covered += weight
    for k in range(3):
        cell.force[k] += weight * force[k]
        cell.smooth[k] += weight * smooth[k]
    if norm < cell.lowest:
        cell.lowest = norm
        cell.lowest_at_ns = at_ns
    if norm < low:
        cell.low_for += weight
    if norm < FREE:
        cell.free_for += weight
    x, y, z = smooth[0], smooth[1], smooth[2]
    cell.products[0] += weight * x * x
    cell.products[1] += weight * y * y
    cell.products[2] += weight * z * z
    cell.products[3] += weight * x * y
    cell.products[4] += weight * x * z
    cell.products[5] += weight * y * z


@kernel
def mean_force(cells: list[Cell], first: int, last: int) -> tuple[float, Three]:
    """Return the measured share of a range of cells, and their mean specific force."""
    covered = x = y = z = 0.0
    for number in range(max(first, 0), last):
        cell = cells[number % CELLS]
        if cell.number == number:
            covered += cell.covered
            x += cell.force[0]
            y += cell.force[1]
            z += cell.force[2]
    if covered <= 0.0:
        return 0.0, (0.0, 0.0, 0.0)
    share = covered / ((last - first) * CELL_NS * 1e-9)
    return share, (x / covered, y / covered, z / covered)


@kernel
def fastest_turn(cells: list[Cell], first: int, last: int) -> float:
    """Return the largest turn rate in a range of cells."""
    largest = 0.0
    for number in range(max(first, 0), last):
        cell = cells[number % CELLS]
        if cell.number == number:
            largest = max(largest, cell.fastest)
    return largest


@kernel
def horizontal_spread(cells: list[Cell], first: int, last: int, vertical: Three) -> float:
    """Return the largest standard deviation across a vertical over a second within cells."""
    x, y, z = vertical
    length = math.sqrt(square(vertical))
    if length > 0.0:
        x, y, z = x / length, y / length, z / length
    largest = 0.0
    for begin in range(first, last - SECOND + 1, STRIDE):
        largest = max(largest, sway(cells, begin, begin + SECOND, (x, y, z)))
    return largest


@kernel
def sway(cells: list[Cell], first: int, last: int, across: Three) -> float:
    """Return the standard deviation of the smooth force across a unit vector (0: in all axes)."""
    covered = sx = sy = sz = xx = yy = zz = xy = xz = yz = 0.0
    for number in range(max(first, 0), last):
        cell = cells[number % CELLS]
        if cell.number == number:
            covered += cell.covered
            sums, products = cell.smooth, cell.products
            sx, sy, sz = sx + sums[0], sy + sums[1], sz + sums[2]
            xx, yy, zz = xx + products[0], yy + products[1], zz + products[2]
            xy, xz, yz = xy + products[3], xz + products[4], yz + products[5]
    if covered <= 0.0:
        return 0.0
    sx, sy, sz = sx / covered, sy / covered, sz / covered
    vxx, vyy, vzz = xx / covered - sx * sx, yy / covered - sy * sy, zz / covered - sz * sz
    vxy, vxz, vyz = xy / covered - sx * sy, xz / covered - sx * sz, yz / covered - sy * sz
    x, y, z = across
    along = x * x * vxx + y * y * vyy + z * z * vzz
    along += 2.0 * (x * y * vxy + x * z * vxz + y * z * vyz)
    return math.sqrt(max(vxx + vyy + vzz - along, 0.0))
