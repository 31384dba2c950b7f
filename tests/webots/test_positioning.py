"""GPS and Altimeter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown.errors import UnsupportedError
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


@pytest.mark.parametrize("error", [NotImplementedError, UnsupportedError])
def test_geodetic_coordinates_are_refused_with_the_way_out(error):
    with pytest.raises(error, match=r"got 'WGS84'.*set it to 'local'"):
        make_device(info={"gpsCoordinateSystem": "WGS84"})


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
