"""``strapdown webots explain``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.webots.file.sample_worlds import sample_worlds
from strapdown.webots.profiles import PROFILES

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["webots", "explain", *map(str, arguments)])


def test_a_person_sees_axes_devices_and_angles_of_every_profile():
    done = run("legacy_nue")
    assert done.exit_code == 0, done.output
    assert (
        "legacy_nue.wbt, R2020a: A world of 2020; basic step 32 ms; moved by forces" in done.stdout
    )
    for profile in PROFILES:
        assert f"{profile}: NUE, up +y, north +x, gravity 9.81 m/s^2" in done.stdout
    (manual,) = [line for line in done.stdout.splitlines() if line.startswith("documented   ")][:1]
    assert manual.split()[1:4] == ["0.000", "0.000", "-0.600"]  # to the west of north
    assert "LED             led      inert: accepts calls without effect" in done.stdout


def test_a_script_gets_the_same_as_json():
    done = run("imu_robot", "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["physics"] is True
    assert [each["profile"] for each in data["profiles"]] == list(PROFILES)
    (unit,) = data["profiles"][1]["angles"]
    assert (unit["robot"], unit["device"]) == ("imu robot", "inertial unit")
    assert unit["nose up"] == pytest.approx([0.0, -0.1, 0.0])
    assert data["devices"][-1] == {
        "robot": "imu robot",
        "tag": 6,
        "kind": "LED",
        "name": "led",
        "inert": True,
    }


@pytest.mark.parametrize("world", sorted(sample_worlds()))
def test_every_sample_can_be_explained(world):
    assert run(world, "--quiet").exit_code == 0


def test_a_missing_world_and_a_broken_one_are_one_line(tmp_path):
    done = run("nowhere")
    assert done.exit_code == 1
    assert "no world file or sample world 'nowhere'" in done.stderr
    broken = tmp_path / "broken.wbt"
    broken.write_text("#VRML_SIM R2025a utf8\nRobot { name }\n")
    done = run(broken)
    assert done.exit_code == 1
    assert "line 2 column" in done.stderr


def test_proto_folders_are_searched(tmp_path):
    (tmp_path / "Part.proto").write_text(
        "#VRML_SIM R2025a utf8\nPROTO Part [ ] { InertialUnit { } }\n"
    )
    world = tmp_path / "w.wbt"
    world.write_text('#VRML_SIM R2025a utf8\nRobot { name "rob" children [ Part { } ] }\n')
    assert "inertial unit" not in run(world).stdout
    done = run(world, "--proto-dir", tmp_path)
    assert done.exit_code == 0, done.output
    assert "inertial unit" in done.stdout
