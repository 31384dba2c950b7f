from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

import strapdown.formats
from strapdown.errors import ShapeError, TimeOrderError, UnknownNameError, ValueRangeError
from strapdown.motion.analytic import MultiSine, Sines
from strapdown.motion.spline import PoseSpline, SplineWarning
from strapdown.series import Trajectory

# Five sines a channel, evenly spread over the band, of 15 mm and 47 mrad each. With these,
# backward differences err as in the first columns of the table below.
BAND = np.tile([0.15, 0.35, 0.55, 0.75, 0.95], (3, 1))
AMPLITUDE_M, AMPLITUDE_RAD = 0.0146, 0.047


def lively(fastest_hz, seed=1):
    random = np.random.default_rng(seed)

    def sines(amplitude):
        phase = random.uniform(0.0, 2.0 * math.pi, BAND.shape)
        return Sines(np.full(BAND.shape, amplitude), 2.0 * math.pi * fastest_hz * BAND, phase)

    return MultiSine(sines(AMPLITUDE_M), sines(AMPLITUDE_RAD))


def through(truth, mode="interpolate", **options):
    return PoseSpline.from_poses(
        truth.t_s, truth.position_world, truth.q_world_from_body, mode=mode, **options
    )


def rms(error):
    """RMS of the length of vectors (N, 3)."""
    return np.sqrt(np.mean(np.sum(error**2, axis=-1)))


def errors(got, truth):
    return (
        rms(got.angular_velocity - truth.angular_velocity),
        rms(got.acceleration_world - truth.acceleration_world),
    )


@pytest.mark.parametrize(
    ("fastest_hz", "poses_hz", "differences", "cubic", "quintic"),
    [
        (1, 50, (3.0e-2, 4.4e-2), (4.8e-6, 4.0e-4), (2.3e-9, 1.4e-7)),
        (3, 100, (1.1e-1, 5.4e-1), (3.0e-5, 7.1e-3), (3.2e-8, 5.6e-6)),
        (8, 200, (4.0e-1, 5.5), (2.0e-4, 1.1e-1), (3.8e-7, 1.4e-4)),
        (8, 1000, (8.1e-2, 1.1), (7.7e-8, 8.4e-3), (1.1e-11, 3.3e-7)),
    ],
)
def test_a_quintic_spline_errs_by_no_more_than_one_and_a_half_times_the_table(
    fastest_hz, poses_hz, differences, cubic, quintic
):
    # Gyro [rad/s] and acceleration [m/s^2], at 1 kHz, without the outermost second.
    motion = lively(fastest_hz)
    poses = motion.at(np.arange(8 * poses_hz + 1) / poses_hz)
    truth = motion.at(np.arange(1000, 7001) / 1000)
    attitudes = Rotation.from_quat(poses.q_world_from_body)

    turned = (attitudes[:-1].inv() * attitudes[1:]).as_rotvec() * poses_hz
    gained = np.diff(poses.velocity_world, axis=0) * poses_hz
    backward = (
        rms(turned - poses.angular_velocity[1:]),
        rms(gained - poses.acceleration_world[1:]),
    )
    np.testing.assert_allclose(backward, differences, rtol=0.15)

    rotation_spline = RotationSpline(poses.t_s, attitudes)
    cubic_spline = CubicSpline(poses.t_s, poses.position_world)
    competitor = (
        rms(rotation_spline(truth.t_s, 1) - truth.angular_velocity),
        rms(cubic_spline(truth.t_s, 2) - truth.acceleration_world),
    )
    assert np.all(np.abs(np.log(np.divide(competitor, cubic))) < math.log(1.5))

    ours = errors(through(poses).at(truth.t_s), truth)
    assert np.all(np.divide(ours, quintic) < 1.5)


def noisy(fastest_hz, duration_s=30):
    """Poses at 200 Hz with 1 mm and 5 mrad of noise, and the truth away from the ends."""
    motion, random = lively(fastest_hz), np.random.default_rng(7)
    t_s = np.arange(200 * duration_s + 1) / 200
    exact = motion.at(t_s)
    wrong = Rotation.from_rotvec(random.normal(0.0, 5e-3, (len(t_s), 3)))
    q = (Rotation.from_quat(exact.q_world_from_body) * wrong).as_quat()
    position = exact.position_world + random.normal(0.0, 1e-3, (len(t_s), 3))
    return (t_s, position, q), motion.at(np.arange(3000, 1000 * duration_s - 3000) / 1000)


