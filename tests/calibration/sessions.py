"""Sessions of calibration with known truth, on motions of the package and by its simulator."""

from __future__ import annotations

import numpy as np

from strapdown.geometry import quaternion
from strapdown.motion import PoseSpline
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.simulation import simulate


def attitudes(count, seed, upper_half=False):
    """Random attitudes from level on; of the upper half, the z axis never points down."""
    rng = np.random.default_rng(seed)
    q = quaternion.normalize(rng.normal(size=(20 * count, 4)))
    if upper_half:
        q = q[quaternion.rotate(q, [0.0, 0.0, 1.0])[:, 2] > 0.1]
    return np.vstack([quaternion.IDENTITY, q[: count - 1]])


def tumble(  # noqa: PLR0913 (one argument a part of the session)
    count=30, *, initial_s=30.0, still_s=2.0, turn_s=1.5, seed=1, upper_half=False
):
    """A body that rests in many attitudes, the first for longer, and turns between them."""
    t, poses, now = [], [], 0.0
    q = attitudes(count, seed, upper_half)
    for k, here in enumerate(q):
        hold = initial_s if k == 0 else still_s
        steps = np.arange(0.0, hold - 1e-9, 0.02)
        t.append(now + steps)
        poses.append(np.tile(here, (len(steps), 1)))
        now += hold
        if k + 1 < count:
            u = np.arange(0.0, turn_s - 1e-9, 0.02) / turn_s
            smooth = u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)
            poses.append(quaternion.slerp(here, q[k + 1], smooth))
            t.append(now + u * turn_s)
            now += turn_s
    t, poses = np.concatenate(t), np.concatenate(poses)
    zero = np.zeros((len(t), 3))
    return PoseSpline.from_poses(t, zero, quaternion.make_continuous(poses), mode="interpolate")


ACCEL_E = np.array([[0.02, 0.004, -0.006], [0.0, -0.01, 0.008], [0.0, 0.0, 0.01]])
GYRO_E = np.array([[-0.015, 0.01, -0.004], [0.006, 0.015, 0.003], [-0.002, 0.005, 0.008]])
ACCEL_BIAS, GYRO_BIAS = (0.3, -0.2, 0.1), (0.01, -0.02, 0.005)


def spec(*, noise=True, rate_hz=100, gyro=None, accel=None):
    """A sensor with known bias, scale and misalignment; its calibration inverts I + E."""
    return ImuSpec(
        accel=TriadSpec(
            bias=ACCEL_BIAS, scale_misalignment=ACCEL_E.tolist(),
            noise_density=2e-3 if noise else None, **(accel or {}),
        ),
        gyro=TriadSpec(
            bias=GYRO_BIAS, scale_misalignment=GYRO_E.tolist(),
            noise_density=1e-4 if noise else None, **(gyro or {}),
        ),
        rate_hz=rate_hz,
    )  # fmt: skip


def recorded(motion, sensor, *, seed=0):
    """The series of a sensor on a motion."""
    return simulate(motion, sensor, seed=seed).samples.series()


def truth():
    """Matrices and biases of the calibration of ``spec``."""
    accel, gyro = (np.linalg.inv(np.eye(3) + E) for E in (ACCEL_E, GYRO_E))
    return accel, np.array(ACCEL_BIAS), gyro, np.array(GYRO_BIAS)
