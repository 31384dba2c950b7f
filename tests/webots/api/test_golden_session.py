"""Session of a Python controller, as recorded with the client library of R2025a."""

# ruff: noqa: T201 (a controller prints)

from __future__ import annotations

import re
import sys
from contextlib import redirect_stderr

import pytest

from strapdown.webots.api import Accelerometer, Gyro, InertialUnit, Robot
from strapdown.webots.devices.device import Neutral
from strapdown.webots.world.world import World

PLACEHOLDER = re.compile(
    r"<uninitialised memory; .*?: (NaN x\d)>|<from uninitialised .*?: (NaN x\d)>"
)
UNINITIALISED = {"NaN x4": "[nan, nan, nan, nan]", "NaN x3": "[nan, nan, nan]"}


def controller() -> None:
    """Print the results of the calls of the session, in their order."""
    r = Robot()
    print("devices", list(r.devices), r.getNumberOfDevices(), r.number_of_devices)
    print(
        "basic", r.getBasicTimeStep(), type(r.getBasicTimeStep()), "time", r.getTime(),
        type(r.getTime()), r.getName(), r.getModel(), r.getCustomData(), r.getSupervisor(),
        r.getSynchronization(), r.getMode(), r.getProjectPath(), r.getWorldPath(),
    )  # fmt: skip
    iu, ac, gy, co = map(r.getDevice, ("inertial unit", "accelerometer", "gyro", "compass"))
    print(type(iu), iu.name, iu.model, *(each.getNodeType() for each in (iu, ac, gy, co)))
    print("period before", iu.getSamplingPeriod(), ac.sampling_period)
    print("acc disabled", ac.getValues())
    print("iu disabled q", iu.getQuaternion())
    ac.enable(64)
    gy.enable(50)
    iu.enable(32)
    co.enable(32)
    print("enabled periods", *(each.getSamplingPeriod() for each in (ac, gy, iu)))
    print(
        "t", r.getTime(), "acc", ac.getValues(), "gyro", gy.getValues(),
        "q", iu.getQuaternion(), "rpy", iu.getRollPitchYaw(),
    )  # fmt: skip
    for _ in range(6):
        delay = r.step(32)
        print(
            "step ->", delay, "t", r.getTime(), "acc", ac.getValues(), "gyro", gy.getValues(),
            "q", iu.getQuaternion(),
        )  # fmt: skip
    values = ac.getValues()
    print("type", type(values), type(values[0]), ac.value, iu.roll_pitch_yaw, iu.noise,
          ac.lookup_table)  # fmt: skip
    ac.disable()
    period = ac.getSamplingPeriod()
    print("after disable", period, ac.getValues())
    r.step(32)
    print("after disable+step", ac.getValues())
    ac.enable(64)
    print("re-enabled (no step)", ac.getValues())
    r.step(32)
    print("re-en 1", ac.getValues())
    r.step(32)
    print("re-en 2", ac.getValues())
    ac.enable(-5)
    print("neg", ac.getSamplingPeriod())
    ac.sampling_period = None
    print("None->", ac.sampling_period)
    durations(r, ac)
    others(r)


def durations(r: Robot, ac: Accelerometer) -> None:
    for label, call in (("enable", ac.enable), ("step", r.step)):
        try:
            call(32.0)
        except Exception as error:  # noqa: BLE001 (the session prints what comes)
            print(f"float {label} ->", type(error), error)
    print("step None", r.step())
    for ms in (0, 40, 40, 64, 32, 16):
        print("step", ms, r.step(ms), r.getTime())
    print("step -1")


def others(r: Robot) -> None:
    print("missing", r.getDevice("nope"))
    print("by index", r.getDeviceByIndex(0), r.getDeviceByIndex(1))
    try:
        r.getDeviceByIndex(99)
    except KeyError as error:
        print("idx 99 ->", type(error), error)
    r.getInertialUnit("inertial unit")
    print("depr", r.getAccelerometer("accelerometer"))
    named = InertialUnit("inertial unit")
    print("ctor enables", named.getSamplingPeriod(), named._tag)
    print("ctor period", InertialUnit("inertial unit", 100).getSamplingPeriod())
    g = Gyro("accelerometer")
    print("wrong kind period", g.getSamplingPeriod())
    attempt("wrong kind values", g.getValues)
    wrong = InertialUnit("accelerometer")
    print("iu wrong kind rpy", wrong.getRollPitchYaw())
    attempt("wrong kind q", wrong.getQuaternion)
    m = Accelerometer("missing one")
    attempt("missing", m.getValues)
    print("lut", m.lookup_table)
    print("second", hasattr(Robot(), "devices"))
    try:
        r.nosuch  # noqa: B018 (the session looks what comes)
    except AttributeError as error:
        print(type(error), error)


def attempt(label: str, call: object) -> None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 (the session prints what comes)
        print(label, "->", type(error), error)


def normal(text: str) -> list[str]:
    """Return lines without the parts that may differ."""
    text = PLACEHOLDER.sub(lambda match: UNINITIALISED[match[1] or match[2]], text)
    text = re.sub(r"(<class 'SystemError'>) .*", r"\1", text)  # worded by the interpreter
    text = re.sub(r"at 0x\w+", "at 0x...", text)
    return text.replace("strapdown.webots.api.", "controller.").splitlines()


WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "rob" model "mymodel" customData "data"
  children [ InertialUnit { } Accelerometer { } Gyro { } Compass { } ]
}
"""


class Clock(Neutral):
    """Measures the time of the world."""

    def __init__(self, world: World) -> None:
        super().__init__(3)
        self._world = world

    def take(self, _row, _dt_s):
        t = float(round(1000.0 * self._world.time_s))
        return [t, 2.0 * t, -t]


@pytest.fixture
def golden(data_dir):
    return (data_dir / "webots" / "golden_client_session_r2025a.txt").read_text("utf-8")


@pytest.fixture
def scripted(port):
    return port()


@pytest.fixture
def real():
    world = World(WORLD, profile="R2025a")
    for device in world.robots["rob"].devices[1:]:
        device.measurement = Clock(world)
    port = world.port()
    info = port.configure()
    named = info._replace(project_path="<project path>", world_path="<world path>")
    port.configure = lambda: named
    return port


@pytest.mark.parametrize("simulator", ["scripted", "real"])
def test_a_controller_sees_what_it_saw_with_the_client_library_of_r2025a(
    simulator, golden, runner, capsys, request
):
    runner(request.getfixturevalue(simulator))
    with redirect_stderr(sys.stdout):
        controller()

    assert normal(capsys.readouterr().out) == normal(golden)