@pytest.mark.parametrize("duration_s", [12, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("fastest_hz", "knots_per_s", "limit"), [(1, 3, 0.05), (3, 10, 0.4)])
def test_noise_chooses_as_few_knots_as_the_motion_needs(fastest_hz, knots_per_s, limit, duration_s):
    poses, truth = noisy(fastest_hz, duration_s)
    spline = PoseSpline.from_poses(*poses, mode="smooth", sigma_position=1e-3, sigma_attitude=5e-3)
    assert spline.smoothing.knots_per_s == knots_per_s
    assert 0.94e-3 < spline.smoothing.position_residual < 1.02e-3
    assert 4.7e-3 < spline.smoothing.attitude_residual < 5.1e-3
    assert errors(spline.at(truth.t_s), truth)[1] < limit


def test_a_millimetre_of_noise_must_not_be_interpolated():
    poses, truth = noisy(1, duration_s=8)
    spline = PoseSpline.from_poses(*poses, mode="interpolate")
    assert 190.0 < errors(spline.at(truth.t_s), truth)[1] < 270.0


def test_knots_can_be_named_instead_of_the_noise():
    poses, truth = noisy(1, duration_s=8)
    spline = PoseSpline.from_poses(*poses, mode="smooth", knots_per_s=5)
    np.testing.assert_allclose(np.diff(spline.breaks_s), 0.2)
    assert spline.smoothing.knots_per_s == 5
    assert spline.trusted_span_s == pytest.approx((1.0, 7.0))
    assert errors(spline.at(truth.t_s), truth)[1] < 0.06


def test_smoothing_leaves_what_lies_between_the_poses_and_the_spline():
    (t_s, position, q), _ = noisy(1, duration_s=4)
    spline = PoseSpline.from_poses(t_s, position, q, mode="smooth", knots_per_s=5)
    fitted = spline.at(t_s)
    between = Rotation.from_quat(fitted.q_world_from_body).inv() * Rotation.from_quat(q)
    left = spline.smoothing
    shift = position - fitted.position_world
    np.testing.assert_allclose(left.position_residual, np.sqrt(np.mean(shift**2)))
    np.testing.assert_allclose(left.attitude_residual, np.sqrt(np.mean(between.as_rotvec() ** 2)))


def test_the_trusted_span_keeps_the_worse_ends_out():
    motion = lively(3)
    poses = motion.at(np.arange(801) / 200)
    spline = through(poses)
    start, end = spline.trusted_span_s
    assert (start, end) == (poses.t_s[5], poses.t_s[-6])

    def error(first_s, last_s):
        t_s = np.linspace(first_s, last_s, 500)
        return np.array(errors(spline.at(t_s), motion.at(t_s)))

    inside = error(1.0, 3.0)
    for outermost in (error(0.0, 0.005), error(3.995, 4.0)):
        assert np.all(outermost > 30.0 * inside)
    for first in (error(start, start + 0.1), error(end - 0.1, end)):
        assert np.all(first < 3.0 * inside)


def test_few_poses_have_no_trusted_span():
    poses = lively(1).at(np.arange(12) / 50)
    assert through(poses).trusted_span_s == (poses.t_s[5], poses.t_s[6])
    first = lively(1).at(poses.t_s[:11])
    assert through(first).trusted_span_s is None


# Central difference of eighth order (Fornberg, Mathematics of Computation 51, 1988).
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280])


