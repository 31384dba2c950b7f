"""Sampling of whole runs at once."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import DeviceError, ValueRangeError
from strapdown.motion import MOTIONS
from strapdown.webots import PROFILES, Robot, World
from strapdown.webots.run.batch import measure
from strapdown.webots.run.sensor_log import SensorLog

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 8 }
Robot {
  children [
    InertialUnit { NOISE }
    Accelerometer { translation 0.1 0 0.2 lookupTable [ TABLE ] resolution 0.001 }
    Gyro { yAxis FALSE }
    HingeJoint {
      jointParameters HingeJointParameters { axis 0 0 1 }
      device [ RotationalMotor { } ]
      endPoint Solid { children [ Gyro { name "rotor" } ] physics Physics { } }
    }
  ]
  physics Physics { }
}
"""
EXACT = "-100 -90 0, 100 110 0"
NOISY = "-100 -90 0.01, 100 110 0.01"


def world(table=EXACT, noise="", **options):
    text = WORLD.replace("TABLE", table).replace("NOISE", noise)
    return World(text, dynamics="kinematic", **options)


def stepped(a_world, seconds, period):
    robot = Robot(a_world)
    with SensorLog(a_world) as log:
        for device in robot.devices.values():
            if device.getNodeType() != 57:  # not the motor
                device.enable(period)
        for _ in range(round(seconds / 0.008)):
            robot.step(8)
    return log


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("period", [8, 20])
@pytest.mark.by_default("8-R2025a", "8-documented", "8-R2020a", "20-R2021a", "20-R2023b")
def test_a_batch_gives_the_samples_of_the_step_loop(profile, period):
    options = {"profile": profile, "motion": MOTIONS["multi_sine"]}
    log = measure(world(**options), 4.0, periods=period)
    other = stepped(world(**options), 4.0, period)
    for device in ("inertial unit", "accelerometer", "gyro", "rotor"):
        one, two = log.device_series(device), other.device_series(device)
        np.testing.assert_array_equal(one.t_ns, two.t_ns)
        for column in ("angular_velocity", "specific_force", "q_world_from_body"):
            a, b = getattr(one, column), getattr(two, column)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11, equal_nan=True)


def test_noise_of_the_documented_profile_is_that_of_the_step_loop():
    one = measure(world(NOISY, "noise 0.01"), 2.0, periods=8).imu_series()
    two = stepped(world(NOISY, "noise 0.01"), 2.0, 8).imu_series()
    np.testing.assert_allclose(one.specific_force, two.specific_force, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(one.q_world_from_body, two.q_world_from_body, atol=1e-12)
    assert np.ptp(one.specific_force[:, 2]) > 0.1


def test_noise_from_one_stream_for_several_devices_is_refused():
    with pytest.raises(DeviceError, match=r"one stream of random numbers.*step the world"):
        measure(world(NOISY, "noise 0.01", profile="R2025a"), 1.0)


def test_chosen_devices_have_periods_of_their_own():
    log = measure(world(), 1.0, periods={"gyro": 16, "rotor": 8})
    assert (len(log.device_series("gyro")), len(log.device_series("rotor"))) == (62, 125)


def test_the_world_goes_on_where_the_batch_ended():
    a_world = world(motion=MOTIONS["multi_sine"])
    measure(a_world, 1.0)
    assert a_world.time_s == 1.0
    robot = Robot(a_world)
    robot.getDevice("gyro").enable(8)
    robot.step(8)
    expected = MOTIONS["multi_sine"].at([1.008]).angular_velocity[0]
    assert robot.getDevice("gyro").getValues()[0] == pytest.approx(expected[0], abs=1e-12)


def test_a_device_that_is_not_in_the_batch_begins_a_period_after_it():
    a_world = world()
    port = a_world.port()
    port.exchange(8, [(3, "period", (16,))])
    measure(a_world, 1.0, periods={"accelerometer": 8})
    port.join()
    times = [sample[1] for _ in range(4) for sample in port.exchange(8, ()).samples]
    assert times == [1.024, 1.04]


def test_a_batch_ends_with_the_simulation():
    log = measure(world(duration_s=0.5), 10.0)
    assert log.device_series("gyro").t_ns[-1] == 496_000_000


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"duration_s": 0.0}, ValueRangeError),
        ({"duration_s": 1.0, "periods": 0}, ValueRangeError),
        ({"duration_s": 1.0, "periods": {"nope": 8}}, DeviceError),
    ],
)
def test_bad_arguments_get_one_line(arguments, error):
    with pytest.raises(error, match="expected"):
        measure(world(), **arguments)
