"""One sample of an inertial measurement unit, as streaming algorithms take it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from strapdown.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ImuSample"]

Three: TypeAlias = tuple[float, float, float]
_ABSENT: Final = (math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class ImuSample:
    """What an inertial measurement unit measured at one time, in FLU body axes.

    The vectors may be any three numbers (tuple, list, array); they are kept as tuples of
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
    angular_velocity: Iterable[float] | None
    specific_force: Iterable[float] | None
    magnetic_field: Iterable[float] | None = None
    gyro_clipping: int = 0
    accel_clipping: int = 0

    def __post_init__(self) -> None:
        for name in ("angular_velocity", "specific_force", "magnetic_field"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _as_three(value, name))

    def vectors(self) -> tuple[Three, Three, Three]:
        """Return angular velocity, specific force and magnetic field, NaN where not measured."""
        w = self.angular_velocity or _ABSENT  # a tuple of three is never false
        f = self.specific_force or _ABSENT
        m = self.magnetic_field or _ABSENT
        return cast("tuple[Three, Three, Three]", (w, f, m))


def _as_three(value: Iterable[float], name: str) -> Three:
    try:
        x, y, z = value
        return float(x), float(y), float(z)
    except (TypeError, ValueError):
        raise ShapeError(f"expected {name} as three numbers or None, got {value!r:.80}") from None
