"""Layouts of two public benchmarks in ``.npz``: BROAD and TUM-VI.

* BROAD: ``gyr`` [rad/s], ``acc`` [m/s^2], ``mag`` [uT], ``ref`` (w x y z), ``pos`` [m], ``mov``
  and the rate ``fs`` [Hz]; all rows belong together.
* TUM-VI: ``t_ns``, ``gyr`` [rad/s], ``acc`` [m/s^2], and the reference ``gt_t_ns``, ``gt``
  (x y z [m], then w x y z).

The body axes are those of the sensor, labelled FLU here; both worlds have z up and are labelled ENU
(the heading of TUM-VI is arbitrary).

References
----------
D. Laidig et al., BROAD, Data 6(7):72, 2021. D. Schubert et al., The TUM VI Benchmark, IROS 2018.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown.errors import FormatError
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import MICROTESLA, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from strapdown._typing import AnyArray

__all__ = ["BROAD", "TUMVI", "ArrayKind", "broad_series", "tumvi_series"]


class ArrayKind(NamedTuple):
    """Requirements of an array: its type, the array whose rows it shares, the shape of a row."""

    kind: str
    rows: str | None = None
    tail: tuple[int, ...] = ()


_SMALLEST_RATE, _LARGEST_RATE = 1e-2, 1e6
BROAD: Final = {
    "gyr": ArrayKind("f", "gyr", (3,)),
    "acc": ArrayKind("f", "gyr", (3,)),
    "mag": ArrayKind("f", "gyr", (3,)),
    "ref": ArrayKind("f", "gyr", (4,)),
    "pos": ArrayKind("f", "gyr", (3,)),
    "mov": ArrayKind("b", "gyr"),
    "fs": ArrayKind("f"),
}
TUMVI: Final = {
    "gyr": ArrayKind("f", "gyr", (3,)),
    "acc": ArrayKind("f", "gyr", (3,)),
    "t_ns": ArrayKind("i", "gyr"),
    "gt": ArrayKind("f", "gt", (7,)),
    "gt_t_ns": ArrayKind("i", "gt"),
}


def broad_series(path: Path, arrays: Mapping[str, AnyArray]) -> tuple[ImuSeries, Trajectory]:
    """Return the IMU and the reference of a BROAD trial.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    arrays : mapping of str to ndarray
        ``gyr``, ``acc``, ``mag``, ``ref``, ``pos``, ``mov`` and ``fs``, as in the module's text.

    Raises
    ------
    FormatError
        An array has another shape, or the rate is out of range.
    """
    _check_shapes(path, arrays, BROAD)
    fs = float(arrays["fs"])
    if not _SMALLEST_RATE <= fs <= _LARGEST_RATE:
        raise FormatError(
            f"expected a rate fs of {_SMALLEST_RATE:g} to {_LARGEST_RATE:g} Hz, got {fs}", path=path
        )
    period_ns = NS_PER_S / Fraction(fs).limit_denominator(1000)  # 285.714... is 2000/7 Hz
    t_ns = np.rint(np.arange(len(arrays["gyr"])) * float(period_ns)).astype(np.int64)
    imu = ImuSeries(t_ns, arrays["gyr"], arrays["acc"], magnetic_field=arrays["mag"] * MICROTESLA)
    return imu, Trajectory(
        t_ns,
        quaternion.from_wxyz(arrays["ref"]),
        position_world=arrays["pos"],
        moving=arrays["mov"],
        name="reference",
    )


def tumvi_series(path: Path, arrays: Mapping[str, AnyArray]) -> tuple[ImuSeries, Trajectory]:
    """Return the IMU and the reference of a TUM-VI sequence, as :func:`broad_series`."""
    _check_shapes(path, arrays, TUMVI)
    gt = arrays["gt"]
    return ImuSeries(arrays["t_ns"], arrays["gyr"], arrays["acc"]), Trajectory(
        arrays["gt_t_ns"],
        quaternion.from_wxyz(gt[:, 3:]),
        position_world=gt[:, :3],
        name="reference",
    )


def _check_shapes(
    path: Path, arrays: Mapping[str, AnyArray], layout: Mapping[str, ArrayKind]
) -> None:
    for name, kind in layout.items():
        rows = () if kind.rows is None else arrays[kind.rows].shape[:1]
        if arrays[name].shape != (*rows, *kind.tail):
            raise FormatError(
                f"expected array {name} of shape {(*rows, *kind.tail)}, got {arrays[name].shape}",
                path=path,
            )