def differentiated(function, t, step=2e-3):
    return sum(w * function(t + k * step) for k, w in zip(OFFSETS, WEIGHTS, strict=True)) / step


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_every_derivative_is_the_derivative(seed):
    random = np.random.default_rng(seed)
    t_s = np.cumsum(random.uniform(0.1, 0.2, 12))
    turns = np.cumsum(random.normal(0.0, 0.15, (12, 3)), axis=0)
    q = Rotation.from_rotvec(turns).as_quat() * random.uniform(0.5, 2.0, (12, 1))
    spline = PoseSpline.from_poses(t_s, random.normal(size=(12, 3)), q, mode="interpolate")
    middles = (spline.breaks_s[:-1] + spline.breaks_s[1:]) / 2.0
    state = spline.at(middles)
    start = Rotation.from_quat(state.q_world_from_body)
    np.testing.assert_allclose(np.linalg.norm(state.q_world_from_body, axis=1), 1.0)
    for function, derivative in [
        (lambda t: spline.at(t).position_world, state.velocity_world),
        (lambda t: spline.at(t).velocity_world, state.acceleration_world),
        (
            lambda t: (
                start.inv() * Rotation.from_quat(spline.at(t).q_world_from_body)
            ).as_rotvec(),
            state.angular_velocity,
        ),
        (lambda t: spline.at(t).angular_velocity, state.angular_acceleration),
    ]:
        scale = max(1.0, np.abs(derivative).max())
        np.testing.assert_allclose(differentiated(function, middles), derivative, atol=1e-8 * scale)


def test_the_spline_goes_through_the_poses_and_jumps_nowhere():
    poses = lively(3).at(np.arange(60) / 50)
    spline = through(poses)
    back = spline.at(poses.t_s)
    np.testing.assert_allclose(back.position_world, poses.position_world, atol=1e-15)
    between = Rotation.from_quat(back.q_world_from_body).inv() * Rotation.from_quat(
        poses.q_world_from_body
    )
    np.testing.assert_allclose(between.magnitude(), 0.0, atol=1e-14)
    knots = spline.breaks_s[1:-1]
    before, after = spline.at(np.nextafter(knots, 0.0)), spline.at(knots)
    for name in ("velocity_world", "acceleration_world", "angular_velocity"):
        np.testing.assert_allclose(getattr(before, name), getattr(after, name), atol=1e-10)


def test_breaks_are_the_knots():
    t_s = np.arange(60) / 50
    spline = through(lively(1).at(t_s))
    np.testing.assert_array_equal(spline.breaks_s, np.concatenate([t_s[:1], t_s[3:-3], t_s[-1:]]))
    assert (spline.start_s, spline.end_s) == (t_s[0], t_s[-1])


def test_standing_still_is_exactly_still_from_the_first_instant():
    t_s = np.sort(np.random.default_rng(3).uniform(0.0, 1.0, 40))
    position = np.tile([4.1e6, -3.3e5, 77.7], (40, 1))
    q = np.tile([0.1, 0.7, -0.1, 0.7], (40, 1))
    spline = PoseSpline.from_poses(t_s, position, q, mode="interpolate")
    state = spline.at(np.linspace(t_s[0], t_s[-1], 777))
    np.testing.assert_array_equal(state.position_world, np.tile(position[0], (777, 1)))
    for name in (
        "velocity_world",
        "acceleration_world",
        "angular_velocity",
        "angular_acceleration",
    ):
        np.testing.assert_array_equal(getattr(state, name), 0.0)


def test_acceleration_is_the_same_far_from_the_origin():
    poses = lively(1).at(np.arange(60) / 50)
    position = np.round(poses.position_world * 2.0**20) / 2.0**20
    near, far = (
        PoseSpline.from_poses(poses.t_s, moved, poses.q_world_from_body, mode="interpolate")
        for moved in (position, position + 2.0**22)  # exact: the sum has 43 bits
    )
    t_s = np.linspace(0.0, 1.0, 100)
    np.testing.assert_array_equal(near.at(t_s).acceleration_world, far.at(t_s).acceleration_world)


def test_signs_and_lengths_of_quaternions_do_not_matter():
    poses = lively(3).at(np.arange(60) / 50)
    signs = np.random.default_rng(5).choice([-2.0, 2.0], (60, 1))
    signs[0] = 2.0
    other = PoseSpline.from_poses(
        poses.t_s, poses.position_world, signs * poses.q_world_from_body, mode="interpolate"
    )
    t_s = np.linspace(0.0, 1.0, 100)
    for name, column in vars(through(poses).at(t_s)).items():
        np.testing.assert_array_equal(getattr(other.at(t_s), name), column)


