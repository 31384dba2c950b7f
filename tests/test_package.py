"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module, metadata
from keyword import iskeyword

import numpy as np
import pytest

import strapdown
from strapdown import ImuSeries
from strapdown.cli import _app

HEAVY = ("scipy", "numba", "matplotlib", "mujoco", "pyarrow", "rosbags", "pyulog", "mcap", "typer")
VERBS = [
    *(verb + "_" * iskeyword(verb) for verb in _app.VERBS if verb not in _app.GROUPS),
    *(f"{group}_{verb}" for group, verbs in _app.GROUPS.items() for verb in verbs),
]

DOORS = [
    name
    for _, name, is_package in pkgutil.iter_modules(strapdown.__path__, "strapdown.")
    if is_package and hasattr(import_module(name), "__all__")
]


def modules_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def modules_after_command(*arguments: str) -> set[str]:
    return modules_after(
        f"import sys; sys.argv = ['strapdown', *{arguments!r}]\n"
        "from strapdown.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code"
    )


@pytest.mark.parametrize(
    "statement",
    ["import strapdown", "from strapdown import *", "from strapdown import Imu, Topic"],
)
def test_importing_loads_nothing_heavy(statement):
    loaded = modules_after(statement)
    assert "strapdown" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_a_message_loads_neither_other_dialects_nor_conversion():
    loaded = modules_after("from strapdown import Imu")
    assert "strapdown.messages.imu" in loaded
    assert loaded.isdisjoint(f"strapdown.messages.{name}" for name in ("px4", "ros", "conversion"))


def test_the_command_line_help_loads_neither_numpy_nor_a_verb():
    loaded = modules_after_command("--help")
    assert "strapdown.cli._app" in loaded
    assert loaded.isdisjoint({"numpy", "strapdown.cli.demo", "strapdown.cli.info", *HEAVY[:-1]})


def test_the_verbs_load_nothing_heavy_before_they_run():
    loaded = modules_after("".join(f"import strapdown.cli.{verb}\n" for verb in VERBS))
    assert "strapdown.cli.webots_run" in loaded
    assert loaded.isdisjoint(HEAVY[:-1])


def test_the_help_of_fuse_loads_neither_filters_nor_readers_nor_plots():
    loaded = modules_after_command("fuse", "--help")
    assert "strapdown.cli.fuse" in loaded
    assert loaded.isdisjoint(
        {
            "strapdown.estimation.error_state",
            "strapdown.estimation.error_state.smoother",
            "strapdown.detection",
            "strapdown.inertial",
            "strapdown.formats.mcap.reader",
            "strapdown.messages.px4",
            "strapdown.plots._axes",
            "strapdown.webots.run.runner",
        }
    )


def test_reading_mcap_loads_no_other_reader_nor_writer(tmp_path):
    path = tmp_path / "still.mcap"
    t_ns = np.arange(100) * 10_000_000
    strapdown.write(path, ImuSeries(t_ns, np.zeros((100, 3)), np.full((100, 3), 5.7)))
    loaded = modules_after_command("info", str(path))
    assert "strapdown.formats.mcap.reader" in loaded
    assert loaded.isdisjoint(HEAVY[:-1])
    others = ("ulog", "rosbag", "npz", "parquet", "euroc", "csv_file", "mcap_writer", "px4_health")
    assert loaded.isdisjoint(f"strapdown.formats.{name}" for name in others)


def test_every_exported_name_is_there(subtests):
    for name in strapdown.__all__:
        with subtests.test(name=name):
            assert getattr(strapdown, name) is not None
            assert name in dir(strapdown)


@pytest.mark.parametrize("door", DOORS)
def test_every_name_of_a_package_is_there(door):
    package = import_module(door)
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        strapdown.no_such_name  # noqa: B018 (the access is the test)


def test_the_version_is_the_one_of_the_distribution():
    assert strapdown.__version__ == metadata.version("strapdown")
