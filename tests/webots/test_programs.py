"""Controllers of the robots of a world, and the environment of their processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.webots.file.sample_worlds import find_world, sample_worlds
from strapdown.webots.file.world_file import read_world
from strapdown.webots.run.programs import Program, environment, find_programs
from strapdown.webots.run.runner import run_controllers
from strapdown.webots.world.world import World

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot { name "one" controller "walk" controllerArgs [ "--fast" "2" ] }
Robot { name "two" controller "talk" }
Robot { name "three" controller "<none>" }
"""
SCRIPT = "from controller import Robot\nrobot = Robot()\nrobot.step(32)\n"


@pytest.fixture
def project(tmp_path):
    """Project with a controller for each of two robots, and none for the third."""
    for name in ("walk", "talk"):
        folder = tmp_path / "controllers" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(SCRIPT)
    (tmp_path / "worlds").mkdir()
    world = tmp_path / "worlds" / "w.wbt"
    world.write_text(WORLD)
    return world


def test_every_robot_gets_the_controller_that_it_names(project):
    programs, idle = find_programs(read_world(project))
    controllers = project.parents[1] / "controllers"
    assert programs == [
        Program("one", controllers / "walk" / "walk.py", ("--fast", "2")),
        Program("two", controllers / "talk" / "talk.py"),
    ]
    assert len(idle) == 1
    assert "'three'" in idle[0]


