"""Stages of pipelines compute what the verbs do with the same recording, bit for bit."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import strapdown
from strapdown.bridges.live import Pipeline
from strapdown.bridges.live.navigation import LiveNavigation
from strapdown.calibration import (
    ImuCalibration,
    TriadCalibration,
    load_calibration,
    save_calibration,
)
from strapdown.cli._app import app
from strapdown.errors import FormatError
from strapdown.estimation import FILTERS
from strapdown.estimation.navigation import NavigatorParams
from strapdown.formats import Recording
from strapdown.messages import (
    FluidPressure,
    Imu,
    NavSatFix,
    TwistWithCovarianceStamped,
    conversion,
)
from strapdown.series import BarometerSeries, GnssSeries
from strapdown.simulation import simulate

runner = CliRunner()
PATIENCE_S = 60.0
LOG = '[log.imu]\nfile = "imu.csv"\nspeed = inf\n'
RECORD = '[record.file]\nfrom = "out"\nfile = "run.mcap"\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with a recording of a body that rests, then moves, and falls at the end."""
    series = simulate("wander", "MPU-6050", 6.0, rate_hz=100.0, seed=1).samples.series()
    force, rate = series.specific_force.copy(), series.angular_velocity.copy()
    force[:150], rate[:150] = force[0], 1e-3
    force[500:530] = 0.01
    force[530:534] = [0.0, 0.0, 90.0]
    moved = series.replace(specific_force=force, angular_velocity=rate)
    strapdown.write(tmp_path / "imu.csv", moved)
    return tmp_path


def verb(*arguments):
    done = runner.invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code in {0, 3}, done.output


def ran(folder, text):
    """Run a pipeline to its end, and return its report by part."""
    with Pipeline(text, folder=folder) as running:
        running.start()
        assert running.wait(PATIENCE_S)
    report = running.report()
    assert not report.failed, report
    return {part.name: part for part in report.parts}


def same_track(ours, theirs):
    assert ours.t_ns.tolist() == theirs.t_ns.tolist()
    np.testing.assert_array_equal(ours.position_world, theirs.position_world)
    np.testing.assert_array_equal(ours.q_world_from_body, theirs.q_world_from_body)


@pytest.mark.parametrize("foot", [False, True])
def test_odometry_is_that_of_the_verb(folder, foot):
    ran(folder, f'{LOG}[odometry.out]\nfrom = "imu"\nfoot = {str(foot).lower()}\n{RECORD}')
    verb("odometry", folder / "imu.csv", *["--foot"] * foot, "-o", folder / "verb.mcap")
    same_track(
        strapdown.open(folder / "run.mcap").trajectory("out"),
        strapdown.open(folder / "verb.mcap").trajectory("odometry"),
    )


def test_parameters_of_odometry_are_keys(folder):
    text = f'{LOG}[odometry.out]\nfrom = "imu"\nfoot = true\ncontact_height = 0.3\n'
    ran(folder, text + RECORD)
    verb(
        "odometry", folder / "imu.csv", "--foot", "--set", "contact_height=0.3",
        "-o", folder / "verb.mcap",
    )  # fmt: skip
    same_track(
        strapdown.open(folder / "run.mcap").trajectory("out"),
        strapdown.open(folder / "verb.mcap").trajectory("odometry"),
    )
    with pytest.raises(FormatError, match=r"line 7: odometry\.out\.contact_hight: there is no key"):
        Pipeline(text.replace("height", "hight"), folder=folder)


def test_events_are_those_of_the_verb(folder):
    kinds = ["free_fall", "impact", "still"]
    text = f'[detect.events]\nfrom = "imu"\nkind = {kinds}\nfile = "events.jsonl"\n'
    parts = ran(folder, LOG + text)
    verb("detect", folder / "imu.csv", "--kind", ",".join(kinds), "-o", folder / "verb.json")
    ours = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    theirs = json.loads((folder / "verb.json").read_text())["events"]
    assert {each["kind"] for each in theirs} >= {"free_fall", "impact"}
    assert sorted(ours, key=str) == sorted(theirs, key=str)
    assert f"{len(theirs)} events in" in parts["events"].notes[0]


