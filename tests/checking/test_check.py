"""Errors of convention in simulated and recorded data, and silence on good data."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.checking import check, check_reference, doubts
from strapdown.geometry import quaternion
from strapdown.motion import MOTIONS
from strapdown.series import ImuSeries, Trajectory
from strapdown.simulation import simulate
from strapdown.units import STANDARD_GRAVITY

SOURCE = Path(__file__).parents[2] / "benchmarks" / "check.py"
spec = importlib.util.spec_from_file_location("benchmark_of_check", SOURCE)
benchmark = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)

T_NS = np.arange(4_000) * 10_000_000
FIELD = 5e-5 * np.array([0.0, 0.5, -np.sqrt(0.75)])
BIAS = np.array([0.01, -0.02, 0.01])
ANY = np.random.default_rng(3)


def tumbling():
    """A sensor that turns about all axes and is shaken, with noise and biases of a cheap MEMS."""
    t_s = 1e-9 * T_NS
    phase = np.multiply.outer(t_s, [0.7, 0.9, 1.3]) + np.arange(3.0)
    attitude = Rotation.from_euler("ZYX", np.array([0.9, 1.1, 0.4]) * np.sin(phase))
    turn = (attitude[:-1].inv() * attitude[1:]).as_rotvec()
    rate = np.vstack([turn, turn[-1:]]) / 1e-2 + 5e-3 * ANY.normal(size=(len(t_s), 3)) + BIAS
    up = np.array([0.0, 0.0, STANDARD_GRAVITY])
    shaken = 3.0 * np.sin(9.0 * t_s)[:, None] * [1.0, 0.5, 0.2]
    force = attitude.inv().apply(up + shaken) + 0.05 * ANY.normal(size=(len(t_s), 3))
    field = attitude.inv().apply(FIELD) + 5e-7 * ANY.normal(size=(len(t_s), 3))
    imu = ImuSeries(T_NS, rate, force, magnetic_field=field)
    return benchmark.Case(imu, Trajectory(T_NS, attitude.as_quat()))


@pytest.fixture(scope="module")
def case():
    return tumbling()


@pytest.fixture(scope="module")
def recordings(data_dir):
    found = dict(benchmark.cases(data_dir))
    if not found:
        pytest.skip(f"no recordings in {data_dir}")
    return found


def found_in(case):
    return check(case.imu, {} if case.track is None else {"reference": case.track})


def test_a_moment_of_a_steady_turn_does_not_contradict_its_attitude():
    series = simulate("circle", "ADIS16470", 2.0, rate_hz=100.0).samples.series()
    at = MOTIONS["circle"].at(1e-9 * (series.t_ns - series.t_ns[0]))
    report = check(series, {"truth": Trajectory(series.t_ns, at.q_world_from_body)})
    assert [each.code for each in report.findings] == []


def test_good_data_have_no_findings(case):
    report = found_in(case)
    assert report.findings == ()
    assert report.exit == 0
    assert any("13 of 13" in line for line in report.checked)
    assert "reference: agrees with gyro and gravity" in report.checked
    assert report.lines()[0] == "no findings"
    assert doubts(case.imu).findings == ()


@pytest.mark.parametrize("name", benchmark.ERRORS)
def test_every_single_error_is_found_and_named(case, name):
    error = benchmark.ERRORS[name]
    report = found_in(error.inject(case))
    assert {finding.code for finding in report.findings} & {*error.codes}
    assert report.exit == 3


@pytest.mark.parametrize(
    ("name", "words", "mended"),
    [
        ("accel x, y swapped", "likely x and y swapped", "as y, x, z"),
        ("accel z mirrored", "likely z negated", "as x, y, -z"),
        ("gyro x, y swapped", "likely x and y swapped", "as y, x, z"),
        ("gyro z mirrored", "likely z negated", "as x, y, -z"),
        ("gyro negated", "likely all axes negated", "as -x, -y, -z"),
        ("mag x, y swapped", "likely x and y swapped", "as y, x, z"),
        ("mag z mirrored", "likely z negated", "as x, y, -z"),
        ("accel in mg", "as if in mg", "--accel-unit mg"),
        ("gyro in deg/s", "as if in deg/s", "--gyro-unit deg/s"),
        ("mag in uT", "as if in uT", "--mag-unit uT"),
        ("ms read as s", "as if the unit of time is ms", "--time-unit ms"),
        ("s read as ms", "as if the unit of time is s", "--time-unit s"),
    ],
)
def test_a_finding_is_the_only_one_and_states_what_mends_it(case, name, words, mended):
    error = benchmark.ERRORS[name]
    (finding,) = found_in(error.inject(case)).findings
    assert finding.code in error.codes
    assert words in finding.likely
    assert mended in finding.option


@pytest.mark.parametrize(
    "name",
    ["accel in g", "accel z mirrored", "gyro in deg/s", "gyro x, y swapped", "mag z mirrored"],
)
def test_the_expression_of_a_finding_mends_the_series(case, name):
    bad = benchmark.ERRORS[name].inject(case).imu
    (finding,) = check(bad, {"reference": case.track}).findings
    mended = eval(finding.python, {"series": bad})  # noqa: S307 (an expression of the package)
    for column in ("angular_velocity", "specific_force", "magnetic_field"):
        np.testing.assert_allclose(getattr(mended, column), getattr(case.imu, column), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("attitude inverted", "the inverse, body from world"),
        ("attitude w x y z", "taken for"),
        ("NED called ENU", "a world with z down and a body with z down"),
        ("attitude constant", "no reference"),
        ("accel negated", "an accelerometer with inverted signs"),
    ],
)
def test_a_finding_about_an_orientation_names_the_convention(case, name, words):
    bad = benchmark.ERRORS[name].inject(case)
    (finding,) = found_in(bad).findings
    assert words in finding.likely
    (alone,) = check_reference(bad.imu, bad.track, topic="reference").findings
    assert alone.code == finding.code


def test_an_orientation_of_another_body_or_world_is_named(case):
    quarter = Rotation.from_rotvec([0.0, 0.8, 0.6]).as_quat()
    q = case.track.q_world_from_body
    body = case.track.replace(q_world_from_body=quaternion.multiply(q, quarter))
    world = case.track.replace(q_world_from_body=quaternion.multiply(quarter, q))
    mounting, tilted = (
        check_reference(case.imu, track, topic="").findings[0] for track in (body, world)
    )
    assert mounting.code == "attitude_mounting"
    assert "57 deg" in mounting.likely
    assert tilted.code == "attitude_world"


def test_a_heading_is_no_error(case):
    turned = Rotation.from_rotvec([0.0, 0.0, 1.2]).as_quat()
    q = quaternion.multiply(turned, case.track.q_world_from_body)
    track = case.track.replace(q_world_from_body=q)
    assert check_reference(case.imu, track, topic="").findings == ()


def test_the_signs_of_an_accelerometer_need_an_orientation(case):
    negated = benchmark.ERRORS["accel negated"].inject(case)
    report = check(negated.imu)
    assert report.findings == ()
    assert any("signs of the accelerometer" in line for line in report.unchecked)


def test_a_common_permutation_is_a_mounting_and_no_error(case):
    turn = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    names = ("angular_velocity", "specific_force", "magnetic_field")
    columns = {name: getattr(case.imu, name) @ turn for name in names}
    assert check(case.imu.replace(**columns)).findings == ()


def test_an_offset_of_the_magnetometer_does_not_convict_its_axes(case):
    iron = np.array([4e-5, -3e-5, 0.0])
    offset = case.imu.replace(magnetic_field=case.imu.magnetic_field + iron)
    assert [finding.code for finding in check(offset).findings] == []


def test_rest_shows_units_but_no_axes():
    rest = np.tile([0.0, 0.6, 0.8], (4000, 1)) + 1e-3 * ANY.normal(size=(4000, 3))
    rate = 1e-3 * ANY.normal(size=(4000, 3)) + [0.01, 0.0, 0.02]
    report = check(ImuSeries(np.arange(4000) * 5_000_000, rate, STANDARD_GRAVITY * rest))
    assert report.findings == ()
    assert any("13 of 13 single errors" in line for line in report.unchecked)
    (finding,) = check(ImuSeries(np.arange(4000) * 5_000_000, rate, rest)).findings
    assert finding.code == "accel_unit"


def test_stamps_out_of_order_lost_and_uneven_are_found(case):
    imu = case.imu
    order = imu.replace(t_ns=np.where(np.arange(len(imu)) == 50, imu.t_ns[10], imu.t_ns))
    gap = imu[np.r_[0:1500, 2500:4000]]
    uneven = imu[np.flatnonzero(ANY.random(len(imu)) > 0.4)]
    for series, code in ((order, "time_order"), (gap, "time_gaps"), (uneven, "time_jitter")):
        assert code in {finding.code for finding in check(series).findings}


def test_clipped_and_stuck_values_are_found(case):
    clipped = case.imu.replace(angular_velocity=np.clip(4.0 * case.imu.angular_velocity, -2.0, 2.0))
    force = case.imu.specific_force.copy()
    force[1500:2500] = force[1500]
    stuck = case.imu.replace(specific_force=force)
    for series, code in ((clipped, "clipping"), (stuck, "stuck")):
        assert code in {finding.code for finding in check(series).findings}


@pytest.mark.parametrize("rows", [0, 1, 2, 30])
def test_a_series_of_few_rows_has_no_findings_about_sensors(rows):
    up = np.tile([0.0, 0.0, STANDARD_GRAVITY], (rows, 1))
    series = ImuSeries(np.arange(rows) * 10_000_000, np.zeros((rows, 3)), up)
    assert check(series).findings == ()


def test_missing_values_are_no_error(case):
    nothing = np.full((len(T_NS), 3), np.nan)
    assert check(case.imu.replace(specific_force=nothing)).findings == ()
    assert check(case.imu.replace(angular_velocity=nothing)).findings == ()
    sparse = case.imu.magnetic_field.copy()
    sparse[np.arange(len(sparse)) % 10 > 0] = np.nan
    assert check(case.imu.replace(magnetic_field=sparse)).findings == ()


@pytest.mark.parametrize("motion", sorted(set(MOTIONS) - {"free_fall"}))
@pytest.mark.parametrize("sensor", ["ideal", "MPU-6050"])
@pytest.mark.by_default(
    "MPU-6050-static",
    "MPU-6050-six_position",
    "MPU-6050-turntable",
    "MPU-6050-wander",
    "MPU-6050-sculling",
    "MPU-6050-helix",
    "ideal-static",
    "ideal-spin",
    "ideal-circle",
    "ideal-multi_sine",
    "ideal-chirp",
)
def test_simulated_motions_have_no_findings(motion, sensor):
    run = simulate(motion, sensor, 40.0, rate_hz=100, seed=1)
    series = run.samples.series()
    assert doubts(series).findings == ()
    assert check_reference(series, run.truth, topic="truth").findings == ()


@pytest.mark.data
@pytest.mark.parametrize("name", [*benchmark.ERRORS][2::3])
def test_errors_are_found_in_a_recording(recordings, name):
    case = recordings["tumvi room4" if "mag" not in benchmark.ERRORS[name].needs else "broad 29"]
    error = benchmark.ERRORS[name]
    assert {*error.codes} & benchmark.codes(error.inject(case))


@pytest.mark.parametrize(("speed", "banks"), [(25.0, True), (12.0, False)])
def test_steady_turns_of_a_vehicle_have_no_findings(speed, banks):
    t_s = np.arange(0.0, 200.0, 0.01)
    on = (np.mod(t_s, 40.0) > 10.0) * np.where(np.mod(t_s, 80.0) < 40.0, 0.25, -0.25)
    rate = np.convolve(on, np.full(200, 1.0 / 200.0), "same")
    heading = 0.01 * np.cumsum(rate)
    bank = -np.arctan(speed * rate / STANDARD_GRAVITY) if banks else 0.0 * rate
    attitude = Rotation.from_euler("ZYX", np.stack([heading, 0.05 * np.sin(0.3 * t_s), bank], 1))
    across = speed * rate * np.stack([-np.sin(heading), np.cos(heading)])
    force = attitude.inv().apply(np.stack([*across, np.full(len(t_s), STANDARD_GRAVITY)], 1))
    turn = (attitude[:-1].inv() * attitude[1:]).as_rotvec()
    gyro = np.vstack([turn, turn[-1:]]) / 0.01 + 3e-3 * ANY.normal(size=force.shape)
    stamps = np.arange(len(t_s)) * 10_000_000
    series = ImuSeries(stamps, gyro, force + 0.1 * ANY.normal(size=force.shape))
    assert check(series, {"truth": Trajectory(stamps, attitude.as_quat())}).findings == ()


@pytest.mark.slow
@pytest.mark.data
def test_the_originals_have_true_findings_only(recordings):
    findings = {name: benchmark.codes(case) for name, case in recordings.items()}
    assert {name: found for name, found in findings.items() if found} == {
        "gait_tracking": {"time_order"},  # 205 stamps repeat
        "px4 sample_appended_multiple": {"mag_strength"},  # 117 uT, not calibrated
        "px4 sample_log_small": {"time_gaps"},  # 156 ms of 6.5 s
        "px4 sample_logging_tagged_and_default_params": {"time_jitter"},  # 665 of 2027 left out
    }


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", benchmark.ERRORS)
def test_errors_are_found_in_every_recording_that_shows_them(recordings, name):
    error = benchmark.ERRORS[name]
    missed = [
        label
        for label, case in recordings.items()
        if benchmark.is_possible(case, error) and not benchmark.codes(error.inject(case))
    ]
    # walks of 20 s have five windows, and too few of them tell a swapped or mirrored gyro
    known = {
        "gyro x, y swapped": ["pyshoe 2017-12-15-18-00-13"],
        "gyro z mirrored": ["pyshoe 2017-12-15-18-01-18"],
    }
    assert missed == known.get(name, [])


ROWS = np.arange(2000) * 10_000_000
RATES, SHAKES = np.random.default_rng(4).normal(size=(2, 2000, 3))
FORCES = SHAKES + np.array([0.0, 0.0, 9.8])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "series",
    [
        ImuSeries(ROWS, RATES, FORCES, q_world_from_body=np.zeros((2000, 4))),
        ImuSeries(ROWS, RATES, FORCES, q_world_from_body=np.full((2000, 4), 1e200)),
        ImuSeries(ROWS, RATES, np.where(FORCES > 11.0, np.inf, FORCES)),
        ImuSeries(ROWS, 1e200 * RATES, 1e200 * FORCES),
        ImuSeries(np.append(ROWS[:-1], 2**62), RATES, FORCES),  # a day would be less
        ImuSeries(ROWS[::-1].copy(), RATES, FORCES),
        ImuSeries(np.zeros(2000, np.int64), RATES, FORCES),
        ImuSeries(ROWS, RATES, 0.0 * FORCES, magnetic_field=0.0 * FORCES),
    ],
    ids=["no q", "large q", "infinite", "large", "a gap", "backward", "one stamp", "zeros"],
)
def test_broken_values_convict_no_axes(series):
    track = Trajectory(series.t_ns[:1], [[0.0, 0.0, 0.0, 1.0]])
    codes = {finding.code for finding in check(series, {"short": track}).findings}
    assert codes <= {"time_gaps", "time_order", "accel_gravity", "mag_strength", "stuck"}


def test_what_is_no_series_is_refused():
    with pytest.raises(TypeError, match="expected series as ImuSeries"):
        check(np.zeros((10, 3)))
