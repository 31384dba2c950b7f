"""GPS and Altimeter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown import formats
from strapdown.geometry import quaternion, wgs84
from strapdown.webots import Robot, SensorLog, World, record
from strapdown.webots.devices.geodetic import UtmZone
from strapdown.webots.devices.measurement_factory import make_measurement
from strapdown.webots.devices.random_streams import DeviceStream, MarsagliaStream
from strapdown.webots.file.conventions import AXES, Conventions
from strapdown.webots.file.node import Node
from strapdown.webots.profiles import PROFILES
from strapdown.webots.scene.scene import BodyStates

NAN = math.nan


def no_draw():
    raise AssertionError("nothing here has noise")


def make_device(
    kind="GPS", profile="documented", *, info=None, gaussian=no_draw, has_physics=True, **fields
):
    options = fields.pop("options", {})
    north, up = AXES["ENU"]
    return make_measurement(
        Node(kind, fields),
        profile=PROFILES[profile],
        conventions=Conventions("ENU", up, north, (0.0, 0.0, -9.81)),
        gaussian=gaussian,
        warn=print,
        has_physics=has_physics,
        has_body=True,
        world_info=Node("WorldInfo", info),
        **options,
    )


def states_of(position, velocity=None):
    position = np.atleast_2d(position).astype(float)
    zeros = np.zeros_like(position)
    velocity = zeros if velocity is None else np.atleast_2d(velocity).astype(float)
    R = np.broadcast_to(np.eye(3), (len(position), 3, 3))
    return BodyStates(R, position, velocity, zeros, zeros, zeros)


def refresh(device, states, dt_s=0.5):
    return [device.take(row, dt_s) for row in device.prepare(states)]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_gps_reads_position_speed_and_velocity(profile):
    device = make_device(profile=profile, info={"gpsReference": (10.0, 20.0, 30.0)})
    (got,) = refresh(device, states_of((1, 2, 3), (3, 0, -4)))
    assert got == [11, 22, 33, 5, 3, 0, -4]


def test_without_physics_the_velocity_is_the_difference_of_positions():
    device = make_device(has_physics=False)
    states = states_of([(0, 0, 0), (1, 0, 2), (1, 0, 2)], [(9, 9, 9)] * 3)
    first, second, third = refresh(device, states)
    assert all(map(math.isnan, first[3:]))
    assert second[3:] == pytest.approx([math.sqrt(20), 2, 0, 4])
    assert third[3:] == [0, 0, 0, 0]
    device.start(())
    assert all(map(math.isnan, refresh(device, states)[0][3:]))


@pytest.mark.parametrize(("profile", "expected"), [("documented", -0.4), ("R2025a", -0.2)])
def test_positions_and_speeds_come_to_their_resolutions(profile, expected):
    device = make_device(profile=profile, resolution=0.2, speedResolution=0.25)
    (got,) = refresh(device, states_of((0.31, -0.31, 0.0), (0.4, 0.0, 0.0)))
    assert got == pytest.approx([0.4, expected, 0.0, 0.5, 0.4, 0, 0], abs=1e-15)


def test_noise_of_a_position_keeps_its_size_and_is_correlated_in_time():
    stream = DeviceStream(1, "r", "gps")
    device = make_device(gaussian=stream.gaussian, accuracy=2.0, noiseCorrelation=0.25)
    count = 20_000
    values = device.batch(states_of(np.zeros((count, 3))), np.full(count, 0.5))
    x = values[:, :3] / 2.0
    keep = 0.25**0.5  # for half a second
    # an autoregression has fewer independent numbers
    effective = math.sqrt(count * (1 - keep**2) / (1 + keep**2))
    np.testing.assert_allclose(x.std(axis=0), 1.0, atol=4 / math.sqrt(2) / effective)
    np.testing.assert_allclose(np.mean(x[1:] * x[:-1], axis=0), keep, atol=4 / effective)
    assert np.all(values[:, 3:] == 0.0)


def test_without_correlation_each_position_has_fresh_noise():
    draws = iter([1.0, 2.0, 3.0, -1.0, -2.0, -3.0])
    device = make_device(gaussian=lambda: next(draws), accuracy=0.5)
    first, second = refresh(device, states_of(np.zeros((2, 3))))
    assert first[:3] == [0.5, 1.0, 1.5]
    assert second[:3] == [-0.5, -1.0, -1.5]


def test_noise_of_a_speed_is_relative():
    device = make_device(gaussian=lambda: 2.0, speedNoise=0.05)
    (got,) = refresh(device, states_of((0, 0, 0), (3, 0, 4)))
    assert got[3:] == pytest.approx([5.5, 3, 0, 4])


def test_all_gps_of_a_release_may_share_one_noise():
    shared = [0.0, 0.0, 0.0]
    stream = MarsagliaStream(0)
    options = {"gps_noise": shared}
    make = {"gaussian": stream.gaussian, "accuracy": 1.0, "noiseCorrelation": 1.0}
    one, other = (make_device(profile="R2025a", options=options, **make) for _ in range(2))
    shared[:] = [1.0, 2.0, 3.0]
    for device in (one, other):  # correlation 1 keeps all of the noise
        assert refresh(device, states_of((0, 0, 0)))[0][:3] == [1, 2, 3]


NEW_YORK = {"gpsReference": (40.67, -73.94, 10.0), "gpsCoordinateSystem": "WGS84"}


def test_utm_coordinates_are_those_of_the_literature():
    """Snyder's example on the ellipsoid of Clarke is not ours; these points are on WGS 84."""
    for latitude, longitude, east, north in [
        (43.642567, -79.387139, 630084, 4833439),  # CN Tower, Wikipedia
        (-33.856784, 151.215297, 334902, 6252291),  # Sydney Opera House
        (0.0, 3.0, 500000, 0),
    ]:
        zone = UtmZone.of(latitude, longitude)
        assert zone.grid(latitude, longitude) == pytest.approx((east, north), abs=2.5)


