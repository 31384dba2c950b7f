"""How samples come in: as numbers that filters and detectors take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ByteArray, IntArray
    from strapdown.samples import ImuSample, Three

__all__ = ["clipping_codes", "sample_values"]

_ABSENT: Final = (math.nan, math.nan, math.nan)


def sample_values(sample: ImuSample) -> tuple[int, Three, Three, Three, int]:
    """Return stamp, rate, force, field and clipping bits as kernels take them.

    Vectors that were not measured are NaN; bits are gyro 1 2 4, accelerometer 8 16 32.

    Raises
    ------
    ValueRangeError
        The stamp does not fit in 64 bits.
    """
    t_ns = sample.t_ns
    if not -(2**63) <= t_ns < 2**63:
        raise ValueRangeError(f"expected t_ns in 64 bits of nanoseconds, got {t_ns}")
    clipped = sample.gyro_clipping & 7 | (sample.accel_clipping & 7) << 3
    values = (
        t_ns,
        sample.angular_velocity or _ABSENT,  # a tuple of three is never false
        sample.specific_force or _ABSENT,
        sample.magnetic_field or _ABSENT,
        clipped,
    )
    return cast("tuple[int, Three, Three, Three, int]", values)


def clipping_codes(gyro: ByteArray | None, accel: ByteArray | None, rows: int) -> IntArray:
    """Return the clipping bits of both sensors as kernels take them, (rows,)."""
    codes = np.zeros(rows, np.int64)
    for shift, bits in ((0, gyro), (3, accel)):
        if bits is not None:
            codes |= (bits & 7).astype(np.int64) << shift
    return codes
