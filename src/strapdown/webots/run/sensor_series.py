"""Samples of the sensors of a world as series.

Axes are those of the sensor: FLU in an ENU world, FUR in a world whose y axis is up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.geometry import quaternion
from strapdown.geometry.euler import EulerConvention, to_quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import GnssSeries, ImuSeries, SensorIdentity, Trajectory
from strapdown.webots.devices.geodetic import EAST_NORTH_UP
from strapdown.webots.devices.sensor_models import ModelledMeasurement
from strapdown.webots.profiles import Angles, InertialFrame, InertialNoise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray, IntArray
    from strapdown.webots.devices.device import DeviceState
    from strapdown.webots.run.device_samples import DeviceSamples
    from strapdown.webots.world.world import World

__all__ = ["gnss_series", "imu_series", "trajectory"]

_SIGMA: Final = {InertialNoise.ANGLES: math.pi / 2.0, InertialNoise.ROTATION: math.pi}


def imu_series(world: World, devices: Mapping[str, DeviceSamples]) -> ImuSeries:
    """Return samples of one device, or of several at their common times, as a series.

    Parameters
    ----------
    world : World
        World of the devices.
    devices : mapping of str to DeviceSamples
        By device type: InertialUnit, Gyro and Accelerometer, or some of them.
    """
    tables = {kind: samples.table() for kind, samples in devices.items()}
    vectors = [kind for kind in tables if kind != "InertialUnit"] or list(tables)
    steps = tables[vectors[0]][0]
    for kind in vectors[1:]:
        steps = np.intersect1d(steps, tables[kind][0])
    columns: dict[str, Any] = {}
    for kind, (own, values) in tables.items():
        rows, at = np.isin(steps, own), np.isin(own, steps)
        picked = np.full((len(steps), values.shape[1]), np.nan)
        picked[rows] = values[at]
        columns |= _columns(world, devices[kind].device, picked)
    for name in {"angular_velocity", "specific_force"} - columns.keys():
        columns[name] = np.full((len(steps), 3), np.nan)
        columns[f"{name}_covariance"] = np.zeros((len(steps), 3, 3))
        columns[f"{name}_covariance"][:, 0, 0] = -1.0
    frame = WorldFrame(world.conventions.coordinate_system)
    name = next(iter(devices.values())).device.name if len(devices) == 1 else ""
    return ImuSeries(
        _stamps(world, steps),
        **columns,
        body=BodyFrame.FLU if frame is WorldFrame.ENU else BodyFrame.FUR,
        world=frame,
        sensor=SensorIdentity(name),
    )


def gnss_series(world: World, samples: DeviceSamples) -> GnssSeries:
    """Return the samples of a GPS with geodetic positions."""
    steps, values = samples.table()
    accuracy = samples.device.node.number("accuracy")
    system = world.conventions.coordinate_system
    return GnssSeries(
        _stamps(world, steps),
        np.radians(values[:, 0]),
        np.radians(values[:, 1]),
        values[:, 2],
        np.broadcast_to(accuracy**2 * np.eye(3), (len(steps), 3, 3)),
        velocity_world=values[:, 4:7][:, EAST_NORTH_UP[system]],
        sensor=SensorIdentity(samples.device.name),
    )


def trajectory(world: World, samples: DeviceSamples) -> Trajectory:
    """Return the samples of a GPS with positions in the world."""
    steps, values = samples.table()
    accuracy = samples.device.node.number("accuracy")
    return Trajectory(
        _stamps(world, steps),
        np.full((len(steps), 4), np.nan),
        position_world=values[:, :3],
        velocity_world=values[:, 4:7],
        position_covariance=np.broadcast_to(accuracy**2 * np.eye(3), (len(steps), 3, 3)),
        world=WorldFrame(world.conventions.coordinate_system),
        name=samples.device.name,
    )


def _stamps(world: World, steps: IntArray) -> IntArray:
    """Return the times of steps [ns]."""
    stamps: IntArray = np.rint(steps * (world.basic_time_step * 1e6)).astype(np.int64)
    return stamps


def _columns(world: World, device: DeviceState, values: FloatArray) -> dict[str, FloatArray]:
    """Return the measured columns of a device, and the covariance where its noise is known."""
    if device.kind == "InertialUnit":
        noise = float(device.info.parameters["noise"])
        sigma = noise * _SIGMA.get(world.profile.inertial_noise, 0.0)
        covariance = np.broadcast_to(sigma**2 * np.eye(3), (len(values), 3, 3))
        return {
            "q_world_from_body": _attitude(world, values),
            "orientation_covariance": covariance,
        }
    name = "angular_velocity" if device.kind == "Gyro" else "specific_force"
    if isinstance(device.measurement, ModelledMeasurement):
        variance = np.broadcast_to(device.measurement.variance, values.shape)
    else:
        relative = _relative_noise(device.info.parameters["lookup_table"], values)
        variance = np.nan_to_num(np.abs(values) * relative) ** 2
    covariance = variance[:, :, np.newaxis] * np.eye(3)
    return {name: values, f"{name}_covariance": covariance}


def _attitude(world: World, values: FloatArray) -> FloatArray:
    """Return q_world_from_body from the values of an InertialUnit in this profile."""
    profile, conventions = world.profile, world.conventions
    if profile.angles is Angles.MATRIX:
        q = to_quaternion(values, EulerConvention.WEBOTS_NUE)
    else:
        q = values[:, 3:] if profile.angles is Angles.AXES else values
    q_unit: FloatArray = q / np.linalg.norm(q, axis=1, keepdims=True)
    if profile.inertial_frame is InertialFrame.WRONG_SIDE:  # attitude times its inverse
        north, up = np.array(conventions.north), np.array(conventions.up)
        frame = np.stack([north, up, np.cross(north, up)], axis=1)
        return quaternion.multiply(q_unit, quaternion.from_matrix(frame))
    return q_unit


def _relative_noise(flat_table: list[float], values: FloatArray) -> FloatArray | float:
    """Return the relative noise of outputs (N, 3) of a lookup table; the largest if ambiguous."""
    if not flat_table:
        return 0.0
    _inputs, outputs, noise = np.array(flat_table).reshape(-1, 3).T
    order = np.argsort(outputs)
    if len(np.unique(outputs)) < len(outputs):
        return float(noise.max())
    return np.asarray(np.interp(values, outputs[order], noise[order]))
