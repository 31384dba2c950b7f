"""Backends that one suite holds to the same promises, and the other process of its tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from socket import socket
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from strapdown.transport import Horus, Ipc, Local, Ros1, Ros2, Zenoh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from strapdown.transport import Backend


@dataclass(frozen=True)
class Row:
    """A backend under test.

    ``ways`` gives what this process opens and what the other one does, ``module`` is the package
    without which the row is skipped. The rest says which promises the backend can give at all.
    """

    name: str
    ways: Callable[..., tuple[Backend, Backend]]
    module: str | None = None
    leaves: bool = True  # the process
    replays: bool = True  # what is retained, to late joiners in another process
    reliable: bool = True
    numbers: bool = True  # messages, so that a restart and losses are seen
    checks_type: bool = True  # of messages, between processes
    forks: bool = True
    is_slow: bool = False  # to find its peers
    any_name: bool = True  # also names that ROS does not allow
    nests: bool = True  # a topic "a" beside a topic "a/b"
    by_router: bool = False  # of zenoh; ``ways`` takes its endpoint


def same(backend: Backend) -> Callable[[], tuple[Backend, Backend]]:
    """Open the same at both ends."""
    return lambda: (backend, backend)


def free_endpoint() -> str:
    """Return an endpoint of zenoh where nobody listens."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp/127.0.0.1:{probe.getsockname()[1]}"


def zenoh_peers() -> tuple[Backend, Backend]:
    """Listen here, connect there."""
    endpoint = free_endpoint()
    return Zenoh(listen=(endpoint,)), Zenoh(connect=(endpoint,))


def zenoh_clients(router: str) -> tuple[Backend, Backend]:
    """Connect to the same router at both ends."""
    return (Zenoh(connect=(router,)),) * 2


def ros_by_zenoh(router: str) -> tuple[Backend, Backend]:
    """Meet at the router that ROS programs would use."""
    return (Ros2(rmw="zenoh", connect=router, domain=ROS_DOMAIN),) * 2


ROS_DOMAIN = 10 + os.getpid() % 90  # the ports of higher ones are those that the system gives away

# One row for each backend; its owner knows what it can do.
BACKEND_ROWS = [
    Row("local", same(Local()), leaves=False),
    Row("ipc", same(Ipc()), module="iceoryx2"),
    Row(
        "horus",
        same(Horus()),
        module="horus",
        reliable=False,
        numbers=False,
        nests=False,
        is_slow=True,
    ),
    Row("zenoh", zenoh_peers, module="zenoh", forks=False, is_slow=True),
    Row("zenoh-router", zenoh_clients, "zenoh", forks=False, is_slow=True, by_router=True),
    Row(
        "ros2",
        same(Ros2(domain=ROS_DOMAIN)),
        "cyclonedds",
        replays=False,
        forks=False,
        any_name=False,
        is_slow=True,
    ),
    Row(
        "ros2-zenoh",
        ros_by_zenoh,
        "zenoh",
        replays=False,
        forks=False,
        any_name=False,
        is_slow=True,
        by_router=True,
    ),
]

if os.environ.get("STRAPDOWN_ROS1_GRAPH"):  # test_ros1 starts the suite once more, with a master
    BACKEND_ROWS[:] = [Row("ros1", same(Ros1()), replays=False, forks=False, any_name=False)]


def pytest_generate_tests(metafunc) -> None:
    """Run what asks for ``row`` on each backend, or on each that leaves the process."""
    if "row" in metafunc.fixturenames:
        between = "elsewhere" in metafunc.fixturenames
        rows = [
            pytest.param(row, id=row.name, marks=[pytest.mark.slow] * row.is_slow)
            for row in BACKEND_ROWS
            if row.leaves or not between
        ]
        metafunc.parametrize("row", rows, indirect=True)


@pytest.fixture
def row(request, need_peer) -> Row:
    """A backend."""
    row = request.param
    there = row.module is None or find_spec(row.module)
    need_peer(row.name, there, "pip install 'strapdown[network,horus]'")
    return row


@pytest.fixture
def ways(row, request) -> tuple[Backend, Backend]:
    """What this process opens, and what the other one does."""
    return row.ways(request.getfixturevalue("router")) if row.by_router else row.ways()


ROUTER = """
import json, sys, time, zenoh
config = zenoh.Config()
config.insert_json5("mode", '"router"')
config.insert_json5("listen/endpoints", json.dumps(sys.argv[1:]))
config.insert_json5("scouting/multicast/enabled", "false")
session = zenoh.open(config)
print("ready", flush=True)
time.sleep(600)
"""


@contextmanager
def router_at(endpoint: str) -> Iterator[None]:
    """Run a router of zenoh; what rmw_zenohd is with ROS."""
    with subprocess.Popen(
        [sys.executable, "-c", ROUTER, endpoint], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@pytest.fixture
def run_router(need_peer) -> Callable[[str], AbstractContextManager[None]]:
    """Run a router of zenoh at an endpoint, as long as a context lasts."""
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    return router_at


@pytest.fixture(scope="module")
def router(need_peer) -> Iterator[str]:
    """The endpoint of a router of zenoh."""
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    endpoint = free_endpoint()
    with router_at(endpoint):
        yield endpoint


@pytest.fixture
def elsewhere(ways) -> str:
    """What the other process opens, as the argument of a script."""
    return repr(ways[1])


@pytest.fixture
def topic_name() -> str:
    """A name that no other test has, in whatever process."""
    return f"t{os.getpid()}_{uuid4().hex[:8]}"


PRELUDE = """
import json, os, signal, sys, threading, time
from strapdown.messages import Imu, Pose3D
from strapdown.transport import *

def say(*values):
    print(json.dumps(values), flush=True)

def hear():
    return json.loads(sys.stdin.readline())

def imu(number):
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)
"""


class Peer:
    """Another process, which runs a script and talks in lines of JSON; ``within`` a program."""

    def __init__(self, script: str, *arguments: object, within: Sequence[str] = ()) -> None:
        command = [*within, sys.executable, "-c", PRELUDE + script, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def say(self, value: object) -> None:
        """Send one line."""
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def hear(self) -> list:
        """Wait for one line."""
        line = self.process.stdout.readline()
        assert line, f"the other process ended with {self.process.wait(10)}"
        return json.loads(line)

    def end(self) -> int:
        """Wait until the process has ended by itself."""
        self.process.stdin.close()
        return self.process.wait(20)

    def kill(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def peer():
    """Start another process with a script; it is ended with the test."""
    with ExitStack() as ended:

        def start(script: str, *arguments: object, within: Sequence[str] = ()) -> Peer:
            other = Peer(script, *arguments, within=within)
            ended.callback(other.kill)
            return other

        yield start
