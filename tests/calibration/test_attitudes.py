"""Running calibration of the accelerometer from attitudes at rest."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.calibration import AccelCalibrator, RestInterval, rest_calibration
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries

G = 9.81
A = np.array([[1.01, 0.004, -0.003], [0.0, 0.99, 0.002], [0.0, 0.0, 1.005]])
B = np.array([0.1, -0.2, 0.3])
RATE_HZ = 50


def at_rest(directions, seed=0, sigma=1e-3):
    rng = np.random.default_rng(seed)
    for u in directions:
        s = np.linalg.solve(A, G * u) + B + sigma * rng.normal(size=3)
        zero = np.zeros(3)
        yield RestInterval(
            t_start_ns=0, t_end_ns=1,
            gyro_bias=zero, gyro_bias_sigma=zero + 1e-4, common_sigma=zero,
            specific_force=s, specific_force_sigma=zero + sigma,
        )  # fmt: skip


def directions(count, seed=1):
    u = np.random.default_rng(seed).normal(size=(count, 3))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def fitted(directions, seed=0):
    calibrator = AccelCalibrator(G)
    for each in at_rest(directions, seed):
        calibrator.add(each)
    return calibrator.fit()


def test_many_attitudes_give_bias_scale_and_misalignment():
    scores = []
    for seed in range(8):
        triad = fitted(directions(30, seed), seed + 100).triad
        scores.append((triad.bias - B) / triad.sigma_bias)
        upper = np.triu_indices(3)
        scores += [((triad.matrix - A) / np.where(A, triad.sigma_matrix, 1.0))[upper]]
    assert np.abs(np.concatenate(scores)).max() < 4.5
    assert 0.7 < np.concatenate(scores).std() < 1.3


def test_few_attitudes_give_nothing():
    assert fitted(directions(11)) is None


def test_attitudes_about_one_axis_give_nothing():
    angles = np.linspace(0.0, 2.0 * np.pi, 18, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    assert fitted(ring) is None


def test_a_frequent_attitude_is_kept_once():
    calibrator = AccelCalibrator(G)
    many = np.vstack([np.tile([0.0, 0.0, 1.0], (500, 1)), directions(150)])
    for each in at_rest(many):
        calibrator.add(each)
    forces = calibrator.specific_forces
    assert 25 < len(forces) <= 64
    up = forces[:, 2] / np.linalg.norm(forces, axis=1)
    assert (up > np.cos(np.deg2rad(10.0))).sum() <= 2


def test_a_recording_at_rest_in_many_attitudes_calibrates_its_accelerometer():
    rng = np.random.default_rng(3)
    poses = Rotation.random(16, rng=rng)
    rest, turn = 8 * RATE_HZ, RATE_HZ
    up, w = [], []
    for k, pose in enumerate(poses):
        up.append(np.tile(pose.inv().apply([0.0, 0.0, 1.0]), (rest, 1)))
        w.append(np.zeros((rest, 3)))
        step = (pose.inv() * poses[(k + 1) % 16]).as_rotvec()
        part = np.linspace(0.0, 1.0, turn)[:, None] * step
        up.append((pose * Rotation.from_rotvec(part)).inv().apply([0.0, 0.0, 1.0]))
        w.append(np.tile(step, (turn, 1)))
    up, w = np.vstack(up), np.vstack(w)
    f = np.linalg.solve(A, G * up.T).T + B + 0.01 * rng.normal(size=up.shape)
    w = w + [0.01, -0.02, 0.0] + 0.001 * rng.normal(size=up.shape)
    series = ImuSeries(np.arange(len(w)) * 20_000_000, w, f).in_frames(body="FRD")
    found = rest_calibration(series, gravity=G)
    assert found.accel is not None
    out = found.calibration.apply(series).specific_force
    quiet = np.arange(len(w)) % (rest + turn) < rest
    before = np.linalg.norm(series.specific_force[quiet], axis=1) - G
    after = np.linalg.norm(out[quiet], axis=1) - G
    assert np.sqrt(np.mean(before**2)) > 0.1
    assert np.sqrt(np.mean(after**2)) < 0.012  # the noise
    assert "accelerometer: bias, scale and misalignment from" in found.lines()[2]
    assert found.warnings == ()
    assert "gravity is not known" in rest_calibration(series).warnings[0]


def test_bad_gravity_is_named():
    with pytest.raises(ValueRangeError, match="gravity above 0, got 0"):
        AccelCalibrator(0.0)
