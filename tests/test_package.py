"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

import strapdown

HEAVY = ("scipy", "numba", "matplotlib", "mujoco", "pyarrow", "rosbags", "pyulog", "mcap", "typer")


def modules_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    ["import strapdown", "from strapdown import *", "from strapdown import Imu, Topic"],
)
def test_importing_loads_nothing_heavy(statement):
    loaded = modules_after(statement)
    assert "strapdown" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_command_line_help_loads_neither_numpy_nor_a_verb():
    script = (
        "import sys; sys.argv=['strapdown','--help']; import atexit; from strapdown.cli import main"
    )
    loaded = modules_after(f"{script}\ntry: main()\nexcept SystemExit: pass")
    assert "strapdown.cli._app" in loaded
    assert loaded.isdisjoint({"numpy", "strapdown.cli.demo", "strapdown.cli.info", *HEAVY[:-1]})


@pytest.mark.parametrize("name", strapdown.__all__)
def test_every_exported_name_is_there(name):
    assert getattr(strapdown, name) is not None
    assert name in dir(strapdown)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        strapdown.no_such_name  # noqa: B018 (the access is the test)


def test_the_version_is_the_one_of_the_distribution():
    assert strapdown.__version__ == metadata.version("strapdown")
