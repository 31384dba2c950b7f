"""Sessions of calibration with known truth, on motions of the package and by its simulator."""

from __future__ import annotations

from functools import cache

import numpy as np

from strapdown.geometry import quaternion
from strapdown.motion import PoseSpline
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.simulation import simulate

ACCEL_E = np.array([[0.02, 0.004, -0.006], [0.0, -0.01, 0.008], [0.0, 0.0, 0.01]])
GYRO_E = np.array([[-0.015, 0.01, -0.004], [0.006, 0.015, 0.003], [-0.002, 0.005, 0.008]])
ACCEL_BIAS, GYRO_BIAS = np.array([0.3, -0.2, 0.1]), np.array([0.01, -0.02, 0.005])
ACCEL, GYRO = (np.linalg.inv(np.eye(3) + E) for E in (ACCEL_E, GYRO_E))
"""Matrices of the calibration of ``spec``, whose readings are (I + E) x + bias."""
GRAVITY = 9.80665
STEP_S = 0.02


class Plan:
    """Attitudes over time: rests, and smooth turns between them."""

    def __init__(self, attitude=quaternion.IDENTITY):
        self.here = attitude
        self.now_s = 0.0
        self.t_s, self.q = [], []

    def rest(self, duration_s):
        steps = np.arange(0.0, duration_s - 1e-9, STEP_S)
        return self._add(steps, np.tile(self.here, (len(steps), 1)), duration_s)

    def turn_to(self, attitude, duration_s):
        steps, part = _smooth(duration_s)
        self._add(steps, quaternion.slerp(self.here, attitude, part), duration_s)
        self.here = attitude
        return self

    def turn(self, angle_deg, duration_s):
        """Turn about the vertical."""
        steps, part = _smooth(duration_s)
        turned = quaternion.from_rotation_vector(np.outer(part * np.radians(angle_deg), [0, 0, 1]))
        self._add(steps, quaternion.multiply(turned, self.here), duration_s)
        last = quaternion.from_rotation_vector([0.0, 0.0, np.radians(angle_deg)])
        self.here = quaternion.multiply(last, self.here)
        return self

    def _add(self, steps, attitudes, duration_s):
        self.t_s.append(self.now_s + steps)
        self.q.append(attitudes)
        self.now_s += duration_s
        return self

    def motion(self):
        t_s, q = np.concatenate(self.t_s), quaternion.make_continuous(np.concatenate(self.q))
        return PoseSpline.from_poses(t_s, np.zeros((len(t_s), 3)), q, mode="interpolate")


def _smooth(duration_s):
    u = np.arange(0.0, duration_s - 1e-9, STEP_S) / duration_s
    return u * duration_s, u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)


def attitudes(count, seed, *, upper_half=False):
    """Random attitudes from level on; of the upper half, the z axis never points down."""
    q = quaternion.normalize(np.random.default_rng(seed).normal(size=(20 * count, 4)))
    if upper_half:
        q = q[quaternion.rotate(q, [0.0, 0.0, 1.0])[:, 2] > 0.1]
    return np.vstack([quaternion.IDENTITY, q[: count - 1]])


@cache
def tumble(count=30, seed=11, *, turn_s=1.2, upper_half=False):
    """Return a motion that rests in many attitudes, in the first for longer."""
    plan = Plan().rest(30.5)
    for attitude in attitudes(count, seed, upper_half=upper_half)[1:]:
        plan.turn_to(attitude, turn_s).rest(2.0)
    return plan.motion()


def up(face):
    """An attitude with an axis of the body up (``x_p``) or down (``x_a``)."""
    axis = np.eye(3)["xyz".index(face[0])] * (1.0 if face.endswith("p") else -1.0)
    if axis[2] < -0.5:
        return np.array([1.0, 0.0, 0.0, 0.0])
    about = np.cross(axis, [0.0, 0.0, 1.0])
    return quaternion.from_rotation_vector(np.pi / 2.0 * about)


@cache
def faces(order=("z_p", "x_p", "x_a", "y_p", "y_a", "z_a"), turns=("x_p", "y_p", "z_p"), *,
          turn_deg=(360.0, 360.0, 360.0)):  # fmt: skip
    """Return a motion over faces, with a turn on some of them, and the sections of both."""
    plan, sections = Plan(up(order[0])), {}
    for face in order:
        if sections:
            plan.turn_to(up(face), 2.0)
        begin_s = plan.now_s
        plan.rest(5.0)
        sections[face] = _rows(begin_s + 0.5, plan.now_s - 0.5)
        if face in turns:
            begin_s = plan.now_s
            plan.turn(turn_deg["xyz".index(face[0])], 4.0)
            sections[f"{face[0]}_rot"] = _rows(begin_s - 0.2, plan.now_s + 0.2)
            plan.rest(3.0)
    return plan.motion(), sections


def _rows(start_s, stop_s, rate_hz=100):
    return round(start_s * rate_hz), round(stop_s * rate_hz)


def spec(*, noise=True, **gyro):
    """A sensor with known bias, scale and misalignment."""
    return ImuSpec(
        accel=TriadSpec(
            bias=ACCEL_BIAS.tolist(), scale_misalignment=ACCEL_E.tolist(),
            noise_density=1.5e-3 if noise else None,
        ),
        gyro=TriadSpec(
            bias=GYRO_BIAS.tolist(), scale_misalignment=GYRO_E.tolist(),
            noise_density=1e-4 if noise else None, **gyro,
        ),
        rate_hz=100,
    )  # fmt: skip


def recorded(motion, sensor=None, *, seed=0):
    """Return the series of a sensor on a motion."""
    return simulate(motion, sensor or spec(), seed=seed).samples.series()


@cache
def tumbled(*, noise=True):
    """Return the series of the usual session, with or without noise."""
    return recorded(tumble(), spec(noise=noise))
