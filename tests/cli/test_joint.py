"""``strapdown joint``: two recordings, or two topics of one, to angles, a file and a figure."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.motion import MOTIONS, Hinge, KinematicTree, Link, Sine
from strapdown.simulation import simulate

FLEXION = Sine(0.4, 5.0, offset=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recordings of a thigh and a shank, one by one and in one file."""
    folder = tmp_path_factory.mktemp("leg")
    knee = Hinge([0.0, 1.0, 0.0], FLEXION, [0.0, 0.0, -0.2])
    tree = KinematicTree([Link("shank", [knee])], base=MOTIONS["wander"])
    motions = {"thigh": MOTIONS["wander"], "shank": tree.motion("shank")}
    series = {
        name: simulate(motion, "BMI160", 15.0, rate_hz=100.0, sampling="mean", name=name)
        .samples.series(stamps="true")
        for name, motion in motions.items()
    }  # fmt: skip
    for name, each in series.items():
        strapdown.write(folder / f"{name}.mcap", each)
    strapdown.write(folder / "leg.mcap", Recording(imu=series))
    return folder


def run(folder, *arguments):
    names = [str(folder / name) if name.endswith(".mcap") else name for name in arguments]
    return CliRunner().invoke(app, ["joint", *names])


def test_angles_go_to_a_table_and_a_figure(folder, tmp_path):
    output, picture = tmp_path / "angles.csv", tmp_path / "angles.png"
    done = run(folder, "thigh.mcap", "shank.mcap", "--kind", "hinge", "--json",
               "--output", str(output), "--picture", str(picture))  # fmt: skip
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    np.testing.assert_allclose(np.abs(data["axis_first"]), [0.0, 1.0, 0.0], atol=0.02)
    span = data["angles_rad"]["angle"]["max"] - data["angles_rad"]["angle"]["min"]
    assert span == pytest.approx(0.8, abs=0.02)
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    header = output.read_text().splitlines()[0]
    assert header == "t_ns,angle_rad,qx,qy,qz,qw,heading_rad,heading_sigma_rad"
    rows = np.loadtxt(output, delimiter=",", skiprows=1)
    truth = FLEXION(rows[:, 0] / 1e9)[0]
    angle = rows[:, 1] * np.sign(rows[:, 1] @ (truth - truth.mean()))
    np.testing.assert_allclose(angle - angle.mean(), truth - truth.mean(), atol=0.02)
    again = run(folder, "thigh.mcap", "shank.mcap", "--output", str(output))
    assert again.exit_code == 1
    assert "exists already" in again.output


def test_two_topics_of_one_file(folder):
    done = run(folder, "leg.mcap", "leg.mcap", "--topic", "thigh", "--second-topic", "shank")
    assert done.exit_code == 0, done.output
    assert "axis in the first sensor" in done.stdout
    assert "angles are zero in the mean pose" in done.stdout


def test_findings_have_their_exit_code(folder):
    done = run(
        folder, "thigh.mcap", "thigh.mcap", "--topic", "imu/data", "--second-topic", "imu/data"
    )
    assert done.exit_code == 3, done.output
    assert "warning: angle hardly changes" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["leg.mcap", "leg.mcap"], ["thigh.mcap", "shank.mcap", "--kind", "screw"]]
)
def test_wrong_options_are_usage_errors(folder, arguments):
    assert run(folder, *arguments).exit_code == 2


def test_other_endings_and_joints_are_named(folder, tmp_path):
    done = run(folder, "thigh.mcap", "shank.mcap", "--output", str(tmp_path / "a.mcap"))
    assert done.exit_code == 1
    assert "expected an ending of .csv" in done.output
    done = run(folder, "thigh.mcap", "shank.mcap", "--joint", "neck")
    assert done.exit_code == 1
    assert "knee" in done.output
