"""Connection of a controller's process with the world's, both ends in this process."""

from __future__ import annotations

import math
from enum import IntEnum
from socket import socketpair
from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import DeviceError, UnknownNameError
from strapdown.webots.port import Answer, DeviceInfo, RobotInfo
from strapdown.webots.run import process_port
from strapdown.webots.run.process_port import MessageSocket, ProcessPort

GYRO = DeviceInfo(1, "Gyro", 45, "gyro", "", {"lookup_table": [0.0, 1.0, 2.0]})
ROBOT = RobotInfo(
    name="rob",
    model="",
    version="R2025a",
    profile="R2025a",
    coordinate_system="ENU",
    supervisor=False,
    synchronization=True,
    time_s=0.0,
    basic_time_step=32.0,
    project_path="/p",
    world_path="/p/w.wbt",
    custom_data="",
    controller="ctl",
    controller_args=("a", "b"),
    devices=(GYRO,),
)


@pytest.fixture
def ends():
    """Both ends: a ProcessPort, and the MessageSocket of the world's process."""
    ours, theirs = map(MessageSocket, socketpair())
    yield ProcessPort(theirs), ours
    ours.close()
    theirs.close()


def served(connection, reply):
    """Answer one request in the background; the list contains the received requests."""
    heard = []

    def serve():
        heard.append(connection.receive())
        reply(connection)

    Thread(target=serve, daemon=True).start()
    return heard


def test_a_configuration_arrives_as_it_was_sent(ends):
    controller, world = ends
    heard = served(world, lambda connection: process_port.reply(connection, ROBOT))
    info = controller.configure()
    assert heard == [("configure",)]
    assert info == ROBOT
    assert isinstance(info.devices[0], DeviceInfo)


def test_a_step_brings_samples_and_changed_devices(ends):
    controller, world = ends
    answer = Answer(0, 0.032, [(1, 0.032, [math.nan, math.inf, -0.0])], [GYRO], "new")
    heard = served(world, lambda connection: process_port.reply(connection, answer))
    got = controller.exchange(32, [(1, "period", (32,))])
    assert heard == [("step", 32, [(1, "period", (32,))])]
    assert got.devices == [GYRO]
    assert got.custom_data == "new"
    tag, time_s, values = got.samples[0]
    assert (tag, time_s) == (1, 0.032)
    assert math.isnan(values[0])
    assert values[1] == math.inf
    assert math.copysign(1.0, values[2]) == -1.0


@given(st.lists(st.floats(allow_nan=False)))
def test_no_number_changes_on_the_way(values):
    ours, theirs = socketpair()
    with ours, theirs:
        process_port.reply(MessageSocket(ours), values)
        assert MessageSocket(theirs).receive() == ("done", values)


def test_a_message_may_be_larger_than_what_a_socket_holds(ends):
    controller, world = ends
    text = "x" * 1_000_000
    served(world, lambda connection: process_port.reply(connection, text))
    assert controller.supervise("export", 1) == text


def test_a_message_that_breaks_off_is_an_end():
    ours, theirs = socketpair()
    with theirs:
        with ours:
            ours.sendall(b"\x08\0\0\0half")
        with pytest.raises(EOFError):
            MessageSocket(theirs).receive()


def test_numbers_of_derived_types_travel_as_plain_numbers(ends):
    class Speed(IntEnum):
        FAST = 3

    controller, world = ends
    controller.begin(Speed.FAST, [(1, "position", (np.float64(0.5), True, None))])
    word, ms, requests = world.receive()
    assert (word, ms) == ("step", 3)
    assert type(ms) is int
    assert requests == [(1, "position", (0.5, True, None))]
    assert type(requests[0][2][0]) is float


def test_what_is_no_number_or_text_is_refused_where_it_was_sent(ends):
    controller, _ = ends
    with pytest.raises(TypeError, match="expected a number, a text, or a list of them, got object"):
        controller.begin(32, [(1, "position", (object(),))])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UnknownNameError("robot", "x", ["y"]), UnknownNameError),
        (DeviceError("no"), DeviceError),
        (KeyError("k"), KeyError),
        (type("Other", (ValueError,), {})("else"), DeviceError),
    ],
)
def test_an_error_of_the_world_is_raised_at_the_controller(ends, error, kind):
    controller, world = ends
    served(world, lambda connection: process_port.fail(connection, error))
    with pytest.raises(kind) as caught:
        controller.supervise("from_def", "CRATE")
    assert type(caught.value) is kind
    assert str(error).strip("'") in str(caught.value)


def test_a_supervisors_call_goes_there_and_back(ends):
    controller, world = ends
    heard = served(world, lambda connection: process_port.reply(connection, ("SFVec3f", -1)))
    assert tuple(controller.supervise("field", 7, "translation")) == ("SFVec3f", -1)
    assert heard == [("supervise", "field", (7, "translation"))]


@pytest.mark.parametrize(
    "use",
    [ProcessPort.configure, lambda each: each.exchange(32, []), ProcessPort.end],
    ids=["ask", "step", "end"],
)
def test_a_closed_link_ends_the_controller_with_status_1(ends, use):
    controller, world = ends
    world.close()
    with pytest.raises(SystemExit) as caught:
        use(controller)
    assert caught.value.code == 1


def test_closing_after_the_simulation_went_is_no_error(ends):
    controller, world = ends
    world.close()
    controller.close()


def test_closing_is_told(ends):
    controller, world = ends
    controller.close()
    assert world.receive() == ("close",)