@pytest.mark.parametrize("latitude", [-79.0, -33.3, -1e-3, 0.0, 12.0, 47.4, 66.0, 83.0])
def test_the_utm_grid_is_conformal_and_inverts(latitude):
    """On the central meridian lengths are scaled by 0.9996; radii of curvature give true ones."""
    zone = UtmZone.of(latitude, 9.0)
    for longitude in (6.1, 9.0, 11.9):
        east, north = zone.grid(latitude, longitude)
        assert zone.geodetic(east, north) == pytest.approx((latitude, longitude), abs=2e-7)
    meridian, prime_vertical = wgs84.radii(math.radians(latitude))
    step = 1e-4
    before, after = zone.grid(latitude - step, 9.0), zone.grid(latitude + step, 9.0)
    rise = 0.9996 * meridian * math.radians(2 * step)
    assert np.subtract(after, before) == pytest.approx([0.0, rise], abs=1e-5)
    before, after = zone.grid(latitude, 9.0 - step), zone.grid(latitude, 9.0 + step)
    run = 0.9996 * prime_vertical * math.cos(math.radians(latitude)) * math.radians(2 * step)
    assert np.subtract(after, before) == pytest.approx([run, 0.0], abs=1e-5)


def test_a_point_of_the_plane_is_where_the_earth_says():
    """East, north and up of a geodetic position from its reference give back the point."""
    (got,) = refresh(make_device(info=NEW_YORK), states_of((300.0, -4000.0, 50.0)))
    latitude, longitude = np.radians(got[:2])
    at = np.radians(NEW_YORK["gpsReference"][:2])
    center = wgs84.ecef_from_geodetic(*at, 10.0)
    offset = wgs84.ecef_from_geodetic(latitude, longitude, got[2]) - center
    local = quaternion.to_matrix(wgs84.q_ecef_from_enu(*at)).T @ offset
    assert local == pytest.approx([300.0, -4000.0, 50.0], abs=1e-8)


def test_a_release_adds_positions_on_its_grid():
    device = make_device(profile="R2025a", info=NEW_YORK)
    (got,) = refresh(device, states_of((300.0, -4000.0, 50.0)))
    zone = UtmZone.of(40.67, -73.94)
    east, north = zone.grid(40.67, -73.94)
    assert zone.grid(got[0], got[1]) == pytest.approx((east + 300.0, north - 4000.0), abs=1e-3)
    assert got[2] == 60.0


@pytest.mark.parametrize("profile", ["documented", "R2025a"])
def test_noise_and_resolution_of_a_fix_are_in_metres(profile):
    draws = iter([2.0, -3.0, 1.0])
    device = make_device(
        gaussian=lambda: next(draws), profile=profile, info=NEW_YORK, accuracy=100.0, resolution=10
    )
    (got,) = refresh(device, states_of((0, 0, 3)))
    (exact,) = refresh(
        make_device(profile=profile, info=NEW_YORK), states_of((200.0, -300.0, 103.0))
    )
    assert got[0] == pytest.approx(exact[0], abs=1e-4)
    assert got[1] == pytest.approx(exact[1], abs=1.3e-4)
    assert got[2] == pytest.approx(113.0, abs=5.0)