def test_a_calibration_is_that_of_the_verb(folder):
    rng = np.random.default_rng(3)
    triads = (
        TriadCalibration(matrix=np.eye(3) + 0.02 * rng.normal(size=(3, 3)), bias=rng.normal(size=3))
        for _ in range(2)
    )
    calibration = ImuCalibration(
        accel=next(triads), gyro=next(triads), g_sensitivity=1e-3 * rng.normal(size=(3, 3))
    )
    save_calibration(calibration, folder / "imu.toml")
    ran(folder, f'{LOG}[calibrate.out]\nfrom = "imu"\nfile = "imu.toml"\n{RECORD}')
    verb("convert", folder / "imu.csv", folder / "verb.mcap", "--calibration", folder / "imu.toml")
    ours = strapdown.open(folder / "run.mcap").imu_series()
    theirs = strapdown.open(folder / "verb.mcap").imu_series()
    np.testing.assert_array_equal(ours.specific_force, theirs.specific_force)
    np.testing.assert_array_equal(ours.angular_velocity, theirs.angular_velocity)


def test_single_messages_are_calibrated_as_blocks_are(folder):
    calibration = ImuCalibration(accel=TriadCalibration(matrix=np.eye(3) * 1.01 + 0.003))
    save_calibration(calibration, folder / "imu.toml")
    text = f'{LOG}[calibrate.out]\nfrom = "imu"\nfile = "imu.toml"\n{RECORD}'
    ran(folder, text.replace("inf", "20"))
    expected = calibration.apply(strapdown.open(folder / "imu.csv").imu_series())
    ours = strapdown.open(folder / "run.mcap").imu_series()
    np.testing.assert_array_equal(ours.specific_force, expected.specific_force)


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    """A recording of 25 s with fixes of 5 Hz between the samples, from its first second on."""
    made = simulate("wander", "ADIS16470", 25.0, rate_hz=100.0, seed=1)
    rows = np.arange(60, len(made.truth), 20)
    sigma = np.array([0.02, 0.02, 0.04])
    noise = np.random.default_rng(2).standard_normal((rows.size, 3)) * sigma
    fixes = GnssSeries.from_local_enu(
        made.truth.t_ns[rows] + 3_000_000 * (rows % 40 == 0),
        made.truth.position_world[rows] + noise,
        (*np.radians([47.4, 8.5]), 450.0),
        np.tile(np.diag(sigma**2), (rows.size, 1, 1)),
    )
    path = tmp_path_factory.mktemp("drive") / "drive.mcap"
    series = made.samples.series(stamps="true")
    strapdown.write(path, Recording(imu={"imu": series}, gnss={"fix": fixes}))
    return path


NAVIGATE = """
[log.imu]
file = "drive.mcap"
topic = "imu"
speed = {speed}

[log.fix]
file = "drive.mcap"
topic = "fix"
speed = {speed}

[navigate.out]
from = ["fix", "imu"]
lever_arm = [0.1, 0, 0.3]
latency = 0.01
"""


@pytest.mark.parametrize("heading", [None, 0.3])
def test_navigation_is_that_of_the_verb(drive, tmp_path, heading):
    (tmp_path / "drive.mcap").symlink_to(drive)
    stated = "" if heading is None else f"heading = {heading}\n"
    parts = ran(tmp_path, NAVIGATE.format(speed="inf") + stated + RECORD)
    verb(
        "navigate", drive, "--lever-arm", "0.1", "0", "0.3", "--latency", "0.01",
        *([] if heading is None else ["--set", f"heading={heading}"]),
        "-o", tmp_path / "verb.mcap",
    )  # fmt: skip
    same_track(
        strapdown.open(tmp_path / "run.mcap").trajectory("out"),
        strapdown.open(tmp_path / "verb.mcap").trajectory("navigation"),
    )
    source = "motion" if heading is None else "parameters"
    assert parts["out"].notes == (f"out: heading at the start: {source}",)


