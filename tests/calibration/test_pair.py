"""Two sensors on one body: known clocks, axes and lever arms are found, and bad input is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strapdown.calibration import align_pair, load_pair, save_pair
from strapdown.calibration.pair.grid import Grid
from strapdown.calibration.pair.rotation import fit_rotation
from strapdown.calibration.pair.whitening import Whitening
from strapdown.errors import FormatError, ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion import MOTIONS, Mount, Mounted, MultiSine, Sines
from strapdown.sensors import Clock
from strapdown.series import ImuSeries, Trajectory
from strapdown.simulation import find_sensor, simulate

PPM = 40.0
"""The second's clock is slow by this."""


class Truth:
    """A random mounting and clock of the second sensor."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.arm = rng.uniform(-0.15, 0.15, 3)
        self.q = quaternion.normalize(rng.normal(size=4))
        self.offset_ns = int(rng.integers(-(10**12), 10**12))

    def second_ns(self, t_s):
        """Stamps of the second at true times, which are those of the first."""
        return np.rint(t_s * (1.0 - 1e-6 * PPM) * 1e9).astype(np.int64) - self.offset_ns

    def errors(self, result):
        """Errors of offset, drift, rotation and lever arm, over their sigmas, and in SI units."""
        reference_s = 1e-9 * result.t_reference_ns
        offset_s = reference_s - 1e-9 * float(self.second_ns(np.array([reference_s]))[0])
        turn = quaternion.multiply(result.q_first_from_second, quaternion.conjugate(self.q))
        errors = np.concatenate([
            [result.offset_s - offset_s, 1e-6 * (result.drift_ppm - PPM / (1.0 - 1e-6 * PPM))],
            quaternion.to_rotation_vector(turn),
            result.lever_arm_m - self.arm,
        ])  # fmt: skip
        sigmas = np.concatenate([
            [result.offset_sigma_s, 1e-6 * result.drift_sigma_ppm],
            result.rotation_sigma_rad,
            result.lever_arm_sigma_m,
        ])  # fmt: skip
        return errors, errors / sigmas


def sheet(name, rate_hz, seed, **changes):
    """A sensor with the noise of its sheet and random biases, without scale errors."""
    rng = np.random.default_rng(seed)
    spec = find_sensor(name, rate_hz=rate_hz)
    gyro = replace(spec.gyro, turn_on_scale=None, bias=tuple(rng.normal(0.0, 0.01, 3)))
    accel = replace(spec.accel, turn_on_scale=None, bias=tuple(rng.normal(0.0, 0.1, 3)))
    return replace(spec, gyro=gyro, accel=accel, **changes)


def first_imu(seed, motion, duration_s):
    spec = sheet("ADIS16470", 200.0, seed)
    return simulate(motion, spec, duration_s, seed=seed, name="first").samples.series()


def second_imu(seed, truth, motion, duration_s):
    spec = sheet("MPU-6050", 250.0, seed + 1, clock=Clock(rate_error_ppm=-PPM, jitter_s=5e-6))
    source = Mounted(motion, Mount(truth.arm, truth.q, truth.q))
    series = simulate(source, spec, duration_s, seed=seed, name="second").samples.series()
    return series.replace(t_ns=series.t_ns - truth.offset_ns)


def reference(seed, truth, motion, duration_s, *, velocity=False, noise=1.0):  # noqa: PLR0913
    """Motion capture at 120 Hz in a tilted world, or a source of velocity."""
    rng = np.random.default_rng(seed + 2)
    t_s = np.arange(0.5, duration_s - 0.5, 1.0 / 120.0)
    body = motion.at(t_s)
    q_body, swing = body.q_world_from_body, np.cross(body.angular_velocity, truth.arm)
    tilt = quaternion.from_rotation_vector([*rng.normal(0.0, 0.02, 2), 1.0])

    def measured(values, sigma):
        return quaternion.rotate(tilt, values) + noise * rng.normal(0.0, sigma, values.shape)

    q = quaternion.multiply(quaternion.multiply(tilt, q_body), truth.q)
    shake = quaternion.from_rotation_vector(noise * rng.normal(0.0, 5e-4, (len(t_s), 3)))
    place = measured(body.position_world + quaternion.rotate(q_body, truth.arm), 2e-4)
    speed = measured(body.velocity_world + quaternion.rotate(q_body, swing), 1e-2)
    columns = {"velocity_world": speed} if velocity else {"position_world": place}
    return Trajectory(truth.second_ns(t_s), quaternion.multiply(q, shake), **columns)


KINDS = {
    "imu": second_imu,
    "poses": reference,
    "velocities": lambda *arguments: reference(*arguments, velocity=True),
}


@pytest.fixture(scope="module")
def minute():
    """Two IMUs for 40 s, and the truth."""
    truth, motion = Truth(100), MOTIONS["wander"]
    return first_imu(100, motion, 40.0), second_imu(100, truth, motion, 40.0), truth


@pytest.fixture(scope="module")
def plain(minute):
    """The result of both."""
    return align_pair(*minute[:2])


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        ("imu", 1),
        *(pytest.param(kind, 20, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
def test_a_minute_of_lively_motion_determines_all(kind, seeds):
    motion, scaled = MOTIONS["wander"], []
    for seed in range(seeds):
        truth = Truth(seed)
        result = align_pair(first_imu(seed, motion, 60.0), KINDS[kind](seed, truth, motion, 60.0))
        errors, z = truth.errors(result)
        assert abs(errors[0]) < 0.2e-3
        assert np.degrees(np.linalg.norm(errors[2:5])) < 0.05
        assert np.linalg.norm(errors[5:]) < 2e-3
        assert result.observable == ("clock offset", "clock drift", "rotation", "lever arm")
        assert not result.warnings
        scaled.append(z)
    assert np.abs(scaled).max() < 4.5
    if seeds > 2:
        covered = np.mean(np.abs(scaled) < 1.96)
        assert 0.90 <= covered <= 0.99


def test_scale_errors_on_request(minute):
    first, second, truth = minute
    scaled = first.replace(
        angular_velocity=first.angular_velocity * [1.01, 1.0, 1.0],
        specific_force=first.specific_force * [1.0, 0.99, 1.0],
    )
    result = align_pair(scaled, second, scale=True)
    gyro = (result.gyro_scale - [1.0 - 1.0 / 1.01, 0.0, 0.0]) / result.gyro_scale_sigma
    accel = (result.accel_scale - [0.0, 1.0 - 1.0 / 0.99, 0.0]) / result.accel_scale_sigma
    assert np.abs([gyro, accel]).max() < 4.0
    assert max(*result.gyro_scale_sigma, *result.accel_scale_sigma) < 5e-4
    errors, _ = truth.errors(result)
    assert np.linalg.norm(errors[5:]) < 2e-3


def test_a_delay_of_the_accelerometer_is_separate_from_the_offset(minute):
    first, second, truth = minute
    t_s = 1e-9 * (first.t_ns - first.t_ns[0])
    late = np.column_stack([np.interp(t_s - 2e-3, t_s, f) for f in first.specific_force.T])
    result = align_pair(first.replace(specific_force=late), second)
    assert result.accel_delay_s == pytest.approx(2e-3, abs=0.2e-3)
    assert abs(truth.errors(result)[0][0]) < 0.05e-3


def test_gaps_and_clipped_samples_are_left_out(minute):
    first, second, truth = minute
    rng = np.random.default_rng(3)
    bits = (rng.random(len(first)) < 0.01).astype(np.uint8)
    wild = np.where(bits[:, None], 34.0, first.angular_velocity)
    keep = np.ones(len(second), bool)
    keep[3000:3200] = keep[6000:6100] = False
    result = align_pair(first.replace(angular_velocity=wild, gyro_clipping=bits), second[keep])
    errors, _ = truth.errors(result)
    assert abs(errors[0]) < 0.2e-3
    assert np.linalg.norm(errors[5:]) < 2e-3
    assert np.isnan(result.residuals.angular_velocity).any()


def test_many_gaps_leave_sigmas_that_hold(minute, plain):
    first, second, truth = minute
    often = np.arange(len(second)) % 250 > 40  # 0.16 s missing in every second
    result = align_pair(first, second[often])
    _, z = truth.errors(result)
    assert np.abs(z).max() < 4.5
    assert np.all(result.rotation_sigma_rad > plain.rotation_sigma_rad)
    rarely = np.arange(len(second)) % 250 < 50  # 0.2 s in every second
    with pytest.raises(ValueRangeError, match=r"expected at least .* s .*gaps|do not match|5 s of"):
        align_pair(first, second[rarely])


def test_other_axes_of_the_series(minute, plain):
    first, second, _ = minute
    frd = align_pair(first.in_frames(body="FRD"), second)
    np.testing.assert_allclose(frd.lever_arm_m, plain.lever_arm_m * [1, -1, -1], atol=1e-5)
    assert frd.first_body == "FRD"
    assert frd.apply(second).body == "FRD"


def test_stamps_and_readings_by_the_clock_and_axes_of_the_first(minute, plain):
    _, second, truth = minute
    true_s = np.array([1.0, 20.0, 39.0])
    moved_s = 1e-9 * plain.first_ns(truth.second_ns(true_s))
    np.testing.assert_allclose(moved_s, true_s, rtol=0, atol=2e-5)
    moved = plain.apply(second)
    t_s = 1e-9 * moved.t_ns
    inside = (t_s > 1.0) & (t_s < 39.0)
    w = MOTIONS["wander"].at(t_s[inside]).angular_velocity
    bias = moved.angular_velocity[inside] - w
    assert bias.std(axis=0).max() < 2e-3  # noise alone


def test_the_pose_of_the_first_from_that_of_the_second():
    motion, truth = MOTIONS["wander"], Truth(5)
    first = first_imu(5, motion, 30.0)
    poses = reference(5, truth, motion, 30.0, noise=0.0)
    result = align_pair(first, poses)
    moved = result.apply(poses)
    body = motion.at(1e-9 * moved.t_ns)
    # the world of the reference is turned: lengths of differences do not depend on it
    path = np.linalg.norm(moved.position_world - moved.position_world[0], axis=1)
    true = np.linalg.norm(body.position_world - body.position_world[0], axis=1)
    np.testing.assert_allclose(path, true, atol=2e-3)
    turn = quaternion.multiply(
        moved.q_world_from_body, quaternion.conjugate(body.q_world_from_body)
    )
    assert np.degrees(quaternion.angle_between(turn[:1], turn).max()) < 0.05
    speeds = reference(5, truth, motion, 30.0, velocity=True, noise=0.0)
    speed = np.linalg.norm(result.apply(speeds).velocity_world[5:-5], axis=1)
    np.testing.assert_allclose(speed, np.linalg.norm(body.velocity_world[5:-5], axis=1), atol=5e-3)


def test_gravity_in_the_world_of_the_reference():
    motion, truth = MOTIONS["wander"], Truth(6)
    result = align_pair(first_imu(6, motion, 30.0), reference(6, truth, motion, 30.0))
    tilt = np.random.default_rng(6 + 2).normal(0.0, 0.02, 2)  # as reference() draws it
    q = quaternion.from_rotation_vector([*tilt, 1.0])
    np.testing.assert_allclose(
        result.gravity_world, quaternion.rotate(q, [0.0, 0.0, -9.80665]), atol=0.01
    )


def test_wrong_worlds_and_units_of_a_reference_are_warned_of():
    motion, truth = MOTIONS["wander"], Truth(6)
    first, poses = first_imu(6, motion, 30.0), reference(6, truth, motion, 30.0)
    (warning,) = align_pair(first, poses.replace(world="NED")).warnings
    assert warning.startswith("gravity is 17")  # upside down, but for the tilt
    assert "from the down axis of the world NED" in warning
    (warning,) = align_pair(
        first.replace(specific_force=first.specific_force * 1.1), poses
    ).warnings
    assert warning.startswith("gravity of 10.7")
    millimetres = poses.replace(position_world=1e3 * poses.position_world)
    assert any(
        "check the unit of its positions" in w for w in align_pair(first, millimetres).warnings
    )


def test_attitude_alone_gives_no_lever_arm():
    motion, truth = MOTIONS["wander"], Truth(7)
    poses = reference(7, truth, motion, 30.0).replace(position_world=None)
    result = align_pair(first_imu(7, motion, 30.0), poses)
    assert result.lever_arm_m is None
    assert result.not_observable == ("lever arm",)
    assert "no lever arm: it needs" in result.warnings[-1]
    assert not any("lever arm, from" in line for line in result.lines())


def rolling(frequencies=(0.31, 0.73, 1.17), amplitudes=(0.8, 0.4, 0.2)):
    """Rotation about the x axis alone."""
    none, ones = np.zeros((3, 3)), np.ones((3, 3))
    roll = none.copy()
    roll[0] = amplitudes
    rates = 2.0 * np.pi * np.tile(frequencies, (3, 1))
    return MultiSine(position=Sines(none, ones, none), roll_pitch_yaw=Sines(roll, rates, none))


def test_one_axis_of_rotation_leaves_the_lever_arm_along_it_open():
    truth = Truth(8)
    truth.q = quaternion.from_rotation_vector([0.3, -0.5, 1.2])
    result = align_pair(first_imu(8, rolling(), 40.0), second_imu(8, truth, rolling(), 40.0))
    assert result.not_observable == ("lever arm along [1.00 0.00 0.00]",)
    assert "turn the body lively about at least two axes" in result.warnings[-1]
    assert "not observable: lever arm along [1.00 0.00 0.00]" in result.lines()
    errors, _ = truth.errors(result)
    assert np.abs(errors[6:]).max() < 1e-3
    with pytest.raises(ValueRangeError, match="expected a lever arm to move positions by"):
        result.apply(reference(8, truth, rolling(), 10.0))


def test_an_upright_turntable_leaves_the_angle_about_its_axis_open():
    truth, motion = Truth(9), MOTIONS["turntable"]
    result = align_pair(first_imu(9, motion, 60.0), second_imu(9, truth, motion, 60.0))
    assert "rotation about [0.00 0.00 1.00]" in result.not_observable
    assert "clock offset" in result.observable


def test_slow_motion_has_large_sigmas(plain):
    slow = MultiSine(
        position=Sines(np.zeros((3, 1)), np.ones((3, 1)), np.zeros((3, 1))),
        roll_pitch_yaw=Sines(
            np.full((3, 1), 0.1), np.array([[0.5], [0.73], [0.91]]), np.array([[0.0], [1.0], [2.0]])
        ),
    )
    truth = Truth(10)
    result = align_pair(first_imu(10, slow, 40.0), second_imu(10, truth, slow, 40.0))
    _, z = truth.errors(result)
    assert np.abs(z[:5]).max() < 4.5
    for name in ("rotation_sigma_rad", "lever_arm_sigma_m"):
        assert np.all(getattr(result, name) > 5.0 * getattr(plain, name))


def test_periodic_motion_is_reported():
    motion, truth = rolling((0.5, 1.0, 1.5)), Truth(11)
    truth.offset_ns = 0
    result = align_pair(first_imu(11, motion, 30.0), second_imu(11, truth, motion, 30.0))
    assert any(each.startswith("periodic motion: offsets that differ") for each in result.warnings)


@pytest.mark.parametrize(
    ("signs", "name"), [([1, 1, -1], "the z axis"), ([-1, -1, -1], "all axes")]
)
def test_mirrored_axes_are_named(minute, signs, name):
    first, second, truth = minute
    turned = np.diag(signs) @ quaternion.to_matrix(truth.q)  # along the first, but for signs
    wrong = second.replace(
        angular_velocity=second.angular_velocity @ turned.T,
        specific_force=second.specific_force @ turned.T,
    )
    with pytest.raises(ValueRangeError, match=f"mirror images; with {name} of the second"):
        align_pair(first, wrong)


def test_mirrored_accelerometers_are_named(minute):
    first, second, _ = minute
    with pytest.raises(ValueRangeError, match="specific forces that are mirror images"):
        align_pair(first, second.replace(specific_force=second.specific_force * [1, -1, 1]))


def test_other_axes_of_an_accelerometer_are_named(minute):
    first, second, _ = minute
    swapped = second.replace(specific_force=second.specific_force[:, [1, 2, 0]])
    with pytest.raises(ValueRangeError, match=r"differ by 1[12]\d deg for angular velocity"):
        align_pair(first, swapped)


@pytest.mark.parametrize("of", ["first", "second"])
def test_degrees_are_named(minute, of):
    pair = {"first": minute[0], "second": minute[1]}
    pair[of] = pair[of].replace(angular_velocity=np.degrees(pair[of].angular_velocity))
    with pytest.raises(ValueRangeError, match=rf"57\.\d times as much from the {of} .* deg/s"):
        align_pair(**pair)


def test_multiples_of_gravity_are_named(minute):
    first, second, _ = minute
    with pytest.raises(ValueRangeError, match="from the second, as if in g; multiply"):
        align_pair(first, second.replace(specific_force=second.specific_force / 9.80665))


def test_other_motions_do_not_match(minute):
    first, _, truth = minute
    other = second_imu(12, truth, MOTIONS["multi_sine"], 40.0)
    with pytest.raises(ValueRangeError, match="angular velocities that do not match: at best"):
        align_pair(first, other)


def test_recordings_that_do_not_overlap(minute):
    first, second, _ = minute
    with pytest.raises(ValueRangeError, match="that do not match"):
        align_pair(first.between(stop_s=15.0), second.between(start_s=20.0))


def test_no_motion_is_named(minute):
    rest = first_imu(13, MOTIONS["static"], 20.0)
    with pytest.raises(ValueRangeError, match=r"expected motion of the second sensor, got .* RMS"):
        align_pair(minute[0], rest)


def test_few_samples_are_named(minute):
    first, second, _ = minute
    with pytest.raises(ShapeError, match="at least 20 samples with angular velocity in the second"):
        align_pair(first, second[:10])
    with pytest.raises(ValueRangeError, match="at least 5 s of angular velocity in the first"):
        align_pair(first.between(stop_s=3.0), second)
    unknown = Trajectory(first.t_ns, np.full((len(first), 4), np.nan))
    with pytest.raises(ShapeError, match="with attitude in the second sensor"):
        align_pair(first, unknown)


def test_other_types_are_named(minute, plain):
    first, second, _ = minute
    with pytest.raises(TypeError, match="expected first as ImuSeries"):
        align_pair("a.mcap", second)
    with pytest.raises(TypeError, match="expected second as ImuSeries or Trajectory"):
        align_pair(first, [second])
    with pytest.raises(TypeError, match="expected ImuSeries or Trajectory of the second"):
        plain.apply([second])


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_a_file_holds_the_same_values(minute, plain, ending, tmp_path):
    path = tmp_path / f"pair.{ending}"
    save_pair(plain, path)
    read = load_pair(path)
    assert read.to_dict() == plain.to_dict()
    assert read.apply(minute[1]) == plain.apply(minute[1])
    assert read.lines() == plain.lines()
    with pytest.raises(FileExistsError):
        save_pair(plain, path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("strapdown pair 1", "strapdown pair 9", "expected format = 'strapdown pair 1'"),
        ("offset_s =", "offset =", "expected entries of a pair, got offset"),
        ("correlation =", "# correlation =", "'correlation'"),
        ('first_body = "FLU"', 'first_body = "UP"', "UP"),
        ("offset_s =", "offset_s", "expected a pair, got"),
    ],
)
def test_wrong_files_are_named(plain, old, new, message, tmp_path):
    path = tmp_path / "pair.toml"
    save_pair(plain, path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        load_pair(path)


def test_averages_of_polynomials_and_their_curvature():
    grid = Grid(1.0, 0.05, 50, 10)
    t, fine = grid.t_s, grid.fine_s
    assert t[0] == pytest.approx(1.1)
    # a symmetric average changes no straight line, and adds to a square its own variance
    np.testing.assert_allclose(grid.mean(3.0 - 2.0 * fine), 3.0 - 2.0 * t, atol=1e-12)
    added = grid.mean(fine**2) - t**2
    np.testing.assert_allclose(added, added[0], atol=1e-12)
    np.testing.assert_allclose(grid.mean_curvature(fine**2), 2.0, atol=1e-9)
    sine = grid.mean_curvature(np.sin(9.0 * fine))
    np.testing.assert_allclose(sine, grid.mean(-81.0 * np.sin(9.0 * fine)), atol=0.02)


def test_whitened_noise_is_white():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4002, 3))
    differenced = noise[2:] - 1.6 * noise[1:-1] + 0.7 * noise[:-2]
    known = np.ones(4000, bool)
    known[1000:1003] = False
    whitening = Whitening.fitted(np.where(known[:, None], differenced, 1e3), known)
    covered = whitening.covered(known)
    assert not covered[: len(whitening.taps) - 1].any()
    assert (~covered).sum() == 3 + 2 * (len(whitening.taps) - 1)
    white = whitening.apply(differenced)[covered]
    assert white.std() == pytest.approx(1.0, abs=0.05)
    for lag in (1, 2, 3):
        assert abs(np.mean(white[lag:] * white[:-lag])) < 0.05


def test_the_best_rotation_and_the_best_reflection():
    rng = np.random.default_rng(1)
    b = rng.normal(size=(200, 3))
    R = quaternion.to_matrix(quaternion.normalize([0.1, -0.4, 0.2, 0.9]))
    fit = fit_rotation(3.0 * b @ R.T, b)
    np.testing.assert_allclose(fit.R, R, atol=1e-12)
    assert fit.scale == pytest.approx(3.0)
    assert fit.unexplained == pytest.approx(0.0, abs=1e-12)
    assert fit.mirrored > 0.3
    mirrored = fit_rotation(b @ np.diag([1.0, 1.0, -1.0]), b)
    assert mirrored.mirrored == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(mirrored.reflection, np.diag([1.0, 1.0, -1.0]), atol=1e-12)
    assert fit_rotation(np.zeros((5, 3)), b[:5]).unexplained == 1.0


def room(data_dir, name):
    path = data_dir / "tumvi" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no {path}")
    data = np.load(path)
    pose = data["gt"]
    poses = Trajectory(data["gt_t_ns"], pose[:, [4, 5, 6, 3]], position_world=pose[:, :3])
    return ImuSeries(data["t_ns"], data["gyr"], data["acc"]), poses


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "span_s"),
    [
        ("room1", 60.0),
        pytest.param("room1", 200.0, marks=pytest.mark.slow),
        pytest.param("room4", 200.0, marks=pytest.mark.slow),
    ],
)
def test_a_shifted_reference_of_motion_capture(data_dir, name, span_s):
    first, poses = room(data_dir, name)
    first = first.between(stop_s=span_s)
    before = align_pair(first, poses)
    assert before.correlation > 0.95
    assert np.linalg.norm(before.lever_arm_m) < 3e-3  # the poses are those of the IMU
    assert abs(before.offset_s) < 2e-3
    q = quaternion.from_rotation_vector([0.4, -0.8, 1.7])
    world = quaternion.from_rotation_vector([0.02, 0.03, 2.0])
    arm, start_ns = np.array([0.1, -0.05, 0.03]), int(poses.t_ns[0])
    attitude = quaternion.multiply(world, poses.q_world_from_body)
    place = quaternion.rotate(world, poses.position_world)
    shifted = Trajectory(
        10**9 + np.rint((poses.t_ns - start_ns) * (1.0 - 30e-6)).astype(np.int64),
        quaternion.multiply(attitude, q),
        position_world=place + quaternion.rotate(attitude, arm),
    )
    after = align_pair(first, shifted)
    stamps = poses.t_ns[:: len(poses) // 5]
    moved = after.first_ns(10**9 + np.rint((stamps - start_ns) * (1.0 - 30e-6)).astype(np.int64))
    middle = np.argmin(np.abs(stamps - before.t_reference_ns))
    assert abs(int(moved[middle]) - int(before.first_ns(stamps)[middle])) < 2e5
    assert after.drift_ppm - before.drift_ppm == pytest.approx(
        30.0, abs=4.0 * before.drift_sigma_ppm
    )
    turn = quaternion.multiply(after.q_first_from_second, quaternion.conjugate(q))
    assert np.degrees(quaternion.angle_between(turn, before.q_first_from_second)) < 0.05
    np.testing.assert_allclose(after.lever_arm_m - before.lever_arm_m, arm, atol=2e-3)
