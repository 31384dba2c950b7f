"""Normal gravity against the published values and the closed form of the potential."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import FrameError, ValueRangeError
from strapdown.geometry.gravity import gravity_world, normal_gravity

GM, OMEGA, A, B = 3.986004418e14, 7.292115e-5, 6378137.0, 6356752.3142  # WGS 84
FOCUS = np.sqrt(A**2 - B**2)


def harmonic(u):
    """Heiskanen and Moritz, Physical Geodesy, eq. 2-58, and its derivative."""
    arc = np.arctan(FOCUS / u)
    value = 0.5 * ((1 + 3 * u**2 / FOCUS**2) * arc - 3 * u / FOCUS)
    slope = 3 * u / FOCUS**2 * arc - 0.5 * (1 + 3 * u**2 / FOCUS**2) * FOCUS / (u**2 + FOCUS**2)
    return value, slope - 1.5 / FOCUS


def gravity_above_the_pole(height):
    u = B + height
    flattening_part = OMEGA**2 * A**2 * harmonic(u)[1] / harmonic(B)[0] / 3
    return GM / (u**2 + FOCUS**2) - flattening_part


def gravity_above_the_equator(height):
    radius = A + height
    u = np.sqrt(radius**2 - FOCUS**2)
    flattening_part = -(OMEGA**2) * A**2 * harmonic(u)[1] / harmonic(B)[0] / 6
    return (GM / radius**2 - flattening_part) * radius / u - OMEGA**2 * radius


@pytest.mark.parametrize(
    ("degrees", "expected", "tolerance"),
    [
        (0, 9.7803253359, 1e-12),
        (90, 9.8321849378, 2e-10),
        (-90, 9.8321849378, 2e-10),
        (45, 9.80619777, 5e-9),
    ],
)
def test_the_published_values_on_the_ellipsoid(degrees, expected, tolerance):
    assert normal_gravity(np.radians(degrees), 0.0) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("height", [-400.0, 0.0, 1e3, 1e4, 2e4])
def test_the_series_in_height_follows_the_closed_form_of_the_potential(height):
    # the slope leaves out squares of the flattening: some 1e-5 of 3.1e-6 /s^2
    tolerance = 2e-9 + 1.2e-10 * abs(height)
    assert normal_gravity(np.pi / 2, height) == pytest.approx(
        gravity_above_the_pole(height), abs=tolerance
    )
    assert normal_gravity(0.0, height) == pytest.approx(
        gravity_above_the_equator(height), abs=tolerance
    )


def test_latitudes_and_heights_broadcast_and_nan_goes_through():
    g = normal_gravity([[0.0], [np.nan]], [0.0, 100.0, np.nan])
    assert np.isnan(g).tolist() == [[False, False, True], [True] * 3]
    assert normal_gravity(0.5, 0.0) == normal_gravity(-0.5, 0.0)


def test_a_latitude_in_degrees_is_refused():
    with pytest.raises(ValueRangeError, match=r"got 45\.0; convert degrees"):
        normal_gravity([0.1, 45.0], 0.0)


@pytest.mark.parametrize(
    ("world", "down"),
    [
        ("ENU", (0, 0, -1)),
        ("NED", (0, 0, 1)),
        ("NWU", (0, 0, -1)),
        ("NUE", (0, -1, 0)),
        ("EUN", (0, -1, 0)),
    ],
)
def test_gravity_points_down_in_every_world(world, down):
    assert gravity_world(world).tolist() == [9.80665 * part for part in down]
    assert gravity_world(world, 1.62).tolist() == [1.62 * part for part in down]


def test_gravity_of_a_body_frame_is_refused():
    with pytest.raises(FrameError, match="ENU -> FLU"):
        gravity_world("FLU")
