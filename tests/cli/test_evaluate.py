"""``strapdown evaluate`` on tracks with positions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app

runner = CliRunner()
COUNT = 300
WALK = np.outer(np.arange(COUNT), [0.01, 0.005, 0.0])


def run(*arguments):
    return runner.invoke(app, ["evaluate", *map(str, arguments)])


def write(path, position, rotation=None):
    rotation = Rotation.identity(COUNT) if rotation is None else rotation
    track = strapdown.Trajectory(
        np.arange(COUNT) * 10_000_000, rotation.as_quat(), position_world=position
    )
    strapdown.write(path, track)
    return path


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return write(tmp_path_factory.mktemp("truth") / "truth.tum", WALK)


def test_positions_are_compared_where_both_sides_have_them(truth, tmp_path):
    estimate = write(tmp_path / "walk.tum", 1.01 * WALK + np.array([0.0, 0.0, 2.0]))
    done = run(estimate, truth, "--json")
    data = json.loads(done.stdout)
    assert data["orientation_error"]["total_deg"] == pytest.approx(0.0, abs=1e-6)
    assert data["position_error"]["ate_vertical"] == pytest.approx(2.0)
    assert data["position_error"]["drift_percent"] == pytest.approx(1.0)
    assert data["relative_pose_error"]["drift_percent"] == pytest.approx(1.0)
    assert data["relative_pose_error"]["over_s"] == 1.0
    text = run(estimate, truth).stdout
    assert "vertical 2.000 m RMS" in text
    assert "(1.00 % of 3.3 m)" in text
    assert "over 1 s" in text
    assert text.rstrip().endswith("segments")


def test_alignment_and_length_of_segments_are_options(truth, tmp_path):
    turn = Rotation.from_euler("z", 50, degrees=True)
    estimate = write(
        tmp_path / "turned.tum", turn.apply(WALK) + 7.0, turn * Rotation.identity(COUNT)
    )
    done = run(estimate, truth, "--align-position", "rigid2d", "--align", "heading",
               "--rpe-m", "0.5", "--json")  # fmt: skip
    data = json.loads(done.stdout)
    assert data["position_error"]["ate"] == pytest.approx(0.0, abs=1e-6)
    assert data["orientation_error"]["total_deg"] == pytest.approx(0.0, abs=1e-6)
    assert data["relative_pose_error"]["translation"] == pytest.approx(0.0, abs=1e-6)
    assert data["relative_pose_error"]["over_m"] == 0.5


def test_tracks_shorter_than_the_segments_are_still_compared(truth):
    done = run(truth, truth, "--rpe-s", "60")
    assert done.exit_code == 0
    assert "position 0.000 m" in done.stdout
    assert "no relative error" in done.stdout
    assert "shorter segments" in done.stdout


def test_attitude_without_position_is_compared_as_attitude(truth, tmp_path):
    estimate = write(tmp_path / "attitude.tum", None)
    data = json.loads(run(estimate, truth, "--json").stdout)
    assert "orientation_error" in data
    assert "position_error" not in data


def test_positions_without_attitude_are_compared_as_positions(truth, tmp_path):
    track = strapdown.Trajectory(
        np.arange(COUNT) * 10_000_000, np.full((COUNT, 4), np.nan), position_world=WALK
    )
    strapdown.write(tmp_path / "places.csv", track)
    data = json.loads(run(tmp_path / "places.csv", truth, "--json").stdout)
    assert data["position_error"]["ate"] == pytest.approx(0.0, abs=1e-6)
    assert "orientation_error" not in data
    assert "relative_pose_error" not in data
