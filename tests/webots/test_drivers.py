"""Prescribed motions of a robot, in the axes of each kind of world."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import DeviceError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.motion import MOTIONS, Replay
from strapdown.motion.tree import Hinge, KinematicTree, Link, Slider
from strapdown.series import ImuSeries, Trajectory
from strapdown.simulation import find_motion
from strapdown.webots.file.conventions import Conventions
from strapdown.webots.scene.drivers import as_driver

# The axes of each world in ENU, as columns; and those of a node in FLU.
WORLDS = {
    "ENU": np.eye(3),
    "NUE": np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], float),
    "EUN": np.array([[-1, 0, 0], [0, 0, 1], [0, 1, 0]], float),
}
BODIES = {
    "ENU": np.eye(3),
    "NUE": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float),
    "EUN": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float),
}


def axes_of(system):
    return Conventions(system, (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, -9.81))


def swing(t_s):
    """Return an oscillating position with its two derivatives."""
    return 0.3 * np.sin(2.0 * t_s), 0.6 * np.cos(2.0 * t_s), -1.2 * np.sin(2.0 * t_s)


MOTION = KinematicTree(
    [
        Link(
            "body",
            [
                Slider((1, 2, 0), swing),
                Hinge((0, 0, 1), lambda t_s: (t_s, 1.0, 0.0)),
                Hinge((0, 1, 0), swing),
            ],
        )
    ]
).motion("body")


def state(t_s):
    """Return a state from formulas: along a cubic in x, with a growing rate about z."""
    q = Rotation.from_rotvec([0, 0, t_s**2]).as_quat() * 2.0
    return (2.0 * t_s**3, 0.0, -t_s), q, (6.0 * t_s**2, 0.0, -1.0), (0.0, 0.0, 2.0 * t_s)


@pytest.mark.parametrize("system", WORLDS)
def test_a_motion_is_turned_to_the_axes_of_the_world(system):
    t_s = np.linspace(0.0, 3.0, 20)
    states = as_driver(MOTION, axes_of(system), era=False).states(t_s)
    known = MOTION.at(t_s)
    R = Rotation.from_quat(known.q_world_from_body).as_matrix()
    world, body = WORLDS[system], BODIES[system]
    np.testing.assert_allclose(states.R_world_from_body, world.T @ R @ body, atol=1e-14)
    turned = {
        "position": known.position_world,
        "velocity": known.velocity_world,
        "angular_velocity": (R @ known.angular_velocity[..., None])[..., 0],
        "acceleration": known.acceleration_world,
        "angular_acceleration": (R @ known.angular_acceleration[..., None])[..., 0],
    }
    for field, vector in turned.items():
        got = getattr(states, field)
        np.testing.assert_allclose(got, vector @ world, atol=1e-13, err_msg=field)


def test_a_trajectory_is_a_spline_from_its_first_stamp():
    t_s = np.linspace(0.0, 2.0, 201)
    known = MOTION.at(t_s)
    stamps = np.rint(1e9 * (t_s + 100.0)).astype(np.int64)
    recorded = Trajectory(stamps, known.q_world_from_body, position_world=known.position_world)
    driver = as_driver(recorded, axes_of("ENU"), era=False)
    assert (driver.start_s, driver.end_s) == (0.0, pytest.approx(2.0))
    inside = np.linspace(0.5, 1.5, 33)
    states = driver.states(inside)
    expected = as_driver(MOTION, axes_of("ENU"), era=False).states(inside)
    for got, wanted in zip(states, expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-6)


@pytest.mark.parametrize("form", [state, SimpleNamespace(state=state)])
def test_a_function_gives_states_in_the_axes_of_the_world(form):
    t_s = np.array([0.0, 0.5, 1.0])
    driver = as_driver(form, axes_of("NUE"), era=True)
    assert (driver.start_s, driver.end_s) == (0.0, math.inf)
    states = driver.states(t_s)
    expected = Rotation.from_rotvec(np.outer(t_s**2, [0, 0, 1])).as_matrix()
    np.testing.assert_allclose(states.R_world_from_body, expected, atol=1e-15)
    np.testing.assert_allclose(states.position[:, 0], 2.0 * t_s**3)
    np.testing.assert_allclose(states.velocity[:, 0], 6.0 * t_s**2)
    np.testing.assert_allclose(states.angular_velocity[:, 2], 2.0 * t_s)
    assert np.isnan(states.acceleration).all()
    assert np.isnan(states.angular_acceleration).all()


def test_accelerations_that_a_function_does_not_know_are_central_differences():
    t_s = np.array([0.0, 0.5, 1.0])
    states = as_driver(state, axes_of("ENU"), era=False).states(t_s)
    np.testing.assert_allclose(states.acceleration[1:, 0], 12.0 * t_s[1:], atol=1e-7)
    assert states.acceleration[0, 0] == pytest.approx(0.0, abs=1e-3)  # one-sided: no time before
    np.testing.assert_allclose(states.angular_acceleration[:, 2], 2.0, atol=1e-9)


@pytest.mark.parametrize("era", [True, False])
def test_accelerations_that_a_function_knows_are_taken_as_they_are(era):
    def full(t_s):
        return *state(t_s), (t_s, 8.0, 9.0), (7.0, 8.0, t_s)

    states = as_driver(full, axes_of("ENU"), era=era).states(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(states.acceleration, [[1, 8, 9], [2, 8, 9]])
    np.testing.assert_array_equal(states.angular_acceleration, [[7, 8, 1], [7, 8, 2]])


def test_a_driver_stands_still_outside_its_span():
    asked = []

    def remembering(t_s):
        asked.append(t_s)
        return state(t_s)

    form = SimpleNamespace(state=remembering, start_s=1.0, end_s=2.0)
    driver = as_driver(form, axes_of("ENU"), era=False)
    states = driver.states(np.array([0.0, 1.5, 7.0]))
    assert states.position[0, 0] == 2.0
    assert states.position[2, 0] == 16.0
    assert (min(asked), max(asked)) == (1.0, 2.0)
    assert states.acceleration[1, 0] == pytest.approx(18.0)


def test_what_is_no_motion_is_refused():
    axes = axes_of("ENU")
    with pytest.raises(TypeError, match=r"expected a motion, a trajectory, or a function.*got int"):
        as_driver(3, axes, era=True)
    short = as_driver(lambda t_s: state(t_s)[:3], axes, era=True)
    with pytest.raises(ShapeError, match=r"expected a state of position.*got 3 parts at 0.25 s"):
        short.states(np.array([0.25]))
    flat = as_driver(lambda t_s: ((0, 0), *state(t_s)[1:]), axes, era=True)
    with pytest.raises(ShapeError, match="position of a state"):
        flat.states(np.zeros(1))
    ragged = as_driver(lambda t_s: ((0, 0, 0)[: int(t_s)], *state(t_s)[1:]), axes, era=True)
    with pytest.raises(ShapeError, match="position of a state"):
        ragged.states(np.array([2.0, 3.0]))
    lost = as_driver(lambda t_s: ((0, 0, math.nan), *state(t_s)[1:]), axes, era=True)
    with pytest.raises(ValueRangeError, match="finite position of a state"):
        lost.states(np.zeros(1))


def test_names_and_rides_move_as_the_motion_itself_does():
    instants = np.linspace(0.0, 3.0, 7)
    expected = as_driver(MOTIONS["wander"], axes_of("ENU"), era=False).states(instants)
    for motion in ("wander", find_motion("wander")):
        states = as_driver(motion, axes_of("ENU"), era=False).states(instants)
        np.testing.assert_array_equal(states.position, expected.position)
        np.testing.assert_array_equal(states.R_world_from_body, expected.R_world_from_body)
    with pytest.raises(UnknownNameError, match="wander"):
        as_driver("wonder", axes_of("ENU"), era=False)


def test_a_recording_of_a_sensor_moves_no_body():
    series = ImuSeries(np.arange(9) * 10_000_000, np.zeros((9, 3)), np.ones((9, 3)))
    with pytest.raises(DeviceError, match="got sensor readings"):
        as_driver(Replay(series), axes_of("ENU"), era=False)
