"""What holds of every named motion."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.motion.catalogue import DESCRIPTIONS, MOTIONS
from strapdown.motion.earth import FlatEarth
from strapdown.motion.mount import Mount, Mounted

# Central difference of eighth order (Fornberg, Mathematics of Computation 51, 1988).
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])

STEP = {"chirp": 1e-3, "sculling": 1.5e-3}
FINITE = [name for name, motion in MOTIONS.items() if math.isfinite(motion.end_s)]


def clear_instants(motion, margin):
    """Instants of one minute whose neighbourhood is within the motion and free of breaks."""
    start, end = max(motion.start_s, -5.0), min(motion.end_s, 60.0)
    t = np.random.default_rng(4).uniform(start + margin, end - margin, 300)
    if motion.breaks_s.size:
        t = t[np.abs(t[:, None] - motion.breaks_s).min(axis=1) > margin]
    return t


@pytest.mark.parametrize("name", MOTIONS)
def test_every_derivative_is_the_derivative(name):
    motion, step = MOTIONS[name], STEP.get(name, 4e-3)
    t = clear_instants(motion, 5 * step)
    truth = motion.at(t)
    start = Rotation.from_quat(truth.q_world_from_body)

    def turned(u):
        return (start.inv() * Rotation.from_quat(motion.at(u).q_world_from_body)).as_rotvec()

    for state, derivative in [
        (lambda u: motion.at(u).position_world, truth.velocity_world),
        (lambda u: motion.at(u).velocity_world, truth.acceleration_world),
        (turned, truth.angular_velocity),
        (lambda u: motion.at(u).angular_velocity, truth.angular_acceleration),
    ]:
        found = sum(w * state(t + k * step) for k, w in zip(OFFSETS, WEIGHTS, strict=True)) / step
        rounding = 4e-16 * np.abs(state(t)).max() / step
        # of the steepest motion; an error in a formula is as large as the derivative
        tolerance = 2e-9 * max(np.abs(derivative).max(), 1e-2) + rounding
        np.testing.assert_allclose(found, derivative, atol=tolerance, rtol=0.0)


@pytest.mark.parametrize("name", MOTIONS)
def test_attitudes_have_unit_length(name):
    t = clear_instants(MOTIONS[name], 0.0)
    length = np.linalg.norm(MOTIONS[name].at(t).q_world_from_body, axis=1)
    np.testing.assert_allclose(length, 1.0, atol=1e-15, rtol=0.0)


@pytest.mark.parametrize("name", MOTIONS)
def test_one_instant_alone_has_the_same_bits(name):
    motion = MOTIONS[name]
    t = clear_instants(motion, 0.0)[:57]
    together = motion.at(t)
    alone = [motion.at(t[i : i + 1]) for i in range(len(t))]
    for field, column in vars(together).items():
        np.testing.assert_array_equal(np.concatenate([vars(k)[field] for k in alone]), column)


@pytest.mark.parametrize("duration_s", [18.0, pytest.param(40.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.by_default(
    "static-18.0",
    "circle-18.0",
    "helix-18.0",
    "multi_sine-18.0",
    "wander-18.0",
    "lissajous-18.0",
    "six_position-18.0",
)
def test_samples_and_increments_have_the_same_bits_in_any_portions(name, duration_s):
    source = Mounted(MOTIONS[name])
    t = max(source.start_s, 0.0) + np.arange(0.0, duration_s, 0.17)
    cuts = [0, 1, 2, 9, 100, len(t) - 1]
    parts = list(pairwise(cuts))
    for whole, pieces in [
        (source.inputs(t[:-1]), [source.inputs(t[i:j]) for i, j in parts]),
        (source.integrals(t), [source.integrals(t[i : j + 1]) for i, j in parts]),
        (source.preintegrated(t), [source.preintegrated(t[i : j + 1]) for i, j in parts]),
    ]:
        for column, portions in zip(whole, zip(*pieces, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(portions), column)


@pytest.mark.parametrize("name", FINITE)
def test_a_motion_ends_where_it_says(name):
    motion = MOTIONS[name]
    assert len(motion.at([motion.start_s, motion.end_s]).t_s) == 2
    with pytest.raises(
        ValueRangeError, match=rf"within 0\.0 \.\.\. {motion.end_s} s, got t_s\[1\]"
    ):
        motion.at([0.0, motion.end_s + 1e-6])
    with pytest.raises(ValueRangeError, match=r"got t_s\[0\] = -0\.5; ask for a time"):
        motion.at([-0.5])


@pytest.mark.parametrize("name", FINITE)
def test_states_are_continuous_at_breaks(name):
    motion = MOTIONS[name]
    before, after = (motion.at(motion.breaks_s + s) for s in (-1e-9, 1e-9))
    for field in vars(before):
        np.testing.assert_allclose(vars(after)[field], vars(before)[field], atol=1e-7, rtol=0.0)


def test_every_motion_has_a_line_about_it():
    assert list(DESCRIPTIONS) == list(MOTIONS)
    assert all(0 < len(line) < 80 and "\n" not in line for line in DESCRIPTIONS.values())


def test_multi_sine_stays_below_3_hz_and_clear_of_the_gimbal():
    motion = MOTIONS["multi_sine"]
    assert motion.position.angular_frequency.max() <= 6.0 * math.pi
    pitch = motion.roll_pitch_yaw.derivatives(np.arange(0.0, 60.0, 0.01))[0][:, 1]
    assert np.abs(pitch).max() < math.radians(60.0)


# -- by machine code --------------------------------------------------------------------------

ONE_OF_EACH_LAW = [name for name in MOTIONS if name not in {"helix", "multi_sine", "lissajous"}]
WHOLE, PARTS = 20_000, 8  # instants that machine code evaluates, and parts that arrays do


def assert_whole_is_parts(ask, t):
    for whole, *parts in zip(ask(t), *(ask(part) for part in np.split(t, PARTS)), strict=True):
        assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("name", ONE_OF_EACH_LAW)
@pytest.mark.by_default("static", "free_fall", "circle", "wander", "six_position")
def test_machine_code_gives_what_a_sensor_feels_to_the_bit(name):
    t = np.linspace(0.0, min(MOTIONS[name].end_s, 1000.0), WHOLE)
    assert_whole_is_parts(Mounted(MOTIONS[name]).inputs, t)
    tilted = Mount([[0.1, 0.0, 0.2], [0.0, -0.1, 0.0], [0.0, 0.0, 0.0]], [1, 2, 3, 4], [4, 3, 2, 1])
    assert_whole_is_parts(Mounted(MOTIONS[name], tilted).inputs, t)


@pytest.mark.parametrize("name", ["wander", "circle"])
def test_machine_code_gives_the_truth_to_the_bit(name):
    t = np.linspace(0.0, 1000.0, WHOLE)
    source = Mounted(MOTIONS[name], Mount([0.1, -0.2, 0.3], q_body_from_accel=[4, 3, 2, 1]))

    def poses(part):
        truth = source.truth(part)
        return truth.q_world_from_body, truth.position_world, truth.velocity_world

    assert_whole_is_parts(poses, t)


@pytest.mark.parametrize("name", ["wander", "six_position"])
def test_machine_code_gives_the_state_to_the_bit(name):
    t = np.linspace(0.0, min(MOTIONS[name].end_s, 1000.0), WHOLE)
    assert_whole_is_parts(lambda part: vars(MOTIONS[name].at(part)).values(), t)


@pytest.mark.parametrize("name", MOTIONS)
def test_a_sensor_feels_the_state_of_the_body(name):
    t = np.linspace(0.0, min(MOTIONS[name].end_s, 60.0), 50)
    state = MOTIONS[name].at(t)
    rate, force = Mounted(MOTIONS[name]).inputs(t)
    assert np.array_equal(rate, state.angular_velocity)
    expected = state.specific_force(FlatEarth().gravity_world(np.zeros(3)))
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-13)