def test_a_script_takes_the_place_of_one_controller(project, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    programs, _ = find_programs(read_world(project), script, robot="one", args=["x"])
    assert programs[0] == Program("one", script, ("--fast", "2", "x"))
    assert programs[1].script.name == "talk.py"


def test_a_robot_alone_may_be_driven(project):
    programs, idle = find_programs(read_world(project), robot="two")
    assert [each.robot for each in programs] == ["two"]
    assert len(idle) == 2


def test_a_script_needs_a_robot_where_there_are_several(project, tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    with pytest.raises(ValueRangeError, match="3 robots, one of: one, two, three"):
        find_programs(read_world(project), script)


@pytest.mark.parametrize(
    ("script", "options", "refusal"),
    [
        (None, {"robot": "four"}, (UnknownNameError, "no robot 'four'.*'one'")),
        (None, {"args": ["x"]}, (ValueRangeError, "expected a controller before its arguments")),
        ("nothing.py", {"robot": "one"}, (FileNotFoundError, "No such controller")),
        ("program.c", {"robot": "one"}, (FormatError, r"expected a Python controller \(\.py\)")),
    ],
)
def test_what_cannot_be_run_is_refused(project, script, options, refusal):
    error, text = refusal
    project.with_name("program.c").write_text("int main() {}")
    with pytest.raises(error, match=text):
        find_programs(read_world(project), script and project.with_name(script), **options)


def test_a_world_without_controllers_is_refused():
    with pytest.raises(ValueRangeError, match=r"robot 'rob' has no controller.*CONTROLLER\.py"):
        find_programs(read_world('#VRML_SIM R2025a utf8\nRobot { name "rob" }'))
    with pytest.raises(ValueRangeError, match=r"the world has no robot.*--proto-dir"):
        find_programs(read_world("#VRML_SIM R2025a utf8\nWorldInfo { }"))
    address = "https://example.org/Walker.proto"
    hidden = read_world(f'#VRML_SIM R2025a utf8\nEXTERNPROTO "{address}"\nWalker {{ }}')
    with pytest.raises(ValueRangeError, match=rf"no robot.*Walker.*PROTO at '{address}'.*protos"):
        find_programs(hidden, "walk.py")


def test_worlds_are_found_by_path_and_by_name(project):
    assert find_world(project) == project
    assert find_world("pendulum") == sample_worlds()["pendulum"]
    with pytest.raises(UnknownNameError, match="no world file or sample world 'pendulun'"):
        find_world("pendulun")
    with pytest.raises(FileNotFoundError, match=r"pendulum2\.wbt"):
        find_world("pendulum2.wbt")


def test_a_library_takes_sample_worlds_by_name_too():
    assert World("imu_robot").file.path == sample_worlds()["imu_robot"]


def test_a_controller_runs_in_its_folder_as_main(project, capfd):
    script = project.parents[1] / "controllers" / "walk" / "walk.py"
    script.with_name("helper.py").write_text("from controller import Robot\nWORD = 'beside'\n")
    script.write_text(
        "import os, sys\n"
        "from helper import WORD\n"
        "from controller import Robot\n"
        "print(__name__, __file__, os.getcwd(), sys.path[0], WORD, sys.argv,\n"
        "      sys.modules['__main__'].__dict__ is globals(), sep='|')\n"
        "for name in ('ROBOT_NAME', 'INSTANCE_PATH'):\n"
        "    print(os.environ['WEBOTS_' + name])\n"
        "print(os.environ['PYTHONIOENCODING'], sys.stdout.encoding, sys.stdin.read() == '')\n"
    )
    world = World(project)
    run_controllers(world, find_programs(world.file, robot="one")[0])
    first, name, instance, last = capfd.readouterr().out.splitlines()
    folder = str(script.parent)
    argv = [str(script), "--fast", "2"]
    assert first == f"__main__|{script}|{folder}|{folder}|beside|{argv}|True"
    assert name == "one"
    assert instance.endswith("/")
    assert not Path(instance).exists()  # a folder of the run
    assert last == "UTF-8 utf-8 True"


def test_runtime_ini_sets_variables_of_the_controller(tmp_path, monkeypatch):
    monkeypatch.setenv("BEFORE", "one")
    script = tmp_path / "controllers" / "c" / "c.py"
    script.parent.mkdir(parents=True)
    ini = script.with_name("runtime.ini")
    ini.write_text(
        "; a comment\n"
        "[environment variables with paths]\n"
        "PYTHONPATH = lib:$(NOWHERE):../../shared:/opt/x\n"
        "[environment variables]\n"
        "Mixed_Case = $(BEFORE) and 100%\n"
        'QUOTED = "a b"\n'
        "[environment variables for Linux]\n"
        "SYSTEM = linux\n"
        "[environment variables for macOS]\n"
        "SYSTEM = macos\n"
        "[environment variables for Windows]\n"
        "SYSTEM = windows\n"
        "[python]\n"
        "COMMAND = python2.7\n"
    )
    variables = environment(Program("r", script), "/run/x/")
    folder = script.parent
    assert variables["PYTHONPATH"] == f"{folder}/lib:{tmp_path}/shared:/opt/x"
    assert variables["Mixed_Case"] == "one and 100%"
    assert variables["QUOTED"] == "a b"
    assert variables["SYSTEM"] == ("macos" if sys.platform == "darwin" else "linux")
    assert variables["WEBOTS_ROBOT_NAME"] == "r"
    assert variables["WEBOTS_INSTANCE_PATH"] == "/run/x/"
    assert "SYSTEM" not in os.environ


def test_a_broken_runtime_ini_is_named(tmp_path):
    script = tmp_path / "c.py"
    script.with_name("runtime.ini").write_text("no section = 1\n")
    with pytest.raises(FormatError, match=r"runtime\.ini: expected an INI file"):
        environment(Program("r", script), "/x/")


@pytest.mark.parametrize(
    ("first", "ini", "said"),
    [
        ("#!/usr/bin/env python3", None, ""),
        ("#!/usr/bin/python3.11", None, ""),
        ("# plain", "[environment variables]\nA = b\n", ""),
        ("#!/opt/other/bin/python", None, "'#!/opt/other/bin/python' in "),
        ("#!/usr/bin/env python2", None, "'#!/usr/bin/env python2' in "),
        ("# plain", "[python]\nCOMMAND = python2.7\n", "section [python] of "),
    ],
)
def test_a_controller_that_asks_for_another_python_is_told_of_once(tmp_path, first, ini, said):
    script = tmp_path / "c.py"
    script.write_text(f"{first}\n{SCRIPT}")
    if ini is not None:
        script.with_name("runtime.ini").write_text(ini)
    world = World('#VRML_SIM R2025a utf8\nRobot { name "one" }\n')
    lines = find_programs(world.file, script)[1]
    assert len(lines) == bool(said)
    assert all(line.startswith(f"robot 'one': {said}") for line in lines)
    assert all(
        line.endswith(f" has no effect: {sys.executable} runs the controller") for line in lines
    )