@pytest.mark.parametrize("system", ["NUE", "ENU"])
def test_a_world_tells_its_geodetic_positions(system):
    """The case of Webots' test gps_coordinates: New York within 0.1 deg, and its longitude."""
    world = f"""#VRML_SIM R2022b utf8
    WorldInfo {{ coordinateSystem "{system}" gpsCoordinateSystem "WGS84"
      gpsReference 40.67 -73.94 10 }}
    Robot {{ translation 0.2 0.05 -0.4 children GPS {{ translation -0.05 0 0 }}
      boundingObject Box {{ size 0.1 0.1 0.1 }} physics Physics {{ }} }}"""
    robot = Robot(world, profile="R2025a")
    gps = robot.getDevice("gps")
    gps.enable(32)
    assert gps.getCoordinateSystem() == gps.WGS84
    for _ in range(21):
        robot.step(32)
    latitude, longitude, _ = gps.getValues()
    assert (latitude, longitude) == pytest.approx((40.67, -73.94), abs=1e-5)
    assert gps.getSpeed() > 0.005


@pytest.mark.parametrize("system", ["ENU", "NUE"])
def test_positions_in_a_local_world_are_a_trajectory_without_attitude(tmp_path, system):
    world = World(
        f"""#VRML_SIM R2025a utf8
    WorldInfo {{ coordinateSystem "{system}" basicTimeStep 10 gpsReference 100 0 0 }}
    Robot {{ children GPS {{ accuracy 0.5 resolution 1 }} }}""",
        motion=lambda t: (np.multiply((3, 4, 1), t), (0, 0, 0, 1), (3, 4, 1), (0, 0, 0)),
    )
    robot = Robot(world)
    robot.getDevice("gps").enable(100)
    with record(world, tmp_path / "run.npz") as written:
        for _ in range(20):
            robot.step(100)
    assert (written.samples, written.notes) == ({"gps/values": 20}, ())
    track = formats.open(tmp_path / "run.npz").trajectories["gps/values"]
    assert track.world.name == system
    assert np.isnan(track.q_world_from_body).all()
    assert track.velocity_world[3] == pytest.approx((3, 4, 1))
    assert track.position_world[-1] == pytest.approx([106, 8, 2], abs=2.5)
    assert track.position_covariance[0] == pytest.approx(0.25 * np.eye(3))


@pytest.mark.parametrize("ending", ["mcap", "npz"])
def test_fixes_are_part_of_a_recording(tmp_path, ending):
    world = World(
        """#VRML_SIM R2025a utf8
    WorldInfo { basicTimeStep 10 gpsCoordinateSystem "WGS84" gpsReference 47.4 8.5 500 }
    Robot { children [ GPS { accuracy 0.5 } Gyro { } ] }""",
        motion=lambda t: ((3.0 * t, 4.0 * t, t), (0, 0, 0, 1), (3, 4, 1), (0, 0, 0)),
    )
    robot = Robot(world)
    for name in ("gps", "gyro"):
        robot.getDevice(name).enable(100)
    path = tmp_path / f"run.{ending}"
    with record(world, path) as written, SensorLog(world) as log:
        for _ in range(20):
            robot.step(100)
    assert written.samples == {"gps/values": 20, "gyro/values": 20}
    series = formats.open(path).gnss["gps/values"]
    assert series.t_ns[[0, -1]].tolist() == [100_000_000, 2_000_000_000]
    assert np.degrees(series.latitude[0]) == pytest.approx(47.4, abs=1e-4)
    assert series.position_covariance[3] == pytest.approx(0.25 * np.eye(3))
    own = log.gnss_series()
    assert own.velocity_world[2] == pytest.approx([3, 4, 1], abs=1e-6)
    assert own.latitude == pytest.approx(series.latitude, abs=1e-12)


def test_an_altimeter_reads_the_height_above_the_reference():
    device = make_device("Altimeter", info={"gpsReference": (10.0, 20.0, 30.0)})
    assert refresh(device, states_of([(1, 2, 3), (1, 2, 4)])) == [[33.0], [34.0]]
    device = make_device(
        "Altimeter", info={"gpsReference": (10.0, 20.0, 30.0), "gpsCoordinateSystem": "WGS84"}
    )
    assert refresh(device, states_of((1, 2, 3))) == [[33.0]]


def test_an_altimeter_has_noise_and_a_resolution():
    device = make_device("Altimeter", gaussian=lambda: -1.0, accuracy=0.25, resolution=0.5)
    states = states_of([(0, 0, 2.0), (0, 0, 1.1)])
    assert refresh(device, states) == [[2.0], [1.0]]
    assert device.batch(states, np.full(2, 0.5)).tolist() == [[2.0], [1.0]]