def test_the_state_is_a_pure_function_of_time():
    spline = through(lively(3).at(np.arange(60) / 50))
    t_s = np.linspace(0.0, 59 / 50, 500)
    order = np.random.default_rng(1).permutation(500)
    straight = spline.at(t_s)
    shuffled = spline.at(t_s[order])
    alone = spline.at(t_s[77:78])
    for name, column in vars(straight).items():
        np.testing.assert_array_equal(getattr(shuffled, name), column[order])
        np.testing.assert_array_equal(getattr(alone, name), column[77:78])


def test_machine_code_gives_the_bits_of_arrays():
    spline = through(lively(3).at(np.arange(30) / 50))
    t_s = np.linspace(0.0, 29 / 50, 20_000)  # so many that they are evaluated by machine code
    compiled, parts = spline.at(t_s), [spline.at(part) for part in np.split(t_s, 10)]
    for name, column in vars(compiled).items():
        np.testing.assert_array_equal(
            column, np.concatenate([getattr(part, name) for part in parts])
        )


def test_making_and_asking_changes_no_input():
    poses = lively(3).at(np.arange(60) / 50)
    arrays = poses.t_s, poses.position_world, -poses.q_world_from_body
    kept = [array.copy() for array in arrays]
    asked = np.linspace(0.0, 1.0, 9)
    for options in ({"mode": "interpolate"}, {"mode": "smooth", "knots_per_s": 10}):
        PoseSpline.from_poses(*arrays, **options).at(asked)
    for array, before in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(asked, np.linspace(0.0, 1.0, 9))


def test_a_spline_can_be_sent_to_another_process():
    spline = through(lively(3).at(np.arange(60) / 50))
    again = pickle.loads(pickle.dumps(spline))  # noqa: S301 (our own bytes)
    np.testing.assert_array_equal(
        again.at([0.5]).acceleration_world, spline.at([0.5]).acceleration_world
    )


# Trajectories and files


@pytest.fixture
def recorded():
    """Two seconds at 200 Hz with the stamps of a day in 2014, as EuRoC's are."""
    poses = lively(1).at(np.arange(401) / 200)
    return poses.trajectory(start_ns=1_403_636_580_838_555_648)