def test_navigation_with_a_barometer_is_that_of_the_verb(drive, tmp_path):
    recording = strapdown.open(drive)
    imu = recording.imu_series()
    rng = np.random.default_rng(4)
    pressure = BarometerSeries(
        imu.t_ns[::10] + 1, np.zeros(len(imu.t_ns[::10])),
        pressure=95_000.0 + rng.normal(0.0, 5.0, len(imu.t_ns[::10])),
    )  # fmt: skip
    strapdown.write(
        tmp_path / "drive.mcap",
        Recording(imu={"imu": imu}, gnss=recording.gnss, barometers={"baro": pressure}),
    )
    text = NAVIGATE.format(speed="inf").replace('["fix", "imu"]', '["fix", "imu", "baro"]')
    log = '[log.baro]\nfile = "drive.mcap"\ntopic = "baro"\nspeed = inf\n'
    ran(tmp_path, text + "heading = 0.3\n" + log + RECORD)
    verb(
        "navigate", tmp_path / "drive.mcap", "--lever-arm", "0.1", "0", "0.3",
        "--latency", "0.01", "--set", "heading=0.3", "-o", tmp_path / "verb.mcap",
    )  # fmt: skip
    same_track(
        strapdown.open(tmp_path / "run.mcap").trajectory("out"),
        strapdown.open(tmp_path / "verb.mcap").trajectory("navigation"),
    )


def test_navigation_with_velocities_is_that_of_the_verb(drive, tmp_path):
    recording = strapdown.open(drive)
    truth = simulate("wander", "ADIS16470", 25.0, rate_hz=100.0, seed=1).truth
    (fixes,), rng = recording.gnss.values(), np.random.default_rng(5)
    velocity = truth.velocity_world[np.searchsorted(truth.t_ns, fixes.t_ns, "right") - 1]
    fixes = fixes.replace(
        velocity_world=velocity + rng.normal(0.0, 0.05, (len(fixes), 3)),
        velocity_covariance=np.tile(0.05**2 * np.eye(3), (len(fixes), 1, 1)),
    )
    whole = Recording(imu=recording.imu, gnss={"fix": fixes})
    strapdown.write(tmp_path / "drive.mcap", whole)
    text = NAVIGATE.format(speed="inf").replace('["fix", "imu"]', '["velocity", "fix", "imu"]')
    log = '[log.velocity]\nfile = "drive.mcap"\ntopic = "fix/velocity"\nspeed = inf\n'
    parts = ran(tmp_path, text + log + RECORD)
    assert parts["velocity"].messages == parts["fix"].messages == len(fixes)
    verb(
        "navigate", tmp_path / "drive.mcap", "--lever-arm", "0.1", "0", "0.3",
        "--latency", "0.01", "-o", tmp_path / "verb.mcap",
    )  # fmt: skip
    theirs = strapdown.open(tmp_path / "verb.mcap").trajectory("navigation")
    same_track(strapdown.open(tmp_path / "run.mcap").trajectory("out"), theirs)
    verb(
        "navigate", drive, "--lever-arm", "0.1", "0", "0.3", "--latency", "0.01",
        "-o", tmp_path / "without.mcap",
    )  # fmt: skip
    without = strapdown.open(tmp_path / "without.mcap").trajectory("navigation")
    assert np.abs(without.position_world - theirs.position_world).max() > 1e-3


def test_velocities_without_a_fix_or_a_covariance_are_counted():
    navigation = LiveNavigation(NavigatorParams(), lever_arm=(0, 0, 0), latency=0.0)
    covariance = tuple((0.01 * np.eye(6)).ravel())
    place = {"latitude": 47.4, "longitude": 8.5, "altitude": 450.0}
    for k, fix in enumerate([None, NavSatFix(1, **place), NavSatFix(2, status=NavSatFix.NO_FIX)]):
        navigation.aid(TwistWithCovarianceStamped(k, covariance=covariance))
        if fix is not None:
            navigation.aid(fix)
        assert not [*navigation.take(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, k))]
    assert [each.kind for each in navigation._aiding] == ["position", "velocity"]
    assert navigation.unused == 3  # the first and the last velocity, and the message without a fix
    navigation.aid(NavSatFix(3, **place))
    navigation.aid(TwistWithCovarianceStamped(3))
    assert not [*navigation.take(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, 3))]
    assert navigation.unused == 4


