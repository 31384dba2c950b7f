"""The worlds around a motion, as a perfect sensor feels them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.geometry import wgs84
from strapdown.geometry.gravity import normal_gravity
from strapdown.motion import Kinematics
from strapdown.motion.earth import FlatEarth, Wgs84
from strapdown.motion.kinematics import Endless
from strapdown.motion.mount import Mount, Mounted
from strapdown.motion.primitives import Static

RATE = 7.292115e-5
TILT = Rotation.from_rotvec([0.4, -0.9, 1.3])


class Straight(Endless):
    """Level, at a constant velocity in the world's axes, from a place."""

    def __init__(self, velocity, place=(0.0, 0.0, 0.0)):
        self.velocity, self.place = np.array(velocity), np.array(place)

    def at(self, t_s):
        t = np.asarray(t_s)
        rows, zero = (len(t), 3), np.zeros((len(t), 3))
        path = self.place + np.outer(t, self.velocity)
        level = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(t), 4))
        return Kinematics(
            t, level, zero, zero, path, np.broadcast_to(self.velocity, rows), np.zeros(rows)
        )


@pytest.mark.parametrize("degrees", [-90.0, -33.0, 0.0, 47.6, 90.0])
def test_a_sensor_at_rest_reads_the_turning_earth_and_normal_gravity(degrees):
    latitude, height = math.radians(degrees), 1200.0
    source = Mounted(Static(TILT.as_quat()), earth=Wgs84(latitude, 0.3, height))
    angular_velocity, specific_force = source.inputs([0.0, 1e4])
    to_pole = [0.0, RATE * math.cos(latitude), RATE * math.sin(latitude)]
    up = [0.0, 0.0, float(normal_gravity(latitude, height))]
    for axes, reading in ((to_pole, angular_velocity), (up, specific_force)):
        expected = np.broadcast_to(TILT.inv().apply(axes), (2, 3))
        np.testing.assert_allclose(reading, expected, rtol=0.0, atol=1e-14 * np.linalg.norm(axes))


def test_a_fast_vehicle_to_the_east_is_lighter_by_eotvos():
    latitude, speed = math.radians(50.0), 200.0
    still, moving = (
        Mounted(Straight([v, 0.0, 0.0]), earth=Wgs84(latitude, -2.0)).inputs([0.0])[1][0]
        for v in (0.0, speed)
    )
    north, up = math.sin(latitude), -math.cos(latitude)
    expected = 2.0 * RATE * speed * np.array([0.0, north, up])
    np.testing.assert_allclose(moving - still, expected, atol=1e-14, rtol=0.0)


def test_gravity_far_from_the_origin_points_down_there():
    origin = Wgs84(math.radians(30.0), math.radians(10.0), 0.0)
    axes = Rotation.from_quat(wgs84.q_ecef_from_enu(origin.latitude, origin.longitude))
    latitude, longitude, height = math.radians(31.0), math.radians(12.0), 5000.0
    start = wgs84.ecef_from_geodetic(origin.latitude, origin.longitude, origin.height)
    away = axes.inv().apply(wgs84.ecef_from_geodetic(latitude, longitude, height) - start)
    there = Rotation.from_quat(wgs84.q_ecef_from_enu(latitude, longitude))
    expected = (axes.inv() * there).apply([0.0, 0.0, -float(normal_gravity(latitude, height))])
    np.testing.assert_allclose(origin.gravity_world(away[None]), [expected], atol=1e-13, rtol=0.0)


def test_a_lever_arm_takes_the_sensor_to_where_gravity_is_weaker():
    up = Mounted(Static(), Mount([0.0, 0.0, 100.0]), Wgs84(0.8, 0.1)).inputs([0.0])[1][0]
    np.testing.assert_allclose(up, [0.0, 0.0, normal_gravity(0.8, 100.0)], atol=1e-13, rtol=0.0)


def test_a_flat_earth_has_the_gravity_it_is_given():
    specific_force = Mounted(Static(), earth=FlatEarth(1.62)).inputs([0.0])[1]
    np.testing.assert_array_equal(specific_force, [[0.0, 0.0, 1.62]])
    assert FlatEarth().rate_world.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (lambda: FlatEarth(-9.8), "gravity"),
        (lambda: FlatEarth(math.inf), "gravity"),
        (lambda: Wgs84(47.0, 8.0), "convert degrees"),
        (lambda: Wgs84(0.1, math.nan), "longitude"),
    ],
)
def test_senseless_worlds_are_refused(build, word):
    with pytest.raises(ValueRangeError, match=word):
        build()
