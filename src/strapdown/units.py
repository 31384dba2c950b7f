"""Constants, and conversions between SI and the units of devices and files.

Inside the package everything is SI, angles are radians and time is integer nanoseconds.
"""

import math
from decimal import Decimal
from typing import Final

from strapdown.errors import ValueRangeError

__all__ = [
    "GAUSS",
    "MICROTESLA",
    "NS_PER_MS",
    "NS_PER_S",
    "NS_PER_US",
    "RAD_PER_DEG",
    "STANDARD_GRAVITY",
    "ns_from_decimal_seconds",
]

STANDARD_GRAVITY: Final = 9.80665
"""Standard acceleration of free fall [m/s^2] (CGPM 1901)."""

RAD_PER_DEG: Final = math.pi / 180.0
"""One degree [rad]."""

MICROTESLA: Final = 1e-6
"""One microtesla [T]."""

GAUSS: Final = 1e-4
"""One gauss [T]."""

NS_PER_US: Final = 1_000
"""One microsecond [ns]."""

NS_PER_MS: Final = 1_000_000
"""One millisecond [ns]."""

NS_PER_S: Final = 1_000_000_000
"""One second [ns]."""


def ns_from_decimal_seconds(text: str) -> int:
    """Read a decimal number of seconds as whole nanoseconds, without a float in between.

    A float64 holds today's epoch in steps of 238 ns; decimal text is exact.

    Parameters
    ----------
    text : str
        Decimal seconds, such as ``"1700000000.123456789"``.

    Returns
    -------
    int
        Nanoseconds, rounded half to even where the text has more than nine decimals.

    Raises
    ------
    ValueRangeError
        The text is not a finite number, or does not fit in 64 bits of nanoseconds.
    """
    try:
        nanoseconds = Decimal(text.strip()) * NS_PER_S
        whole = int(nanoseconds.to_integral_value()) if abs(nanoseconds) <= 2**63 else None
    except (ArithmeticError, ValueError):
        whole = None
    if whole is None or whole == 2**63:
        raise ValueRangeError(
            f"expected a time in decimal seconds below 2^63 ns, got {text.strip()[:40]!r}"
        )
    return whole
