"""Sensor models behind devices."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.webots import Robot, World
from strapdown.webots.devices.sensor_models import fit_sensor
from strapdown.webots.run.batch import measure

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 10 }
Robot {
  name "rob"
  children [
    Accelerometer { lookupTable [ -100 0 0, 100 1 0 ] resolution 5 }
    Gyro { xAxis FALSE }
  ]
  physics Physics { }
}
"""
DENSITY = 1e-3
SPEC = ImuSpec(gyro=TriadSpec(noise_density=DENSITY), accel=TriadSpec(noise_density=2.0 * DENSITY))


def world(**options):
    return World(WORLD, dynamics="kinematic", **options)


def test_noise_has_the_density_of_the_specification_even_on_an_axis_that_reads_zero():
    a_world = world()
    fit_sensor(a_world, SPEC)
    series = measure(a_world, 200.0).imu_series()
    sigma = DENSITY / np.sqrt(0.01)
    assert series.angular_velocity[:, 1].std() == pytest.approx(sigma, rel=0.03)
    assert series.specific_force[:, 0].std() == pytest.approx(2.0 * sigma, rel=0.03)
    assert series.specific_force[:, 2].mean() == pytest.approx(9.81, abs=1e-3)


def test_the_covariance_is_that_of_the_part():
    a_world = world()
    fit_sensor(a_world, SPEC)
    series = measure(a_world, 0.1).imu_series()
    assert series.angular_velocity_covariance[0, 2, 2] == pytest.approx(DENSITY**2 / 0.01)


def test_a_switched_off_axis_stays_nan():
    a_world = world()
    fit_sensor(a_world, SPEC)
    rate = measure(a_world, 0.1).device_series("gyro").angular_velocity
    assert np.isnan(rate[:, 0]).all()
    assert np.isfinite(rate[:, 1:]).all()


def test_the_same_seed_gives_the_same_samples_and_a_reset_the_first_run_again():
    a_world = world(seed=5)
    fit_sensor(a_world, SPEC)
    robot = Robot(a_world)
    gyro = robot.getDevice("gyro")
    gyro.enable(10)
    runs = []
    for _ in range(2):
        run = []
        for _ in range(5):
            robot.step(10)
            run.append(gyro.getValues()[1:])
        runs.append(run)
        a_world.reset()
    assert runs[0] == runs[1]
    other = world(seed=6)
    fit_sensor(other, SPEC)
    assert measure(other, 0.05).device_series("gyro").angular_velocity[0, 1] != runs[0][0][0]


def test_a_profile_by_name_brings_its_filters_and_rounding():
    a_world = world()
    fit_sensor(a_world, "mpu6050", device="accelerometer")
    values = measure(a_world, 0.5).device_series("accelerometer").specific_force
    assert np.isfinite(values).all()
    assert 0.0 < values[:, 2].std() < 0.2
    assert values[-1, 2] == pytest.approx(9.81, abs=1.0)


def test_unknown_names_get_one_line():
    with pytest.raises(UnknownNameError, match="robot 'bob'"):
        fit_sensor(world(), SPEC, robot="bob")
    with pytest.raises(DeviceError, match="gyro or accelerometer 'nope'"):
        fit_sensor(world(), SPEC, device="nope")
    with pytest.raises(UnknownNameError, match="mpu6050"):
        fit_sensor(world(), "mpu6051")
