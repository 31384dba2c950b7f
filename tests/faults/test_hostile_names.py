"""Text from files, such as names of topics and frames, reaches a terminal without its controls."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.series import ImuSeries, SensorIdentity, Trajectory

EVIL = "a\x1b[31m\x07\x9b2J[bold]evil[/bold]<b>&\r\x08"
SHOWN = "[bold]evil[/bold]<b>&"
ROWS = 20
VERBS = ("info", "check", "cat")


def write(path):
    vectors = np.random.default_rng(1).standard_normal((2, ROWS, 3))
    t_ns = 10**18 + np.arange(ROWS) * 10**7
    imu = ImuSeries(t_ns, *vectors, sensor=SensorIdentity(EVIL))
    q = np.tile([0.0, 0.0, 0.0, 1.0], (ROWS, 1))
    tracks = {f"{EVIL}/pose": Trajectory(t_ns, q, name=EVIL)}
    files.write(path, Recording(imu={f"{EVIL}/imu": imu, "two": imu}, trajectories=tracks))
    return path


def output(*arguments):
    """Return all that a command printed."""
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code in {0, 1, 2, 3}
    assert not done.exception or isinstance(done.exception, SystemExit)
    return done.output


def controls(text):
    return [character for character in text if not (character.isprintable() or character == "\n")]


@pytest.mark.parametrize("ending", [".mcap", ".bag", "", ".npz", ".parquet"])
def test_names_in_a_file_are_shown_without_controls_and_as_they_are_spelled(ending, tmp_path):
    path = write(tmp_path / f"a{ending}")
    for verb in VERBS:
        shown = output(verb, path)
        assert controls(shown) == []
        assert SHOWN in shown
    for shown in (
        output("info", path, "--full"),
        output("info", path, "--json"),
        output("cat", path, "--topic", f"{EVIL}/ima"),
        output("cat", path, "--topic", f"{EVIL}/imu", "--format", "csv"),
    ):
        assert controls(shown) == []
    cut = tmp_path / "cut"
    if path.is_file():
        cut.write_bytes(path.read_bytes()[:-100])
        assert controls(output("info", cut)) == []


@pytest.mark.parametrize(
    "text",
    [
        f"t_ns,{EVIL}_x,{EVIL}\n1,2,3\n",
        f"# strapdown body={EVIL}\nt_ns,angular_velocity_x,angular_velocity_y\n1,2,3\n",
        f"t_ns,angular_velocity_x,angular_velocity_y,angular_velocity_z\n1,{EVIL},3,4\n",
        f"{EVIL}\n",
    ],
)
def test_text_of_a_table_is_shown_without_controls_in_its_error(text, tmp_path):
    (tmp_path / "a.csv").write_text(text, "utf-8", newline="")
    for arguments in (["info"], ["import"], ["info", "--debug"]):
        shown = output(arguments[0], tmp_path / "a.csv", *arguments[1:])
        assert [each for each in controls(shown) if each != "\t"] == []


def test_text_of_a_log_is_shown_without_controls(tmp_path):
    vectors = np.random.default_rng(1).standard_normal((2, ROWS, 3))
    path = tmp_path / "a.ulg"
    files.write(path, ImuSeries(np.arange(1, ROWS + 1) * 10**7, *vectors))
    data = path.read_bytes()
    assert b"strapdown" in data
    assert b"sensor_gyro" in data
    data = data.replace(b"strapdown", b"\x1b[31mevil").replace(b"sensor_gyro", b"\x1b[31m\x07gyro")
    path.write_bytes(data[:-3])
    for verb in VERBS:
        assert controls(output(verb, path)) == []
