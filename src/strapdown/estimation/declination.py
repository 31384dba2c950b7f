"""Magnetic declination by the World Magnetic Model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from strapdown.errors import BackendMissingError, ValueRangeError
from strapdown.geometry.wgs84 import as_latitude
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from datetime import date

__all__ = ["magnetic_declination"]

FIRST_YEAR: Final = 2010
LAST_YEAR: Final = 2029
"""Years of the models in pygeomag: WMM2010, WMM2015v2, WMM2020 and WMM2025."""


def magnetic_declination(latitude: float, longitude: float, day: date) -> float:
    """Return the angle of magnetic north east of true north, at sea level.

    The World Magnetic Model describes the field of the Earth's core. The field at a place
    differs from it by some tenths of a degree, near iron and ore by any angle.

    Parameters
    ----------
    latitude, longitude : float
        Geodetic position [rad].
    day : date
        From 2010 to 2029.

    Returns
    -------
    float
        [rad]

    Raises
    ------
    ValueRangeError
        The position is none, there is no model of the date, or the place is so close to a
        magnetic pole that the field hardly has a direction (less than 2000 nT are horizontal).
    BackendMissingError
        The extra ``declination`` is not installed.

    References
    ----------
    NOAA NCEI and British Geological Survey, World Magnetic Model,
    https://www.ncei.noaa.gov/products/world-magnetic-model.

    Examples
    --------
    >>> from datetime import date
    >>> import numpy as np
    >>> from strapdown.estimation import magnetic_declination
    >>> zurich = np.radians([47.38, 8.54])
    >>> round(float(np.degrees(magnetic_declination(*zurich, date(2024, 7, 1)))), 1)
    3.5
    """
    try:
        from pygeomag import GeoMag, decimal_year_from_date  # noqa: PLC0415 (an optional package)
    except ImportError:
        raise BackendMissingError(
            "the World Magnetic Model, for the declination at a place,", extra="declination"
        ) from None
    latitude = float(as_latitude(latitude))
    if not (math.isfinite(latitude) and abs(longitude) <= 2.0 * math.pi):
        raise ValueRangeError(
            "expected latitude and longitude as finite numbers [rad], got "
            f"{latitude}, {longitude}; convert degrees"
        )
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise ValueRangeError(
            f"expected a date from {FIRST_YEAR} to {LAST_YEAR}, for which there are World Magnetic "
            f"Models, got {day}; give the declination itself"
        )
    field = GeoMag(base_year=day.year).calculate(
        latitude / RAD_PER_DEG, longitude / RAD_PER_DEG, 0.0, decimal_year_from_date(day)
    )
    if field.in_blackout_zone:
        raise ValueRangeError(
            f"expected a place where magnetic north is defined, got latitude "
            f"{latitude / RAD_PER_DEG:.3f}, longitude {longitude / RAD_PER_DEG:.3f} deg close to a "
            "magnetic pole; leave out the declination, or the magnetometer"
        )
    return float(field.d) * RAD_PER_DEG
