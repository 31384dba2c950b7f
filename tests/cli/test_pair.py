"""Two sensors on one body, from recordings, as ``strapdown calibrate --pair`` calls it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.calibration import load_pair
from strapdown.cli._app import app
from strapdown.cli._pair import pair
from strapdown.errors import FormatError, UnknownNameError, UnsupportedError
from strapdown.formats import Recording
from strapdown.motion import MOTIONS, Mount, Mounted
from strapdown.series import Trajectory
from strapdown.simulation import simulate

ARM = np.array([0.1, 0.02, -0.05])


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Recordings of an IMU, of another one and of poses 7 s later, and of all in one file."""
    folder = tmp_path_factory.mktemp("pair")
    body = MOTIONS["wander"]
    one = simulate(body, "ADIS16470", 20.0, name="one").samples.series()
    two = simulate(Mounted(body, Mount(ARM)), "ADIS16470", 20.0, name="two").samples.series()
    late = two.replace(t_ns=two.t_ns + 7 * 10**9)
    at = body.at(np.arange(0.0, 20.0, 0.01))
    poses = Trajectory(
        np.rint(at.t_s * 1e9).astype(np.int64) + 7 * 10**9,
        at.q_world_from_body,
        position_world=at.position_world,
    )
    contents = {
        "one.mcap": Recording(imu={"imu/one": one}),
        "two.mcap": Recording(imu={"imu/two": late}),
        "poses.mcap": Recording(trajectories={"truth": poses}),
        "both.mcap": Recording(imu={"imu/one": one, "imu/two": late}),
    }
    for name, content in contents.items():
        strapdown.write(folder / name, content)
    return folder


def test_two_imus_with_result_and_figure(recordings, tmp_path):
    output, picture = tmp_path / "pair.toml", tmp_path / "pair.png"
    done = pair(recordings / "one.mcap", recordings / "two.mcap", output=output, picture=picture)
    assert done.code == 0
    assert not done.lost
    assert done.data["offset_s"] == pytest.approx(-7.0, abs=2e-4)
    np.testing.assert_allclose(done.data["lever_arm_m"], ARM, atol=2e-3)
    json.dumps(done.data, allow_nan=False)
    assert any(str(line).startswith("clock: first = second + -7.000") for line in done.view)
    assert load_pair(output).offset_s == done.data["offset_s"]
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    with pytest.raises(FileExistsError):
        pair(recordings / "one.mcap", recordings / "two.mcap", output=output)


def test_a_trajectory_where_the_second_has_no_imu(recordings):
    done = pair(recordings / "one.mcap", recordings / "poses.mcap", scale=True)
    assert done.data["offset_s"] == pytest.approx(-7.0, abs=2e-4)
    np.testing.assert_allclose(done.data["lever_arm_m"], 0.0, atol=2e-3)
    assert done.data["second_world"] == "ENU"
    assert len(done.data["gyro_scale"]) == 3


def test_two_topics_of_one_file(recordings):
    both = recordings / "both.mcap"
    done = pair(both, both, topic="imu/one", second_topic="imu/two")
    assert done.data["offset_s"] == pytest.approx(-7.0, abs=2e-4)
    with pytest.raises(FormatError, match="expected another recording, or --second-topic"):
        pair(both, both)
    with pytest.raises(UnknownNameError, match="imu/three"):
        pair(both, both, topic="imu/one", second_topic="imu/three")


def test_findings_have_their_exit_code(recordings, tmp_path):
    poses = strapdown.open(recordings / "poses.mcap").trajectory().replace(position_world=None)
    path = tmp_path / "attitude.mcap"
    strapdown.write(path, poses)
    done = pair(recordings / "one.mcap", path)
    assert done.code == 3
    assert any("not observable: lever arm" in str(line) for line in done.view)


def test_other_endings_are_refused_before_the_files_are_read(tmp_path):
    with pytest.raises(UnsupportedError, match=r"expected an ending of .toml, .json"):
        pair(tmp_path / "a.mcap", tmp_path / "b.mcap", output=tmp_path / "pair.txt")
    with pytest.raises(FileNotFoundError):
        pair(tmp_path / "a.mcap", tmp_path / "b.mcap")


def test_the_verb_takes_two_recordings(recordings):
    names = [str(recordings / name) for name in ("one.mcap", "two.mcap")]
    done = CliRunner().invoke(app, ["calibrate", "--pair", *names, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["offset_s"] == pytest.approx(-7.0, abs=2e-4)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--pair", "a.mcap", "b.mcap", "--kind", "six"],
        ["c.mcap", "--pair", "a.mcap", "b.mcap"],
        ["a.mcap", "--scale"],
        [],
    ],
)
def test_options_that_contradict_a_pair_are_usage_errors(arguments):
    assert CliRunner().invoke(app, ["calibrate", *arguments]).exit_code == 2
