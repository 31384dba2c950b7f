"""Declination against the published test values of the model, and the turn to true north."""

from __future__ import annotations

import sys
from datetime import date

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import BackendMissingError, ValueRangeError
from strapdown.estimation import FILTERS, SMOOTHERS, magnetic_declination

MS = 1_000_000

# NOAA NCEI, WMM2020 and WMM2025 test values at sea level: date, latitude, longitude, D [deg].
# The values for 2027.5 are those of 2 July.
PUBLISHED = [
    (date(2020, 1, 1), 80.0, 0.0, -1.28),
    (date(2020, 1, 1), 0.0, 120.0, 0.16),
    (date(2020, 1, 1), -80.0, 240.0, 69.36),
    (date(2025, 1, 1), 80.0, 0.0, 1.28),
    (date(2025, 1, 1), 0.0, 120.0, -0.16),
    (date(2025, 1, 1), -80.0, 240.0, 68.78),
    (date(2027, 7, 2), 80.0, 0.0, 2.59),
    (date(2027, 7, 2), 0.0, 120.0, -0.24),
    (date(2027, 7, 2), -80.0, 240.0, 68.49),
]


@pytest.mark.parametrize(("day", "latitude", "longitude", "published"), PUBLISHED)
def test_the_published_values_of_the_model(day, latitude, longitude, published):
    angle = magnetic_declination(np.radians(latitude), np.radians(longitude), day)
    assert np.degrees(angle) == pytest.approx(published, abs=0.0075)


@pytest.mark.parametrize(
    ("place", "day", "words"),
    [
        ((47.0, 8.0), date(2030, 1, 1), "expected a date from 2010 to 2029"),
        ((47.0, 8.0), date(2009, 12, 31), "expected a date from 2010 to 2029"),
        ((91.0, 8.0), date(2024, 1, 1), "expected a latitude in -pi/2 ... pi/2 rad"),
        ((np.nan, 8.0), date(2024, 1, 1), "expected latitude and longitude as finite numbers"),
        ((47.0, 400.0), date(2024, 1, 1), "expected latitude and longitude as finite numbers"),
        ((86.0, 140.0), date(2025, 1, 1), "close to a magnetic pole"),
    ],
)
def test_a_place_or_date_without_a_declination_is_refused(place, day, words):
    with pytest.raises(ValueRangeError, match=words):
        magnetic_declination(*np.radians(place), day)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygeomag", None)
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[declination\]'"):
        magnetic_declination(0.8, 0.1, date(2024, 1, 1))


@pytest.mark.parametrize("world", ["ENU", "NED", "NWU", "NUE", "EUN"])
def test_magnetic_north_is_turned_to_the_east_by_the_declination(still, world):
    """A sensor that points along the field has the declination as its heading."""
    readings, _ = still(np.arange(200) * 10 * MS, Rotation.from_euler("ZYX", [90, 5, -8], True))
    result = FILTERS["eskf"]().run(readings.in_frames(world=world))
    true = result.to_true_north(np.radians(12.0)).in_frames(world="ENU")
    heading = 90.0 - Rotation.from_quat(true.q_world_from_body).as_euler("ZYX", degrees=True)[:, 0]
    np.testing.assert_allclose(heading, 12.0, atol=1e-6)
    turn = Rotation.from_euler("z", -12.0, degrees=True).as_matrix()
    magnetic = result.in_frames(world="ENU").orientation_covariance
    np.testing.assert_allclose(
        true.orientation_covariance, turn @ magnetic @ turn.T, rtol=1e-9, atol=1e-15
    )
    assert true.declination == pytest.approx(np.radians(12.0))


def test_the_offset_of_both_headings_goes_along(tumble):
    readings, _ = tumble(np.arange(500) * 10 * MS)
    result = SMOOTHERS["vqf"]().run(readings)
    true = result.to_true_north(-2.0)
    up = np.array([0.0, 0.0, 1.0])
    alone = [  # without the field: by the documentation of heading_offset
        (Rotation.from_rotvec(-r.heading_offset[:, None] * up) * Rotation.from_quat(q)).as_matrix()
        for r, q in ((result, result.q_world_from_body), (true, true.q_world_from_body))
    ]
    np.testing.assert_allclose(*alone, atol=1e-12)


def test_a_declination_needs_a_magnetic_heading(still):
    readings, _ = still(np.arange(20) * 10 * MS)
    relative = FILTERS["eskf"]().run(readings, use_magnetic_field=False)
    with pytest.raises(ValueRangeError, match="got one that refers to the start"):
        relative.to_true_north(0.1)
    true = FILTERS["eskf"]().run(readings).to_true_north(0.1)
    with pytest.raises(ValueRangeError, match="got one that refers to true north"):
        true.to_true_north(0.1)
    for angle in (3.5, np.nan):
        with pytest.raises(ValueRangeError, match="convert degrees"):
            FILTERS["eskf"]().run(readings).to_true_north(angle)
