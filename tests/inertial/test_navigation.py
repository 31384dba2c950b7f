"""Attitude, velocity and position from increments and samples."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.inertial import WindowRule, integrate
from strapdown.inertial.navigation import NavigationStart, Place, mechanise
from strapdown.inertial.navigation import mechanisation as kernels
from strapdown.motion import (
    Circle,
    Coning,
    FlatEarth,
    Mounted,
    MultiSine,
    Sculling,
    Sines,
    Static,
    Wgs84,
)
from strapdown.series import ImuSeries, Increments

LATITUDE, HEIGHT = 0.8, 100.0
ON_EARTH = Place("wgs84", latitude=LATITUDE, height=HEIGHT)


def sines(rng, least, most):
    return Sines(
        rng.uniform(least, most, (3, 3)), rng.uniform(1, 5, (3, 3)), rng.uniform(0, 6, (3, 3))
    )


RNG = np.random.default_rng(0)
LIVELY = MultiSine(sines(RNG, 0.1, 0.5), sines(RNG, 0.1, 0.3))


def times(duration_s, rate_hz):
    return np.arange(round(duration_s * rate_hz) + 1) / rate_hz


def stamps(t_s):
    return np.rint(t_s * 1e9).astype(np.int64)


def start_of(truth):
    return NavigationStart(
        truth.q_world_from_body[0], truth.velocity_world[0], truth.position_world[0]
    )


def exact_increments(source, t_s):
    turns, pushes = source.preintegrated(t_s)
    t_ns = stamps(t_s)
    return Increments(t_ns[1:], turns, pushes, np.diff(t_ns), np.diff(t_ns))


def samples(source, t_s):
    return ImuSeries(stamps(t_s), *source.inputs(t_s))


def angle_off(track, truth):
    ours = Rotation.from_quat(track.q_world_from_body)
    return (ours * Rotation.from_quat(truth.q_world_from_body).inv()).magnitude().max()


def off(track, truth):
    return (
        angle_off(track, truth),
        np.abs(track.velocity_world - truth.velocity_world).max(),
        np.abs(track.position_world - truth.position_world).max(),
    )


@pytest.mark.parametrize("duration_s", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_exact_increments_give_back_attitude_velocity_and_position(duration_s):
    t_s = times(duration_s, 1000)
    source = Mounted(LIVELY)
    truth = source.truth(t_s)
    found = mechanise(exact_increments(source, t_s), start_of(truth), velocity_axes="start")
    np.testing.assert_array_less(off(found.trajectory, truth), 1e-10)
    assert (found.holes, found.not_finite, found.integration) == (0, 0, None)
    np.testing.assert_array_equal(found.trajectory.t_ns, truth.t_ns)


@pytest.mark.parametrize(
    ("motion", "duration_s", "bounds"),
    [(LIVELY, 60, (1e-12, 2e-10, 5e-7)), (Circle(1e5, 250.0), 200, (1e-12, 2e-7, 5e-5))],
    ids=["lively", "far"],
)
def test_on_the_turning_earth_too_with_gravity_along_its_normal(motion, duration_s, bounds):
    t_s = times(duration_s, 200 if duration_s < 100 else 20)
    source = Mounted(motion, earth=Wgs84(LATITUDE, 0.1, HEIGHT))
    truth = source.truth(t_s)
    found = mechanise(
        exact_increments(source, t_s), start_of(truth), place=ON_EARTH, velocity_axes="start"
    )
    np.testing.assert_array_less(off(found.trajectory, truth), bounds)


def test_leaving_the_turn_of_the_earth_out_is_wrong_by_what_coriolis_says():
    t_s = times(100, 20)
    source = Mounted(Circle(1e6, 250.0), earth=Wgs84(LATITUDE, 0.1, HEIGHT))
    truth = source.truth(t_s)
    flat = Place(gravity=float(-Wgs84(LATITUDE, 0.1, HEIGHT).gravity_world(np.zeros((1, 3)))[0, 2]))
    increments = exact_increments(source, t_s)
    for place, least, most in ((flat, 100.0, 1e5), (ON_EARTH, 0.0, 1e-4)):
        found = mechanise(increments, start_of(truth), place=place, velocity_axes="start")
        assert least < off(found.trajectory, truth)[2] < most


@pytest.mark.parametrize("climb", [0.0, 0.7])
def test_constant_rate_and_specific_force_are_exact_at_any_step(climb):
    t_s = times(20, 5)
    source = Mounted(Circle(5.0, 2.0, climb))
    truth = source.truth(t_s)
    series = samples(source, t_s)
    for data in (series, integrate(series, window=WindowRule(1)).increments):
        found = mechanise(data, start_of(truth)).trajectory
        np.testing.assert_array_less(off(found, truth), 1e-12 if climb == 0.0 else 2e-12)


def test_coning_and_sculling_converge_with_the_order_of_the_quadrature():
    errors = []
    for rate_hz in (200, 400):
        t_s = times(10, rate_hz)
        row = []
        for motion, part in ((Coning(0.02, 60.0), 0), (Sculling(0.02, 10.0, 60.0), 1)):
            source = Mounted(motion)
            truth = source.truth(t_s)
            row.append(
                off(mechanise(samples(source, t_s), start_of(truth)).trajectory, truth)[part]
            )
        errors.append(row)
    # without correction, coning alone adds 60 (1 - cos 0.02) 10 = 0.12 rad, sculling 1 m/s
    np.testing.assert_array_less(errors[0], [2e-4, 5e-3])
    assert (np.array(errors[0]) > 7.0 * np.array(errors[1])).all()


def test_position_profits_from_the_change_of_specific_force_within_a_step():
    t_s = times(20, 100)
    source = Mounted(LIVELY)
    truth = source.truth(t_s)
    increments = exact_increments(source, t_s)
    good = mechanise(increments, start_of(truth), velocity_axes="start").trajectory
    # without rotation: half of the push times the step
    pushes = Rotation.from_quat(truth.q_world_from_body[:-1]).apply(
        increments.delta_velocity.copy()
    )
    plain = np.cumsum(truth.velocity_world[:-1] / 100 + (pushes - [0, 0, 0.0980665]) / 200, axis=0)
    error = np.abs(plain - np.diff(truth.position_world, axis=0).cumsum(axis=0)).max()
    assert off(good, truth)[2] < error / 100


@pytest.mark.parametrize("window", [1, 4])
def test_samples_and_windows_of_samples_lead_to_the_same_place(window):
    t_s = times(20, 800)
    source = Mounted(LIVELY)
    truth = source.truth(t_s)
    data = integrate(samples(source, t_s), window=WindowRule(window)).increments
    found = mechanise(data, start_of(truth)).trajectory
    assert off(found, truth[::window])[2] < 1e-3


def test_a_body_at_rest_on_the_turning_earth_stays_where_it_is():
    source = Mounted(Static(), earth=Wgs84(LATITUDE, 0.1, HEIGHT))
    t_s = times(60, 50)
    found = mechanise(samples(source, t_s), place=ON_EARTH).trajectory
    np.testing.assert_array_less(off(found, source.truth(t_s)), [1e-12, 1e-9, 5e-8])
    drifting = mechanise(samples(source, t_s)).trajectory
    assert angle_off(drifting, source.truth(t_s)) == pytest.approx(7.292115e-5 * 60, rel=1e-6)


@pytest.mark.parametrize(
    "position", [(0.0, 0.0, 0.0), (1e4, -2e5, 3e3), (1e6, 1e6, -1e5), (0.0, 0.0, 2e4)]
)
def test_gravity_is_normal_gravity_under_the_body(position):
    expected = Wgs84(LATITUDE, 0.1, HEIGHT).gravity_world(np.array([position]))[0]
    found = kernels.gravity_at(ON_EARTH.for_kernels(), position)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_biases_are_subtracted():
    t_s = times(5, 100)
    source = Mounted(LIVELY)
    truth = source.truth(t_s)
    w, f = source.inputs(t_s)
    b_g, b_a = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.0, -1.5])
    clean = mechanise(ImuSeries(stamps(t_s), w, f), start_of(truth)).trajectory
    biased = ImuSeries(stamps(t_s), w + b_g, f + b_a)
    found = mechanise(biased, start_of(truth), gyro_bias=b_g, accel_bias=b_a).trajectory
    # coning and sculling are those of the readings, bias included
    np.testing.assert_allclose(found.position_world, clean.position_world, atol=3e-3)


def test_holes_and_rows_that_are_not_finite_are_bridged_and_counted():
    t_s = times(20, 100)
    source = Mounted(Circle(5.0, 2.0))
    truth = source.truth(t_s)
    whole = exact_increments(source, t_s)
    turns = whole.delta_angle.copy()
    turns[300] = np.nan
    torn = whole.replace(delta_angle=turns)[np.r_[0:100, 150:2000]]
    found = mechanise(torn, start_of(truth), velocity_axes="start")
    assert (found.holes, found.bridged_ns, found.not_finite) == (2, 510_000_000, 1)
    # rate and specific force on the circle are constant, so that the result is exact
    np.testing.assert_allclose(
        found.trajectory.position_world[-1], truth.position_world[-1], atol=1e-9
    )
    np.testing.assert_array_equal(
        found.trajectory.position_world[251], found.trajectory.position_world[250]
    )


def test_what_became_of_samples_is_told():
    t_s = times(2, 100)
    data = samples(Mounted(LIVELY), t_s)
    w = data.angular_velocity.copy()
    w[50, 1] = np.inf
    found = mechanise(data.replace(angular_velocity=w))
    assert found.integration.not_finite == 1
    assert len(found.trajectory) == len(data) - 1


def test_any_body_axes_will_do():
    t_s = times(5, 100)
    source = Mounted(LIVELY)
    data = samples(source, t_s)
    truth = source.truth(t_s)
    down = truth.in_frames(body=BodyFrame.FRD)
    found = mechanise(data.in_frames(body=BodyFrame.FRD), start_of(down)).trajectory
    assert found.body == BodyFrame.FRD
    same = mechanise(data, start_of(truth)).trajectory
    np.testing.assert_allclose(found.position_world, same.position_world, atol=1e-12)
    np.testing.assert_allclose(
        found.in_frames(body=BodyFrame.FLU).q_world_from_body, same.q_world_from_body, atol=1e-12
    )


def test_flat_earth_is_the_default_world():
    t_s = times(5, 100)
    source = Mounted(LIVELY, earth=FlatEarth())
    truth = source.truth(t_s)
    assert off(mechanise(samples(source, t_s), start_of(truth)).trajectory, truth)[2] < 1e-3


def test_what_cannot_be_navigated_is_refused():
    one = Increments([10, 20], np.zeros((2, 3)), np.zeros((2, 3)), 10, 10)
    with pytest.raises(TimeOrderError, match="20 ns after 20 ns"):
        mechanise(one[[1, 1]])
    with pytest.raises(ShapeError, match="got none"):
        mechanise(one[:0])
    with pytest.raises(UnknownNameError, match="middle"):
        mechanise(one, velocity_axes="end")
    with pytest.raises(UnknownNameError, match="wgs84"):
        Place("round")
    with pytest.raises(ValueRangeError, match="latitude"):
        Place("wgs84", latitude=47.0)
    with pytest.raises(ValueRangeError, match="gravity"):
        Place(gravity=0.0)
    with pytest.raises(ShapeError, match="velocity_world"):
        NavigationStart(velocity_world=np.zeros((2, 3)))
    with pytest.raises(ValueRangeError, match="zero"):
        NavigationStart((0.0, 0.0, 0.0, 0.0))
