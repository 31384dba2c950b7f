"""The ellipsoid against the standard's own numbers and against decimal arithmetic."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion, wgs84

A, B = 6378137.0, 6356752.3142451794975  # WGS 84, NGA.STND.0036 table 3.5
LATITUDES = np.radians([-90.0, -89.9999, -60.0, -1e-7, 0.0, 12.0, 45.0, 89.0, 90.0])
HEIGHTS = np.array([-5.0e6, -1e4, 0.0, 500.0, 9e3, 4e5, 2.02e7, 3.6e7, 4e8])


def arctan(x):
    """The angle of a tangent of 0 ... 1, by halving it and the series."""
    halvings = 0
    while abs(x) > Decimal("0.001"):
        x, halvings = x / (1 + (1 + x * x).sqrt()), halvings + 1
    terms = [(-1) ** k * x ** (2 * k + 1) / (2 * k + 1) for k in range(12)]
    return sum(terms) * 2**halvings


def geodetic_in_decimals(from_axis, z):
    """Latitude and height from the foot of the normal, by Newton's method with 50 digits.

    The foot is (a^2 r / (a^2 + s), b^2 z / (b^2 + s)) with s the root that puts it on the ellipse.
    """
    with localcontext() as context:
        context.prec = 50
        f = 1 / Decimal("298.257223563")
        a2, b2 = Decimal(6378137) ** 2, (Decimal(6378137) * (1 - f)) ** 2
        r, z = Decimal(float(from_axis)), Decimal(float(z))
        s = (r * r + z * z).sqrt() * a2.sqrt() - a2  # as on a sphere
        for _ in range(60):
            u, v = a2 * r * r / (a2 + s) ** 2, b2 * z * z / (b2 + s) ** 2
            s += (u + v - 1) / (2 * (u / (a2 + s) + v / (b2 + s)))
        foot_r, foot_z = a2 * r / (a2 + s), b2 * z / (b2 + s)
        height = ((r - foot_r) ** 2 + (z - foot_z) ** 2).sqrt()
        up, out = foot_z / b2, foot_r / a2
        latitude = arctan(up / out) if abs(up) <= out else pi_half() - arctan(out / up)
        return float(latitude), float(height.copy_sign(s))


def pi_half():
    return 2 * arctan(Decimal(1))


def test_latitude_and_height_agree_with_fifty_digits(subtests):
    for degrees, radius in itertools.product(
        [0.0, 1e-6, 30.0, 44.9, 45.1, 60.0, 89.999999, 90.0],
        [1.0e6, 3e6, 6.35e6, 6.37e6, 6.4e6, 7e6, 4.2e7, 4e8],
    ):
        with subtests.test(degrees=degrees, radius=radius):
            check_against_decimals(degrees, radius)


def check_against_decimals(degrees, radius):
    from_axis, z = (
        radius * math.cos(math.radians(degrees)),
        radius * math.sin(math.radians(degrees)),
    )
    latitude, _, height = wgs84.geodetic_from_ecef([from_axis, 0.0, z])
    expected_latitude, expected_height = geodetic_in_decimals(from_axis, z)
    assert abs(latitude - expected_latitude) * radius < 2e-9 * max(1.0, radius / A)
    assert height == pytest.approx(expected_height, abs=2e-9 * max(1.0, radius / A))


@pytest.mark.parametrize(
    ("latitude", "longitude", "height", "expected"),
    [
        (0.0, 0.0, 0.0, (A, 0.0, 0.0)),
        (0.0, 90.0, 100.0, (0.0, A + 100.0, 0.0)),
        (0.0, -180.0, -7.0, (7.0 - A, 0.0, 0.0)),
        (90.0, 33.0, 10.0, (0.0, 0.0, B + 10.0)),
        (-90.0, 0.0, 0.0, (0.0, 0.0, -B)),
    ],
)
def test_positions_on_the_axes_are_the_axes_of_the_ellipsoid(latitude, longitude, height, expected):
    position = wgs84.ecef_from_geodetic(np.radians(latitude), np.radians(longitude), height)
    np.testing.assert_allclose(position, expected, atol=2e-9, rtol=0.0)


@given(st.floats(-math.pi / 2, math.pi / 2), st.floats(-math.pi, math.pi), st.floats(-5e6, 5e7))
def test_there_and_back_again_is_nothing(latitude, longitude, height):
    position = wgs84.ecef_from_geodetic(latitude, longitude, height)
    again = wgs84.ecef_from_geodetic(*wgs84.geodetic_from_ecef(position))
    np.testing.assert_allclose(again, position, atol=3e-9 * max(1.0, (A + height) / A), rtol=0.0)


def test_geodetic_positions_come_back_in_any_shape():
    latitude, height = np.meshgrid(LATITUDES, HEIGHTS)
    back = wgs84.geodetic_from_ecef(wgs84.ecef_from_geodetic(latitude, 2.5, height))
    assert back[0].shape == latitude.shape
    np.testing.assert_allclose(back[0], latitude, atol=1e-15, rtol=0.0)
    np.testing.assert_allclose(back[2], height, atol=3e-9, rtol=1e-15)
    off_the_axis = np.abs(latitude) < 1.57
    np.testing.assert_allclose(back[1][off_the_axis], 2.5, atol=1e-15, rtol=0.0)


def test_the_height_is_the_distance_along_the_axis_of_up():
    ground = wgs84.ecef_from_geodetic(LATITUDES, 0.7, 0.0)
    above = wgs84.ecef_from_geodetic(LATITUDES, 0.7, 1000.0)
    up = quaternion.rotate(wgs84.q_ecef_from_enu(LATITUDES, 0.7), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(above - ground, 1000.0 * up, atol=3e-9, rtol=0.0)


def test_a_step_along_north_or_east_changes_the_angles_by_the_radii():
    latitude, longitude, step = 0.8, -1.2, 1e-4
    meridian, prime_vertical = wgs84.radii(latitude)
    q = wgs84.q_ecef_from_enu(latitude, longitude)
    ahead, behind = (
        wgs84.ecef_from_geodetic([latitude + s, latitude], [longitude, longitude + s], 0.0)
        for s in (step, -step)
    )
    moved = quaternion.rotate(quaternion.conjugate(q), ahead - behind) / (2.0 * step)
    expected = [[0.0, meridian, 0.0], [prime_vertical * math.cos(latitude), 0.0, 0.0]]
    np.testing.assert_allclose(moved, expected, atol=0.05, rtol=0.0)


def test_radii_at_equator_and_pole_are_those_of_the_ellipse():
    np.testing.assert_allclose(wgs84.radii(0.0), (B**2 / A, A), rtol=1e-14)
    np.testing.assert_allclose(wgs84.radii(math.pi / 2), (A**2 / B, A**2 / B), rtol=1e-14)


def test_east_north_up_is_two_turns_from_the_axes_of_the_earth(subtests):
    for latitude, longitude in itertools.product(LATITUDES, [-3.0, 0.0, 0.4, math.pi]):
        with subtests.test(latitude=latitude, longitude=longitude):
            check_east_north_up(latitude, longitude)


def check_east_north_up(latitude, longitude):
    axes = Rotation.from_quat(wgs84.q_ecef_from_enu(latitude, longitude)).as_matrix()
    lon, lat = longitude, latitude
    north = [-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)]
    up = [math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)]
    expected = np.transpose([[-math.sin(lon), math.cos(lon), 0.0], north, up])
    np.testing.assert_allclose(axes, expected, atol=1e-15, rtol=0.0)


def test_derived_constants_agree_with_the_standard():
    assert pytest.approx(6356752.3142, abs=5e-5) == wgs84.SEMI_MINOR_AXIS
    assert pytest.approx(6.69437999014e-3, abs=5e-15) == wgs84.ECCENTRICITY_SQUARED
    gm = 3.986004418e14
    ratio = wgs84.EARTH_RATE**2 * A**2 * B / gm
    assert ratio == pytest.approx(wgs84.CENTRIFUGAL_RATIO, rel=1e-11)


def test_kilometres_and_degrees_are_refused():
    with pytest.raises(ValueRangeError, match=r"got \[6378\.0, 0\.0, 0\.0\]; convert kilometres"):
        wgs84.geodetic_from_ecef([[7e6, 0.0, 0.0], [6378.0, 0.0, 0.0]])
    with pytest.raises(ValueRangeError, match="convert degrees"):
        wgs84.ecef_from_geodetic(47.0, 0.1, 0.0)
    with pytest.raises(ShapeError, match="position"):
        wgs84.geodetic_from_ecef([7e6, 0.0])


def test_nan_goes_through():
    latitude, longitude, height = wgs84.geodetic_from_ecef([[math.nan, 0.0, 7e6], [7e6, 0.0, 0.0]])
    assert np.isnan(latitude).tolist() == [True, False]
    assert np.isnan([longitude[0], height[0]]).all()
    assert height[1] == 7e6 - A