def test_navigation_in_real_time_needs_no_order_of_fixes_and_samples(drive, tmp_path):
    (tmp_path / "drive.mcap").symlink_to(drive)
    # Faster, a busy machine delays fixes behind a second of samples.
    text = NAVIGATE.format(speed=4.0) + "heading = 0.3\nheading_sigma = 0.1\nbuffer = 5\n"
    parts = ran(tmp_path, text + RECORD)
    assert parts["out"].received == parts["imu"].sent == 2500
    assert parts["out"].losses == ()
    verb(
        "navigate", drive, "--lever-arm", "0.1", "0", "0.3", "--latency", "0.01",
        "--set", "heading=0.3", "--set", "heading_sigma=0.1", "-o", tmp_path / "verb.mcap",
    )  # fmt: skip
    ours = strapdown.open(tmp_path / "run.mcap").trajectory("out")
    theirs = strapdown.open(tmp_path / "verb.mcap").trajectory("navigation")
    assert ours.t_ns.tolist() == theirs.t_ns.tolist()
    off = ours.position_world[-500:] - theirs.position_world[-500:]
    assert np.abs(off).max() < 0.1  # of fixes that come after their samples


def test_live_navigation_without_a_fix_keeps_only_what_a_start_may_use():
    params = NavigatorParams(buffer=0.5)
    navigation = LiveNavigation(params, lever_arm=(0, 0, 0), latency=0.0)
    no_fix = NavSatFix(status=NavSatFix.NO_FIX)
    for k in range(1000):
        navigation.aid(FluidPressure(k * 10_000_000, "", 101_325.0, 4.0))
        navigation.aid(replace(no_fix, header_stamp_ns=k * 10_000_000))
        assert not [*navigation.take(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, k * 10_000_000))]
    assert navigation.unused == 1000
    assert len(navigation._aiding) == len(navigation._samples) == 51


def test_live_navigation_answers_at_once_and_corrects_by_late_fixes(drive):
    recording = strapdown.open(drive)
    imu = [Imu.from_record(each) for each in conversion.imu_from_series(recording.imu_series())]
    fixes = conversion.navsat_from_gnss(recording.gnss_series())
    params = NavigatorParams(heading=0.3, heading_sigma=0.1)
    prompt, late = (LiveNavigation(params, lever_arm=(0, 0, 0), latency=0.0) for _ in range(2))
    ends = []
    for navigation, delay_ns in ((prompt, 0), (late, 500_000_000)):
        waiting, poses = list(fixes), []
        for sample in imu:
            while waiting and waiting[0].header_stamp_ns + delay_ns <= sample.timestamp_ns:
                navigation.aid(waiting.pop(0))
            poses += navigation.take(sample)
        assert navigation.late == 0
        assert poses[-1].timestamp_ns == imu[-1].timestamp_ns
        ends.append(poses[-1].position)
    # Both have used every fix but the last ones, which the other does not have yet.
    assert np.abs(ends[0] - ends[1]).max() < 0.1


@pytest.fixture
def compass(tmp_path):
    """A folder with a recording of an IMU and a slower magnetometer with hard iron."""
    made = simulate("wander", "MPU-6050", 6.0, rate_hz=100.0, seed=1)
    series = made.samples.series(stamps="true")
    q = Rotation.from_quat(made.truth.q_world_from_body)
    field = q.inv().apply([0.0, 2e-5, -4e-5]) + np.array([1e-5, -2e-5, 3e-5])
    field[np.arange(len(field)) % 4 != 2] = np.nan
    strapdown.write(
        tmp_path / "run.npz", Recording(imu={"imu": series.replace(magnetic_field=field)})
    )
    iron = TriadCalibration(bias=np.array([1e-5, -2e-5, 3e-5]), matrix=np.eye(3))
    save_calibration(ImuCalibration(magnetometer=iron), tmp_path / "imu.toml")
    return tmp_path


COMPASS = """
[log.imu]
file = "run.npz"
speed = inf

[log.raw]
file = "run.npz"
magnetic_field = true
speed = inf

[calibrate.mag]
from = "raw"
file = "imu.toml"

[filter.out]
from = ["imu", "mag"]
filter = "{name}"
"""


