"""Fixes of a receiver and readings of a barometer as series."""

import math

import numpy as np
import pytest

from strapdown.errors import FrameError, ShapeError, ValueRangeError
from strapdown.series import BarometerSeries, FixType, GnssSeries, pressure_altitude, timebase

HZ5 = np.arange(3) * 200_000_000
# Boulder, and two points of the meridian and of the parallel through it
ORIGIN = (math.radians(40.0), math.radians(-105.0), 1600.0)


def fixes(**changes):
    columns = {
        "t_ns": HZ5,
        "latitude": np.radians([40.0, 40.0001, 40.0]),
        "longitude": np.radians([-105.0, -105.0, -104.9999]),
        "altitude": [1600.0, 1600.0, 1602.0],
        "position_covariance": np.tile(np.diag([1.0, 4.0, 9.0]), (3, 1, 1)),
    }
    return GnssSeries(**columns | changes)


def test_local_positions_follow_the_radii_of_the_ellipsoid():
    # meridian radius 6 361 815.826 m and prime vertical radius 6 386 976.166 m at 40 degrees
    # (a (1 - e^2) / w^3 and a / w with w^2 = 1 - e^2 sin^2, in 30 digits)
    east = (6_386_976.166 + 1600.0) * math.cos(ORIGIN[0]) * math.radians(1e-4)
    north = (6_361_815.826 + 1600.0) * math.radians(1e-4)
    expected = [[0.0, 0.0, 0.0], [0.0, north, 0.0], [east, 0.0, 2.0]]
    assert fixes().local_enu(ORIGIN) == pytest.approx(np.array(expected), abs=2e-5)


def test_the_default_origin_is_the_first_complete_fix():
    fix_type = [FixType.NO_FIX, FixType.FIX_2D, FixType.FIX_3D]
    series = fixes(altitude=[1600.0, np.nan, 1602.0], fix_type=fix_type)
    assert series.has_fix.tolist() == [False, True, True]
    assert series.origin == (series.latitude[2], series.longitude[2], 1602.0)
    assert series.local_enu()[2] == pytest.approx(np.zeros(3), abs=1e-9)
    with pytest.raises(ValueRangeError, match="expected a fix with latitude, longitude and alti"):
        _ = series[:2].origin


def test_local_positions_and_back():
    position = np.array([[0.0, 0.0, 0.0], [1e3, -2e3, 50.0], [-4e4, 3e4, 1e3]])
    series = GnssSeries.from_local_enu(HZ5, position, ORIGIN, satellites=12)
    assert series.local_enu(ORIGIN) == pytest.approx(position, abs=2e-9 * 4e4)
    assert series.satellites is not None
    assert series.satellites.tolist() == [12, 12, 12]
    assert not series.position_covariance.any()


def test_a_row_without_a_fix_has_no_local_position():
    series = fixes(latitude=np.radians([40.0, np.nan, 40.0]))
    assert series.has_fix.tolist() == [True, False, True]
    assert np.isnan(series.local_enu()[1]).all()


def test_other_world_axes_change_vectors_and_covariances_and_no_heading():
    velocity = np.array([[1.0, 2.0, 3.0]] * 3)
    series = fixes(velocity_world=velocity, heading=np.full(3, 0.5)).in_frames(world="NED")
    assert series.velocity_world is not None
    assert series.velocity_world[0].tolist() == [2.0, 1.0, -3.0]
    assert np.diag(series.position_covariance[0]).tolist() == [4.0, 1.0, 9.0]
    assert series.heading is not None
    assert series.heading.tolist() == [0.5] * 3
    with pytest.raises(FrameError, match="GnssSeries have no body axes"):
        series.in_frames(body="FRD")


def test_angles_are_interpolated_on_the_shorter_arc():
    longitude = np.radians([179.0, -177.0, -177.0])
    series, done = timebase.resample(fixes(longitude=longitude), t_ns=[50_000_000, 150_000_000])
    assert np.degrees(series.longitude) == pytest.approx([180.0, -178.0])
    assert done.method["longitude"] == "angle"


def test_degrees_are_refused():
    with pytest.raises(ValueRangeError, match="convert degrees"):
        fixes(latitude=[40.0, 40.0, 40.0])


@pytest.mark.parametrize("origin", [(0.0, 0.0), np.zeros((2, 3))])
def test_an_origin_has_three_numbers(origin):
    with pytest.raises(ShapeError, match="origin"):
        fixes().local_enu(origin)


def test_the_standard_atmosphere():
    # ISO 2533, table 5: geopotential altitudes -500, 0, 1000, 5000 and 10 000 m
    pressure = [107_478.0, 101_325.0, 89_874.6, 54_019.9, 26_436.3]
    expected = [-500.0, 0.0, 1000.0, 5000.0, 10_000.0]
    assert pressure_altitude(pressure) == pytest.approx(np.array(expected), abs=0.1)
    with pytest.raises(ValueRangeError, match="above 0 Pa, got -1"):
        pressure_altitude([1e5, -1.0])


def test_readings_of_a_barometer():
    series = BarometerSeries(HZ5, [1.0, 2.0, 3.0], temperature=[20.0, 20.0, 20.5])
    assert repr(series) == "BarometerSeries(3 samples, 0.4 s, 5.0 Hz, with temperature)"
    assert series.units == {"t_ns": "ns", "altitude": "m", "temperature": "degC"}
