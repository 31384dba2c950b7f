"""``strapdown navigate``."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.geometry import quaternion
from strapdown.series import FixType, GnssSeries
from strapdown.simulation import simulate

runner = CliRunner()
T0 = 1_756_402_222_000_000_000
ORIGIN = (*np.radians([47.4, 8.5]), 450.0)
ARM = (0.1, 0.0, 0.3)
SIGMA = np.array([0.02, 0.02, 0.04])


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def run_json(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code in {0, 3}, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def drive():
    """An IMU that moves from its first instant on, and fixes of 5 Hz with a gap of 5 s."""
    made = simulate("wander", "ADIS16470", 30.0, rate_hz=100.0, seed=1)
    truth = made.truth.replace(t_ns=made.truth.t_ns + T0)
    imu = made.samples.series(stamps="true")
    imu = imu.replace(t_ns=imu.t_ns + T0)
    rows = np.arange(0, len(truth), 20)
    since = (truth.t_ns[rows] - T0) * 1e-9
    rows = rows[(since < 20.0) | (since >= 25.0)]
    arm = quaternion.rotate(truth.q_world_from_body[rows], np.array(ARM))
    noise = np.random.default_rng(2).standard_normal((rows.size, 3)) * SIGMA
    fixes = GnssSeries.from_local_enu(
        truth.t_ns[rows],
        truth.position_world[rows] + arm + noise,
        ORIGIN,
        np.tile(np.diag(SIGMA**2), (rows.size, 1, 1)),
        fix_type=FixType.RTK_FIXED,
    )
    return imu, fixes, truth


@pytest.fixture(scope="module")
def recording(drive, tmp_path_factory):
    imu, fixes, truth = drive
    path = tmp_path_factory.mktemp("drive") / "drive.mcap"
    content = Recording(
        imu={"imu/data": imu}, trajectories={"truth": truth}, gnss={"gps/fix": fixes}
    )
    strapdown.write(path, content)
    return path


@pytest.fixture(scope="module")
def aided(recording):
    """What the verb says about the drive with its lever arm."""
    return run_json("navigate", recording, "--lever-arm", *ARM)


def test_a_drive_that_begins_in_motion(recording, drive, tmp_path):
    _, fixes, truth = drive
    track, picture = tmp_path / "track.mcap", tmp_path / "map.png"
    data = run_json(
        "navigate", recording, "--lever-arm", *ARM, "--output", track, "--picture", picture
    )
    assert (data["imu"], data["gnss"], data["fixes"]) == ("imu/data", "gps/fix", len(fixes))
    assert data["start"]["heading_from"] == "motion"
    forward = quaternion.rotate(truth.q_world_from_body[0], np.array([1.0, 0.0, 0.0]))
    off = data["start"]["heading"] - np.arctan2(forward[1], forward[0])
    assert abs(np.remainder(off + np.pi, 2.0 * np.pi) - np.pi) < 0.1
    assert data["aiding"]["position"]["refused"] == 0
    assert data["aiding"]["position"]["nis"] == pytest.approx(1.0, abs=0.5)
    assert data["outages_s"] == [pytest.approx(5.2, abs=0.01)]
    assert data["error"]["ate"] < 0.1
    assert 0.01 < data["end_sigma_m"] < 0.05
    assert data["origin"]["latitude"] == pytest.approx(47.4, abs=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    made = strapdown.open(track)
    places = made.gnss_series("navigation/fix")
    off = places.local_enu(ORIGIN)[-1] - truth.position_world[-1]
    assert np.abs(off).max() < 0.15
    assert len(made.trajectory("navigation")) == len(places)
    deviation = np.sqrt(np.trace(places.position_covariance[-1]))
    assert deviation == pytest.approx(data["end_sigma_m"], rel=1e-6)


def test_without_the_lever_arm_the_fixes_do_not_fit(recording):
    data = run_json("navigate", recording)
    assert data["aiding"]["position"]["nis"] > 1.5


def test_smoothing_helps_where_fixes_are_missing(recording, aided):
    smoothed = run_json("navigate", recording, "--lever-arm", *ARM, "--smooth")
    assert smoothed["error"]["ate"] < 0.7 * aided["error"]["ate"]
    assert smoothed["aiding"] == aided["aiding"]


def pos_of(fixes, path, *, shift_s=0.0):
    """Write fixes as RTKLIB does, in GPS time."""
    sigmas = "sdn(m) sde(m) sdu(m) sdne(m) sdeu(m) sdun(m)"
    lines = [f"%  GPST  latitude(deg) longitude(deg) height(m) Q ns {sigmas} age(s) ratio"]
    for k, t_ns in enumerate(fixes.t_ns.tolist()):
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            seconds=18.0 + shift_s, microseconds=t_ns // 1000
        )
        east, north, up = np.sqrt(np.diagonal(fixes.position_covariance[k]))
        lines.append(
            f"{at:%Y/%m/%d %H:%M:%S.%f} {np.degrees(fixes.latitude[k]):.10f} "
            f"{np.degrees(fixes.longitude[k]):.10f} {fixes.altitude[k]:.4f} 1 12 "
            f"{north} {east} {up} 0 0 0 0 9"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def test_fixes_of_another_file_and_their_latency(aided, drive, tmp_path):
    imu, fixes, _ = drive
    strapdown.write(tmp_path / "imu.csv", imu)
    options = ("--lever-arm", *ARM)
    exact = pos_of(fixes, tmp_path / "exact.pos")
    apart = run_json("navigate", tmp_path / "imu.csv", "--gnss", exact, *options)
    assert apart["aiding"]["position"]["used"] == aided["aiding"]["position"]["used"]
    assert apart["aiding"]["position"]["nis"] == pytest.approx(
        aided["aiding"]["position"]["nis"], rel=1e-2
    )
    late = pos_of(fixes, tmp_path / "late.pos", shift_s=0.3)
    wrong = run_json("navigate", tmp_path / "imu.csv", "--gnss", late, *options)
    right = run_json("navigate", tmp_path / "imu.csv", "--gnss", late, *options, "--latency", 0.3)
    assert wrong["aiding"]["position"]["nis"] > 5.0
    assert right["aiding"]["position"]["nis"] == pytest.approx(
        apart["aiding"]["position"]["nis"], rel=1e-6
    )


@pytest.mark.parametrize("late", [0.0, pytest.param(0.1, marks=pytest.mark.slow), 0.3])
def test_a_latency_is_found_by_the_motion(drive, tmp_path, late):
    imu, fixes, _ = drive
    fixes = fixes.replace(t_ns=fixes.t_ns + round(late * 1e9))
    strapdown.write(tmp_path / "late.mcap", Recording(imu={"imu": imu}, gnss={"fix": fixes}))
    data = run_json("navigate", tmp_path / "late.mcap", "--lever-arm", *ARM)
    found = data["latency_found"]["position"]
    assert found["seconds"] == pytest.approx(late, abs=0.005)
    assert found["sigma"] < 0.005
    said = run("navigate", tmp_path / "late.mcap", "--lever-arm", *ARM).output
    assert (f"try --latency {found['seconds']:.3f}" in said) == (late > 0.0)


def test_latencies_of_positions_and_velocities_are_told_apart(drive, tmp_path):
    imu, fixes, truth = drive
    fixes = fixes[fixes.t_ns > truth.t_ns[0] + 10**9]
    rows = np.searchsorted(truth.t_ns, fixes.t_ns - 150_000_000)
    of_arm = np.cross(imu.angular_velocity[rows], ARM)
    moving = fixes.replace(
        t_ns=fixes.t_ns + 100_000_000,
        velocity_world=truth.velocity_world[rows]
        + quaternion.rotate(truth.q_world_from_body[rows], of_arm),
        velocity_covariance=np.tile(0.05**2 * np.eye(3), (len(fixes), 1, 1)),
    )
    strapdown.write(tmp_path / "late.mcap", Recording(imu={"imu": imu}, gnss={"fix": moving}))
    options = ("--lever-arm", *ARM, "--latency", 0.04)
    said = " ".join(run("navigate", tmp_path / "late.mcap", *options).output.split())
    late = r"position (\S+) s \(\+- \S+\) and velocity (\S+) s"
    found = [float(x) for x in re.search(late, said).groups()]
    assert found == pytest.approx([0.06, 0.21], abs=0.01)
    corrected = "--latency {:.3f} --velocity-latency {:.3f}".format(*(x + 0.04 for x in found))
    assert f"try {corrected}" in said


def test_fixes_without_an_accuracy_have_that_of_gps(drive, tmp_path):
    imu, fixes, _ = drive
    bare = fixes.replace(position_covariance=np.zeros((len(fixes), 3, 3)))
    strapdown.write(tmp_path / "bare.mcap", Recording(imu={"imu": imu}, gnss={"fix": bare}))
    done = run("navigate", tmp_path / "bare.mcap")
    assert f"{len(fixes)} of {len(fixes)} fixes state no accuracy" in done.output
    data = run_json("navigate", tmp_path / "bare.mcap")
    assert 0.2 < data["end_sigma_m"] < 5.0


def test_fixes_at_another_time_are_refused_with_the_shift(drive, tmp_path):
    imu, fixes, _ = drive
    strapdown.write(tmp_path / "imu.csv", imu)
    late = pos_of(fixes, tmp_path / "late.pos", shift_s=100.0)
    done = run("navigate", tmp_path / "imu.csv", "--gnss", late)
    assert done.exit_code == 1
    assert "they begin 100.000 s after it; --latency shifts" in done.output.replace("\n", " ")


def test_a_recording_without_fixes(drive, tmp_path):
    strapdown.write(tmp_path / "imu.csv", drive[0])
    done = run("navigate", tmp_path / "imu.csv")
    assert done.exit_code == 1
    assert "expected a GNSS topic, the file holds none" in done.output.replace("\n", " ")


def test_a_log_of_px4_with_its_delay_and_barometer(data_dir, tmp_path):
    log = data_dir / "px4" / "ulog" / "sample_px4_events.ulg"
    track = tmp_path / "track.tum"
    data = run_json("navigate", log, "--output", track)
    assert data["latency_s"] == pytest.approx(0.11)
    assert data["gnss"] == "vehicle_gps_position"
    assert data["start"]["heading_from"] == "nowhere"  # it rises, hovers and lands
    assert data["aiding"]["altitude"]["refused"] == 0
    assert data["aiding"]["position"]["refused"] == 0
    assert data["aiding"]["velocity"]["used"] > 400
    # the vehicle takes off to 2.1 m and lands where it was
    made = strapdown.open(track).trajectory().in_frames(world="ENU")
    height = made.position_world[:, 2]
    assert height.max() == pytest.approx(2.14, abs=0.2)


def test_the_walk(data_dir, tmp_path):
    """Half a minute of a walk with RTK; its logger counts in GPS time, 18 s ahead of UTC."""
    folder = data_dir / "gnss_walk"
    columns = tmp_path / "walk.toml"
    done = run(
        "import", folder / "imu_1730_sf.csv", "--names", "time,ax,ay,az,gx,gy,gz,-,-,-,-",
        "--time-unit", "s", "--accel-unit", "g", "--gyro-unit", "rad/s", "--save", columns,
    )  # fmt: skip
    assert done.exit_code == 0
    data = run_json(
        "navigate", folder / "imu_1730_sf.csv", "--columns", columns, "--until", "40",
        "--gnss", folder / "gnss_1730_sf.pos", "--latency", -18.0,
        "--set", "gyro_noise=1e-3", "--set", "accel_noise=2e-2",
    )  # fmt: skip
    assert data["start"]["heading_from"] == "motion"
    assert data["aiding"]["position"]["used"] > 5 * data["aiding"]["position"]["refused"]
    assert data["aiding"]["position"]["nis"] < 5.0
    assert data["end_sigma_m"] < 0.1


def test_positions_of_an_odometry_aid_as_fixes_do(drive, tmp_path):
    imu, fixes, truth = drive
    rows = np.searchsorted(truth.t_ns, fixes.t_ns)
    odometry = truth[rows].replace(
        position_world=fixes.local_enu(ORIGIN),
        velocity_world=None,
        position_covariance=fixes.position_covariance,
        name="odom",
    )
    path = tmp_path / "odom.npz"
    content = Recording(imu={"imu": imu}, trajectories={"odom": odometry, "truth": truth})
    strapdown.write(path, content)
    data = run_json("navigate", path, "--gnss-topic", "odom", "--lever-arm", *ARM)
    assert data["aiding"]["position"]["nis"] == pytest.approx(1.0, abs=0.5)
    assert data["error"]["ate"] < 0.1
    assert "the place on the Earth is unknown" in run(
        "navigate", path, "--gnss-topic", "odom"
    ).output.replace("\n", " ")
    refused = run("navigate", path, "--gnss-topic", "truth")
    assert refused.exit_code == 1
    assert "covariances of its positions" in refused.output


def test_velocities_later_than_positions(drive, tmp_path):
    imu, fixes, truth = drive
    late = np.searchsorted(truth.t_ns, fixes.t_ns) - 20  # 0.2 s
    rows = late >= 0
    arm = quaternion.rotate(truth.q_world_from_body, np.array(ARM))
    velocity = np.gradient(truth.position_world + arm, 0.01, axis=0)
    sigma = 0.05
    noise = np.random.default_rng(3).standard_normal((rows.sum(), 3)) * sigma
    moving = fixes[rows].replace(
        velocity_world=velocity[late[rows]] + noise,
        velocity_covariance=np.tile(sigma**2 * np.eye(3), (rows.sum(), 1, 1)),
    )
    path = tmp_path / "moving.npz"
    strapdown.write(path, Recording(imu={"imu": imu}, gnss={"gps": moving}))
    known = run_json("navigate", path, "--lever-arm", *ARM, "--velocity-latency", 0.2)
    assert known["velocity_latency_s"] == 0.2
    assert known["latency_s"] == 0.0
    assert known["aiding"]["velocity"]["nis"] == pytest.approx(1.0, abs=0.5)
    ignored = run_json("navigate", path, "--lever-arm", *ARM)
    assert ignored["aiding"]["velocity"]["nis"] > 5.0


def test_info_lists_receivers(recording):
    data = run_json("info", recording)
    (topic,) = [each for each in data["topics"] if each["holds"] == "GnssSeries"]
    assert topic["topic"] == "gps/fix"
    assert topic["frames"] == {"world": "ENU"}
    assert run("cat", recording, "--topic", "gps/fix", "--count", 1).exit_code == 0
