"""Temporary module ``controller`` in this process."""

from __future__ import annotations

import importlib
import runpy
import sys
from types import ModuleType

import pytest

from strapdown.errors import ValueRangeError
from strapdown.webots import api
from strapdown.webots.api import runtime
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.controller_module import controller_module
from strapdown.webots.world.world import World

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot { name "rob" children [ InertialUnit { } Gyro { } ] }
"""


def snapshot():
    return dict(sys.modules), runtime.port, runtime.single_instance, vars(api.Robot)["created"]


def test_the_module_is_there_only_inside():
    before = snapshot()
    with controller_module(WORLD) as module:
        assert sys.modules["controller"] is module
        assert importlib.import_module("controller.inertial_unit").InertialUnit is api.InertialUnit
    assert "controller" not in sys.modules
    after = snapshot()
    assert {name for name in after[0] if name.startswith("controller")} == set()
    assert set(before[0]) <= set(after[0])
    assert after[1:] == before[1:]


def test_an_unrelated_package_of_that_name_comes_back(monkeypatch):
    other, sub = ModuleType("controller"), ModuleType("controller.sub")
    monkeypatch.setitem(sys.modules, "controller", other)
    monkeypatch.setitem(sys.modules, "controller.sub", sub)
    with controller_module(WORLD) as module:
        assert sys.modules["controller"] is module
        assert "controller.sub" not in sys.modules
        with pytest.raises(ImportError):
            importlib.import_module("controller.sub")
    assert sys.modules["controller"] is other
    assert sys.modules["controller.sub"] is sub


def test_it_is_taken_away_after_an_error():
    with pytest.raises(ZeroDivisionError), controller_module(WORLD):
        1 / 0  # noqa: B018 (it raises)
    assert "controller" not in sys.modules
    assert runtime.port is None


def test_star_gives_the_names_of_the_original(recorded):
    found = {}
    with controller_module(WORLD):
        exec("from controller import *", found)  # noqa: S102 (a star import needs a module)
    del found["__builtins__"]
    assert found.keys() == recorded["module controller (public classes)"][1]
    assert "Pen" not in found


@pytest.mark.parametrize(
    ("submodule", "name"),
    [
        ("robot", "Robot"),
        ("accelerometer", "Accelerometer"),
        ("device", "Device"),
        ("sensor", "Sensor"),
        ("distance_sensor", "DistanceSensor"),
        ("supervisor", "Supervisor"),
    ],
)
def test_a_class_is_in_its_submodule(submodule, name):
    with controller_module(WORLD):
        module = importlib.import_module(f"controller.{submodule}")
        assert getattr(module, name) is getattr(api, name)


def test_there_are_no_other_submodules():
    with controller_module(WORLD), pytest.raises(ImportError):
        importlib.import_module("controller.runtime")


def test_a_controller_runs_in_this_process(tmp_path):
    script = tmp_path / "c.py"
    script.write_text(
        "from controller import Robot\n"
        "robot = Robot()\n"
        "times = []\n"
        "while robot.step(32) != -1:\n"
        "    times.append(robot.getTime())\n"
    )
    for _ in range(2):  # robots of the first pass do not count in the second
        with controller_module(WORLD, duration_s=0.1):
            result = runpy.run_path(str(script), run_name="__main__")
        assert result["times"] == [0.032, 0.064, 0.096]


def test_inside_there_is_one_robot(capsys):
    with controller_module(WORLD) as module:
        first, second = module.Robot(), module.Robot()
        assert first.getName() == "rob"
        assert not hasattr(second, "devices")
    assert "only one Robot instance" in capsys.readouterr().err


def test_the_profile_is_that_of_the_latest_release_unless_named():
    with controller_module(find_world("tilted_unit")) as module:
        unit = module.Robot().getDevice("inertial unit")
        unit.enable(32)
        assert unit.getQuaternion  # there is none in R2020a
        assert runtime.port.configure().profile == "R2025a"
    with controller_module(find_world("tilted_unit"), profile="R2020a"):
        assert runtime.port.configure().profile == "R2020a"


def test_a_world_or_a_port_of_it_may_be_given():
    world = World(WORLD)
    with controller_module(world) as module:
        module.Robot().step(32)
    with controller_module(port=world.port("rob")) as module:
        module.Robot().step(32)
    assert world.step_count == 2


def test_options_of_a_world_that_is_one_already_are_refused():
    world = World(WORLD)
    for given in ({"world": world}, {"port": world.port()}):
        with (
            pytest.raises(TypeError, match=r"expected options of the world in World\(\)"),
            controller_module(**given, duration_s=1.0),
        ):
            pass


@pytest.mark.parametrize("both", [True, False])
def test_neither_and_both_are_refused(both):
    world = World(WORLD) if both else None
    port = world.port() if world else None
    with (
        pytest.raises(ValueRangeError, match="either a world or a port"),
        controller_module(world, port=port),
    ):
        pass
