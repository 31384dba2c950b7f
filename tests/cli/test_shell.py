"""What the command answers to half a name and to a wrong one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.estimation import FILTERS
from strapdown.motion import MOTIONS

runner = CliRunner()


def completions(line):
    """Return the answers to a press of TAB at the end of a line, as bash asks for them."""
    asks = {
        "_STRAPDOWN_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    return runner.invoke(app, [], env=asks, prog_name="strapdown").stdout.split()


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("strapdown fu", ["fuse"]),
        ("strapdown webots e", ["explain"]),
        ("strapdown fuse --filter ", list(FILTERS)),
        ("strapdown fuse --set gyro_b", ["gyro_bias_sigma=", "gyro_bias_walk="]),
        ("strapdown fuse --filter vqf --set tau", ["tau_acc=", "tau_mag="]),
        ("strapdown fuse --smooth --set bias", ["bias_walk=", "bias_prior="]),
        ("strapdown fuse --filter mahony --smooth --set ", []),
        ("strapdown odometry --foot --set still", ["still_sigma=", "still_statistic="]),
        ("strapdown sim --motion ", list(MOTIONS)),
        ("strapdown sim --sensor mpu", ["mpu6050", "mpu9250"]),
        ("strapdown sensors bmi0", ["bmi088"]),
        ("strapdown detect --kind impact,st", ["impact,stuck", "impact,still"]),
        ("strapdown plot --preset p", ["psd"]),
        ("strapdown webots run --world imu", ["imu_robot"]),
        ("strapdown webots run --motion cir", ["circle"]),
    ],
)
def test_tab_completes_names(line, answers):
    assert completions(line) == answers


@pytest.mark.parametrize(
    ("line", "code", "answer"),
    [
        ("fuze", 2, "there is no command 'fuze'; the nearest names: 'fuse'"),
        ("webots rum", 2, "there is no command 'rum'; the nearest names: 'run'"),
        ("fuse x.csv --filter eskv", 1, "there is no filter 'eskv'; the nearest names: 'eskf'"),
        ("detect x.csv --kind stil", 1, "there is no detector 'stil'; the nearest names: 'still'"),
        ("plot x.csv -o x.png --preset pds", 1, "there is no preset 'pds'; the nearest names: 'ps"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(line, code, answer):
    done = runner.invoke(app, line.split(), terminal_width=200)
    assert done.exit_code == code
    assert answer in done.stderr


def test_an_interrupt_while_the_command_loads_is_one_line():
    script = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "from strapdown.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "strapdown: interrupted\n")
