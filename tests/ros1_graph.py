"""A ROS 1 master of its own for a test, and programs around it; loaded by path, as no package.

Everything listens on 127.0.0.1 only. Plain ROS programs run in the Python of the system, which
knows nothing of strapdown; those of strapdown in the Python of the tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xmlrpc.client
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM_PYTHON = "/usr/bin/python3"
GIVE_UP_S = 60.0
HOW = "apt install python3-rospy python3-sensor-msgs python3-std-srvs python3-rosmaster rosbag"
PROGRAMS = ("rosmaster", "rostopic", "rosservice", "rosbag")

WEBOTS_ROS = {
    "set_int": "int32 value\n---\nbool success\n",
    "set_float": "float64 value\n---\nbool success\n",
    "get_bool": "bool ask\n---\nbool value\n",
    "get_int": "bool ask\n---\nint32 value\n",
    "get_uint64": "bool ask\n---\nuint64 value\n",
    "get_float": "bool ask\n---\nfloat64 value\n",
    "get_float_array": "bool ask\n---\nfloat64[] value\n",
    "get_string": "bool ask\n---\nstring value\n",
}
JOINED = """
import time, xmlrpc.client
import rosgraph, rospy
def joined(topic):
    # wait until every publisher of a topic has this node among its subscribers; how many it has
    me, end = rospy.get_name(), time.monotonic() + 30.0
    while time.monotonic() < end:
        master = rosgraph.Master(me)
        nodes = dict(master.getSystemState()[0]).get(topic, [])
        rows = [row for node in nodes for row in
                xmlrpc.client.ServerProxy(master.lookupNode(node)).getBusInfo(me)[2]]
        there = sum(row[1:5] == [me, "o", "TCPROS", topic] for row in rows)
        if there and there == len(nodes):
            return there
        time.sleep(0.02)
    return 0
"""
GENERATE = """
import glob, os
import genpy.generate_initpy
import genpy.generator
genpy.generator.SrvGenerator().generate_messages(
    "webots_ros", sorted(glob.glob("*.srv")), "webots_ros/srv", {}
)
genpy.generate_initpy.write_modules("webots_ros/srv")
"""


def webots_ros(folder: Path) -> Path:
    """Build the package webots_ros as a catkin workspace would: by genpy, from definitions."""
    (folder / "webots_ros" / "srv").mkdir(parents=True)
    (folder / "webots_ros" / "__init__.py").touch()
    for name, text in WEBOTS_ROS.items():
        (folder / f"{name}.srv").write_text(text, "ascii")
    subprocess.run([SYSTEM_PYTHON, "-c", GENERATE], cwd=folder, check=True)
    return folder


class Program:
    """A program of the graph; its standard output is lines of JSON, or text."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the program)
        self.process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def errors(self) -> str:
        """What it has said on standard error so far."""
        self._errors.seek(0)
        return self._errors.read()

    def say(self, line: object) -> None:
        """Write a line to its standard input."""
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def hear(self) -> object:
        """Return the next line that it prints."""
        try:
            line = self._lines.get(timeout=GIVE_UP_S)
        except queue.Empty:
            line = "nothing"
        assert line.strip() not in {"", "nothing"}, f"{line or 'the end'} after:\n{self.errors}"
        return json.loads(line)

    def ask(self, line: object) -> object:
        """Write a line, and return the answer."""
        self.say(line)
        return self.hear()

    def wait_for_error(self, text: str, timeout_s: float = GIVE_UP_S) -> None:
        """Wait until it says something on standard error."""
        end = time.monotonic() + timeout_s
        while text not in self.errors:
            assert time.monotonic() < end, f"no {text!r} in:\n{self.errors}"
            time.sleep(0.05)

    def end(self, timeout_s: float = GIVE_UP_S) -> int:
        """Wait until it has ended by itself, and return its exit code."""
        self.process.stdin.close()
        return self.process.wait(timeout_s)

    def stop(self) -> None:
        """End it, and its forks, which have its pipes."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(GIVE_UP_S)
        self._reader.join(GIVE_UP_S)
        assert not self._reader.is_alive(), "a fork outlives the program and has its output"
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put("")


class Graph:
    """A master, and what talks by it; a context manager that leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self._programs: list[Program] = []
        self._master: Program | None = None
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ROS_")},
            "ROS_MASTER_URI": self.uri,
            "ROS_IP": "127.0.0.1",
            "ROS_HOME": str(folder),
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
        }

    def __enter__(self):
        self.start_master()
        return self

    def __exit__(self, *_exception) -> None:
        for program in reversed(self._programs):
            program.stop()

    def start_master(self) -> None:
        """Start the master, and wait until it answers."""
        self._master = self._start(["rosmaster", "--core", "-p", str(self.port)], self.env)
        end = time.monotonic() + GIVE_UP_S
        while True:
            try:
                self.master("getPid")
            except OSError:
                assert time.monotonic() < end, self._master.errors
                time.sleep(0.05)
            else:
                return

    def kill_master(self) -> None:
        """Kill the master."""
        self._master.stop()

    def pause_master(self) -> None:
        """Let the master answer nobody, while connections to it are accepted."""
        self._master.process.send_signal(signal.SIGSTOP)

    def forget_dead_nodes(self, topic: str) -> None:
        """Take the nodes from a topic that were killed, as ``rosnode cleanup`` does."""
        for part, what in enumerate(("Publisher", "Subscriber")):
            for node in dict(self.master("getSystemState")[part]).get(topic, ()):
                uri = self.master("lookupNode", node)
                try:
                    with xmlrpc.client.ServerProxy(uri) as proxy:
                        proxy.getPid("/test")
                except OSError:
                    with xmlrpc.client.ServerProxy(self.uri) as proxy:
                        getattr(proxy, f"unregister{what}")(node, topic, uri)

    def master(self, method: str, *arguments: object) -> object:
        """Ask the master."""
        with xmlrpc.client.ServerProxy(self.uri) as proxy:
            code, message, value = getattr(proxy, method)("/test", *arguments)
        assert code == 1, message
        return value

    def ours(self, code: str, **env: str) -> Program:
        """Start a program that uses strapdown."""
        return self._start([sys.executable, "-c", code], {**self.env, **env})

    def plain(self, code: str, **env: str) -> Program:
        """Start a program of plain rospy."""
        return self._start([SYSTEM_PYTHON, "-c", code], {**self.env, **env})

    def verb(self, *arguments: str, **env: str) -> Program:
        """Start a verb of strapdown."""
        main = "import sys; from strapdown.cli._app import main; sys.exit(main())"
        return self._start([sys.executable, "-c", main, *arguments], {**self.env, **env})

    def run(self, *command: str, **env: str) -> str:
        """Run a tool of ROS, and return what it prints."""
        done = subprocess.run(
            command,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=GIVE_UP_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _start(self, command: list[str], env: dict[str, str]) -> Program:
        program = Program(command, env)
        self._programs.append(program)
        return program