def euroc_text(trajectory):
    rows = ["#timestamp, p_x, p_y, p_z, q_w, q_x, q_y, q_z, v_x, v_y, v_z, 0, 0, 0, 0, 0, 0"]
    for stamp, p, q, v in zip(
        trajectory.t_ns,
        trajectory.position_world,
        trajectory.q_world_from_body,
        trajectory.velocity_world,
        strict=True,
    ):
        numbers = [*p, q[3], *q[:3], *v, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        rows.append(",".join([str(stamp), *(repr(float(n)) for n in numbers)]))
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("kind", ["tum", "csv", "euroc"])
def test_a_trajectory_file_becomes_a_motion(tmp_path, recorded, kind):
    path = tmp_path / f"poses.{'csv' if kind == 'euroc' else kind}"
    if kind == "euroc":
        path.write_text(euroc_text(recorded))
    else:
        strapdown.formats.write(path, recorded)
    (trajectory,) = strapdown.formats.open(path).trajectories.values()
    spline = PoseSpline.from_trajectory(trajectory, mode="interpolate")
    assert spline.start_ns == recorded.t_ns[0]
    assert (spline.start_s, spline.end_s) == (0.0, 2.0)
    truth = lively(1).at(np.linspace(*spline.trusted_span_s, 777))
    gyro, acceleration = errors(spline.at(truth.t_s), truth)
    assert gyro < 1e-8
    assert acceleration < 1e-6


def test_stamps_come_back_as_they_were(recorded):
    spline = PoseSpline.from_trajectory(recorded, mode="interpolate")
    back = spline.at((recorded.t_ns - spline.start_ns) / 1e9).trajectory(start_ns=spline.start_ns)
    np.testing.assert_array_equal(back.t_ns, recorded.t_ns)
    np.testing.assert_allclose(back.position_world, recorded.position_world, atol=1e-15)


def test_a_trajectory_in_other_frames_is_the_same_motion(recorded):
    t_s = np.linspace(0.0, 2.0, 50)
    ours = PoseSpline.from_trajectory(recorded, mode="interpolate").at(t_s)
    other = recorded.in_frames(world="NED", body="FRD")
    theirs = PoseSpline.from_trajectory(other, mode="interpolate").at(t_s)
    np.testing.assert_allclose(theirs.angular_velocity, ours.angular_velocity, atol=1e-12)
    np.testing.assert_allclose(theirs.acceleration_world, ours.acceleration_world, atol=1e-10)


def test_a_trajectory_is_smoothed_with_its_options(recorded):
    spline = PoseSpline.from_trajectory(recorded, mode="smooth", knots_per_s=5)
    assert spline.smoothing.knots_per_s == 5
    assert spline.start_ns == recorded.t_ns[0]


def test_rows_without_a_pose_are_not_dropped_in_silence(recorded):
    q = recorded.q_world_from_body.copy()
    q[[17, 18, 40]] = np.nan
    holed = recorded.replace(q_world_from_body=q)
    with pytest.raises(ValueRangeError, match=r"row 17: .* 3 of 401 rows; keep"):
        PoseSpline.from_trajectory(holed, mode="interpolate")


def test_a_trajectory_without_positions_says_what_to_do(recorded):
    attitude = recorded.replace(position_world=None)
    with pytest.raises(ValueRangeError, match=r"positions.*replace\(position_world="):
        PoseSpline.from_trajectory(attitude, mode="interpolate")
    nowhere = attitude.replace(position_world=np.zeros((len(attitude), 3)))
    turning = PoseSpline.from_trajectory(nowhere, mode="interpolate").at([1.0])
    np.testing.assert_array_equal(turning.acceleration_world, 0.0)
    assert np.any(turning.angular_velocity != 0.0)


@pytest.mark.parametrize(("row", "step"), [(7, 0), (7, -3)])
def test_stamps_of_a_trajectory_must_increase(recorded, row, step):
    t_ns = recorded.t_ns.copy()
    t_ns[row] = t_ns[row - 1] + step
    with pytest.raises(TimeOrderError, match=r"^row 7: ") as caught:
        PoseSpline.from_trajectory(recorded.replace(t_ns=t_ns), mode="interpolate")
    assert caught.value.row == row


def test_an_empty_trajectory_has_too_few_poses():
    empty = Trajectory([], np.zeros((0, 4)), position_world=np.zeros((0, 3)))
    with pytest.raises(ShapeError, match="at least 6 poses"):
        PoseSpline.from_trajectory(empty, mode="interpolate")


# Bad input


def still(rows):
    return np.arange(rows) / 10, np.zeros((rows, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (rows, 1))


@pytest.mark.parametrize(("mode", "fewest"), [("interpolate", 6), ("smooth", 7)])
def test_too_few_poses_are_counted(mode, fewest):
    options = {"knots_per_s": 1} if mode == "smooth" else {}
    PoseSpline.from_poses(*still(fewest), mode=mode, **options)
    with pytest.raises(ShapeError, match=f'at least {fewest} poses for mode="{mode}", got 5'):
        PoseSpline.from_poses(*still(5), mode=mode, **options)


def test_a_mode_must_be_named():
    with pytest.raises(TypeError, match="mode"):
        PoseSpline.from_poses(*still(9))
    with pytest.raises(UnknownNameError, match="spline mode 'cubic'"):
        PoseSpline.from_poses(*still(9), mode="cubic")


@pytest.mark.parametrize(("time", "message"), [(0.4, "0.4 s repeats"), (0.3, "after 0.4 s")])
def test_times_must_increase(time, message):
    t_s, position, q = still(9)
    t_s[5] = time
    with pytest.raises(TimeOrderError, match=f"^row 5: .*{message}") as caught:
        PoseSpline.from_poses(t_s, position, q, mode="interpolate")
    assert (caught.value.row, caught.value.t_ns) == (5, round(time * 1e9))
    assert caught.value.previous_ns == 400_000_000


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_pose_that_is_not_finite_is_named(column):
    arrays = still(9)
    arrays[column][4] = np.nan
    with pytest.raises(ValueRangeError, match=r"\[4(,0)?\] = nan"):
        PoseSpline.from_poses(*arrays, mode="interpolate")


def test_a_zero_quaternion_is_named():
    t_s, position, q = still(9)
    q[4] = 0.0
    with pytest.raises(ValueRangeError, match=r"q\[4\]"):
        PoseSpline.from_poses(t_s, position, q, mode="interpolate")


def test_arrays_must_belong_together():
    t_s, position, q = still(9)
    for arrays in [(t_s[1:], position, q), (t_s, position[1:], q), (t_s[:, None], position, q)]:
        with pytest.raises(ShapeError, match="expected t_s"):
            PoseSpline.from_poses(*arrays, mode="interpolate")
    with pytest.raises(ShapeError, match="q_world_from_body"):
        PoseSpline.from_poses(t_s, position, q[:, :3], mode="interpolate")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "smooth"}, "got none of them"),
        ({"mode": "smooth", "sigma_position": 1e-3}, "got sigma_position$"),
        ({"mode": "smooth", "sigma_attitude": 1e-3, "knots_per_s": 3}, "alone"),
        ({"mode": "interpolate", "sigma_position": 1e-3}, 'belong to mode="smooth"'),
        ({"mode": "waypoints", "knots_per_s": 3}, 'belong to mode="smooth"'),
    ],
)
def test_a_mode_takes_its_own_options(options, message):
    with pytest.raises(TypeError, match=message):
        PoseSpline.from_poses(*still(9), **options)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["knots_per_s", "sigma_position"])
