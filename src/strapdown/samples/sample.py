"""One sample of an inertial measurement unit: for users, and for kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.errors import ShapeError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import Three
    from strapdown.series import ImuSeries

    Numbers: TypeAlias = tuple[int, *tuple[float, ...]]  # of a Sample, its stamp first

__all__ = [
    "MAX_FIELD",
    "MAX_FORCE",
    "MAX_RATE",
    "MIN_FIELD",
    "ImuSample",
    "Sample",
    "SampleColumns",
    "as_three",
    "checked_stamp",
    "numbers_of",
    "usable",
]

_ABSENT: Final = (math.nan, math.nan, math.nan)

# Larger values are implausible; values below these limits cause no overflow.
MAX_RATE: Final = 1e4  # rad/s
MAX_FORCE: Final = 1e5  # m/s^2
MAX_FIELD: Final = 1e6  # T, or any other unit of the field
MIN_FIELD: Final = 1e-9


_set: Final = object.__setattr__  # a frozen class writes its fields once


@dataclass(frozen=True, slots=True, init=False)
class ImuSample:
    """Measurements of an inertial measurement unit at one time, in FLU body axes.

    The vectors may be any three numbers (tuple, list, array); they are stored as tuples of
    floats. A vector that was not measured is ``None``.

    Parameters
    ----------
    t_ns : int
        Time of the sample [ns].
    angular_velocity : sequence of 3 float, optional
        [rad/s, FLU].
    specific_force : sequence of 3 float, optional
        [m/s^2, FLU]: at rest +9.81 on the up axis.
    magnetic_field : sequence of 3 float, optional
        [T, FLU].
    gyro_clipping, accel_clipping : int, optional
        Axes that were saturated: bits X=1, Y=2, Z=4.

    Raises
    ------
    ShapeError
        A vector is not three numbers.
    """

    t_ns: int
    angular_velocity: Three | None
    specific_force: Three | None
    magnetic_field: Three | None
    gyro_clipping: int
    accel_clipping: int

    def __init__(
        self,
        t_ns: int,
        angular_velocity: Iterable[float] | None,
        specific_force: Iterable[float] | None,
        magnetic_field: Iterable[float] | None = None,
        gyro_clipping: int = 0,
        accel_clipping: int = 0,
    ) -> None:
        w = None if angular_velocity is None else as_three(angular_velocity, "angular_velocity")
        f = None if specific_force is None else as_three(specific_force, "specific_force")
        m = None if magnetic_field is None else as_three(magnetic_field, "magnetic_field")
        _set(self, "t_ns", t_ns)
        _set(self, "angular_velocity", w)
        _set(self, "specific_force", f)
        _set(self, "magnetic_field", m)
        _set(self, "gyro_clipping", gyro_clipping)
        _set(self, "accel_clipping", accel_clipping)

    def vectors(self) -> tuple[Three, Three, Three]:
        """Return angular velocity, specific force and magnetic field, NaN where not measured."""
        return (
            self.angular_velocity or _ABSENT,  # a tuple of three is never false
            self.specific_force or _ABSENT,
            self.magnetic_field or _ABSENT,
        )

    def clipping(self) -> int:
        """Return the saturated axes as bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32."""
        return self.gyro_clipping & 7 | (self.accel_clipping & 7) << 3


def as_three(value: Iterable[float] | None, name: str) -> Three:
    """Return a vector as three floats, NaN where it was not measured.

    Raises
    ------
    ShapeError
        It is not three numbers.
    """
    if value is None:
        return _ABSENT
    try:
        x, y, z = value.tolist() if type(value) is np.ndarray else value
        return float(x), float(y), float(z)
    except (TypeError, ValueError):
        raise ShapeError(f"expected {name} as three numbers or None, got {value!r:.80}") from None


def checked_stamp(t_ns: int) -> int:
    """Return a stamp that fits in 64 bits.

    Raises
    ------
    ValueRangeError
        It does not.
    """
    if not -(2**63) <= t_ns < 2**63:
        raise ValueRangeError(f"expected t_ns in 64 bits of nanoseconds, got {t_ns}")
    return int(t_ns)


def numbers_of(
    sample: ImuSample | int,
    angular_velocity: Iterable[float] | None = None,
    specific_force: Iterable[float] | None = None,
    magnetic_field: Iterable[float] | None = None,
    *,
    use_magnetic_field: bool = True,
) -> Numbers:
    """Return the numbers of a :class:`Sample`, from a sample or from its stamp and vectors.

    Raises
    ------
    ValueRangeError
        The stamp does not fit in 64 bits.
    ShapeError
        A vector is not three numbers.
    """
    if isinstance(sample, ImuSample):
        w, f, m = sample.vectors()
        if not use_magnetic_field:
            m = _ABSENT
        return checked_stamp(sample.t_ns), *w, *f, *m, sample.clipping()
    w = as_three(angular_velocity, "angular_velocity")
    f = as_three(specific_force, "specific_force")
    m = as_three(magnetic_field, "magnetic_field")
    return checked_stamp(sample), *w, *f, *m, 0


class Sample(Record):
    """Sample as a record for kernels; a vector that was not measured is NaN."""

    t_ns: int = 0
    angular_velocity: Vector = filled(3, math.nan)  # [rad/s, FLU]
    specific_force: Vector = filled(3, math.nan)  # [m/s^2, FLU]
    magnetic_field: Vector = filled(3, math.nan)  # [T, FLU]
    clipping: int = 0  # bits: gyro X=1 Y=2 Z=4, accelerometer X=8 Y=16 Z=32


class SampleColumns:
    """Columns of a recording in FLU, which are read in blocks of samples.

    Parameters
    ----------
    series : ImuSeries
        In FLU body axes.
    use_magnetic_field : bool
        False omits the magnetometer.
    """

    def __init__(self, series: ImuSeries, *, use_magnetic_field: bool) -> None:
        self.t_ns = series.t_ns
        self._vectors = {
            "angular_velocity": series.angular_velocity,
            "specific_force": series.specific_force,
            "magnetic_field": series.magnetic_field if use_magnetic_field else None,
        }
        self._clipping = ((series.gyro_clipping, 0), (series.accel_clipping, 3))

    def __len__(self) -> int:
        return len(self.t_ns)

    def block(self, first: int, last: int) -> RecordArray:
        """Return the samples from ``first`` to before ``last``."""
        samples = np.zeros(len(self.t_ns[first:last]), Sample.dtype())
        samples["t_ns"] = self.t_ns[first:last]
        for name, column in self._vectors.items():
            samples[name] = math.nan if column is None else column[first:last]
        for bits, shift in self._clipping:
            if bits is not None:
                samples["clipping"] |= (bits[first:last] & 7).astype(np.int64) << shift
        return samples


@kernel
def usable(vector: Sequence[float], limit: float) -> bool:
    """Whether a vector is finite and plausible (a comparison with NaN is false)."""
    return abs(vector[0]) < limit and abs(vector[1]) < limit and abs(vector[2]) < limit