@pytest.mark.parametrize("name", ["eskf", "vqf"])
def test_a_filter_with_a_calibrated_magnetometer_is_that_of_the_recording(compass, name):
    parts = ran(compass, COMPASS.format(name=name) + RECORD)
    assert parts["mag"].sent == 150
    assert parts["out"].losses == ()
    assert parts["out"].notes == (
        "out: 2 attitudes before the first magnetic field: heading is relative to the start",
    )
    series = strapdown.open(compass / "run.npz").imu_series()
    calibrated = load_calibration(compass / "imu.toml").apply(series)
    expected = FILTERS[name]().run(calibrated)
    ours = strapdown.open(compass / "run.mcap").trajectory("out")
    assert ours.t_ns.tolist() == series.t_ns.tolist()
    np.testing.assert_array_equal(ours.q_world_from_body, expected.q_world_from_body)


def test_a_filter_with_a_magnetometer_in_real_time_answers_every_sample(compass):
    text = COMPASS.format(name="complementary").replace("inf", "4.0")
    parts = ran(compass, text + RECORD)
    assert parts["out"].received == parts["out"].sent == 600
    ours = strapdown.open(compass / "run.mcap").trajectory("out")
    series = strapdown.open(compass / "run.npz").imu_series()
    assert ours.t_ns.tolist() == series.t_ns.tolist()
    assert np.isfinite(ours.q_world_from_body).all()


def test_a_filter_without_its_magnetometer_says_so(compass):
    name = f"t{uuid4().hex[:8]}"
    text = COMPASS.replace(
        '[log.raw]\nfile = "run.npz"\nmagnetic_field = true\nspeed = inf',
        (f'[topic.raw]\naddress = "local:{name}?type=MagneticField"'),
    )
    with Pipeline(text.format(name="vqf").replace("inf", "20"), folder=compass) as running:
        running.start()
        parts = {part.name: part for part in running.parts}
        until = time.monotonic() + PATIENCE_S
        while parts["out"].report().received < 600 and time.monotonic() < until:
            time.sleep(0.02)
        running.stop()
        assert running.wait(PATIENCE_S)
    (line,) = parts["out"].report().losses
    assert line == "out: no sample of the magnetometer came: heading is relative to the start"


WRONG = {
    '[log.b]\nfile = "imu.csv"\nmagnetic_field = true': (
        "log.b.magnetic_field: expected a recording with a magnetic field, got one without"
    ),
    '[log.b]\nfile = "imu.csv"\n[filter.out]\nfrom = ["imu", "b"]': (
        "expected parts of Imu and optionally of MagneticField, got Imu from 'imu', Imu from 'b'"
    ),
    '[navigate.out]\nfrom = "imu"': "expected a list of parts, each once, in from, got imu",
    '[log.b]\nfile = "imu.csv"\n[navigate.out]\nfrom = ["imu", "b"]': (
        "expected parts of Imu, of NavSatFix and optionally of TwistWithCovarianceStamped and "
        "FluidPressure, got Imu from 'imu', "
    ),
    '[navigate.out]\nfrom = ["imu", "imu"]\nlever_arm = [1, 2]': (
        "navigate.out.lever_arm: expected a list of 3 numbers, got [1, 2]"
    ),
    '[calibrate.out]\nfrom = "imu"\nfile = "none.toml"': "calibrate.out.file: ",
    '[detect.out]\nfrom = "imu"\nfile = "e.jsonl"\nkind = "fal"': "out.kind: there is no detector",
    '[detect.out]\nfrom = "imu"': "expected file = a text",
    '[detect.out]\nfrom = "imu"\nfile = "no/e.jsonl"': "expected a folder that exists",
    '[detect.out]\nfrom = "imu"\nfile = "imu.csv"': "exists already",
    '[detect.a]\nfrom = "imu"\nfile = "e.jsonl"\n[detect.b]\nfrom = "imu"\nfile = "./e.jsonl"': (
        "detect.b.file: expected a file of its own, got that of 'a'"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_line(folder, text):
    with pytest.raises(FormatError, match="line ") as caught:
        Pipeline(LOG + text, folder=folder)
    assert WRONG[text] in str(caught.value)