def test_sigmas_and_knots_are_positive(name, value):
    with pytest.raises(ValueRangeError, match=f"{name} above 0"):
        PoseSpline.from_poses(*still(9), mode="smooth", **{name: value})


def test_noise_smaller_than_it_is_cannot_be_reached():
    poses, _ = noisy(1, duration_s=4)
    with pytest.raises(ValueRangeError, match=r"150 knots/s, .* leave .* m and .* larger sigmas"):
        PoseSpline.from_poses(*poses, mode="smooth", sigma_position=1e-5, sigma_attitude=5e-3)


def test_knots_need_poses_between_them():
    poses, _ = noisy(1, duration_s=4)
    holed = [np.delete(array, slice(250, 450), axis=0) for array in poses]
    with pytest.raises(ValueRangeError, match=r"none from 1.3\d* to 1.4\d* s; lower knots_per_s"):
        PoseSpline.from_poses(*holed, mode="smooth", knots_per_s=10)
    PoseSpline.from_poses(*holed, mode="smooth", knots_per_s=1)
    with pytest.raises(ValueRangeError, match=r"more poses than the 1205 unknowns .* got 801"):
        PoseSpline.from_poses(*poses, mode="smooth", knots_per_s=300)


def test_neighbours_far_apart_in_angle_are_warned_of():
    angles = np.array([0, 20, 40, 60, 130, 200, 220, 240, 260])
    q = Rotation.from_euler("z", angles[:, None], degrees=True).as_quat()
    t_s, position, _ = still(9)
    with pytest.warns(SplineWarning, match=r"row [45]: .* 70\.0 deg .* in 2 places") as caught:
        PoseSpline.from_poses(t_s, position, q, mode="interpolate")
    assert caught[0].filename == __file__


def test_gaps_are_warned_of_where_they_are_bridged():
    poses = [np.delete(array, slice(12, 25), axis=0) for array in still(40)]
    with pytest.warns(SplineWarning, match=r"row 12: no pose for 1\.4 s, .* of 1 gaps"):
        PoseSpline.from_poses(*poses, mode="interpolate")
    PoseSpline.from_poses(*poses, mode="smooth", knots_per_s=0.5)


@pytest.mark.parametrize("t_s", [[-0.001], [0.5, 0.801], [math.nan]])
def test_there_is_no_motion_outside_the_poses(t_s):
    spline = PoseSpline.from_poses(*still(9), mode="interpolate")
    with pytest.raises(ValueRangeError, match="t_s"):
        spline.at(t_s)
