"""Networks that fail, peers that are killed, clocks that jump: topics recover and count."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from importlib.util import find_spec
from uuid import uuid4

import pytest

from strapdown.messages import Imu
from strapdown.transport import Topic

pytestmark = pytest.mark.xdist_group("transport")

# A link between two hosts that is down for a while


@pytest.fixture
def hosts(need_peer):
    """Names of two network namespaces that are joined by a cable, and what pulls it."""
    need_peer("ip", shutil.which("ip"), "apt install iproute2")
    one, two = (f"sd{os.getpid()}{letter}" for letter in "ab")

    def ip(*words, check=True):
        return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)

    if os.geteuid() or ip("netns", "add", one, check=False).returncode:
        pytest.skip("network namespaces need root and the capability to make them")
    with ExitStack() as undo:
        undo.callback(ip, "netns", "del", one, check=False)
        ip("netns", "add", two)
        undo.callback(ip, "netns", "del", two, check=False)
        ip("link", "add", "cable", "netns", one, "type", "veth", "peer", "cable", "netns", two)
        for host, address in ((one, "10.77.0.1/24"), (two, "10.77.0.2/24")):
            ip("-n", host, "address", "add", address, "dev", "cable")
            for device in ("lo", "cable"):
                ip("-n", host, "link", "set", device, "up")
        yield one, two, lambda state: ip("-n", one, "link", "set", "cable", state)


BOTH_WAYS = """
import json, sys, threading, time
from strapdown.messages import Imu
from strapdown.transport import *

out, into, backend = sys.argv[1:]
stop, sent, times = threading.Event(), 0, []
with Topic(Imu, name=out, backend=eval(backend)) as topic, (
    Topic(Imu, name=into, backend=eval(backend))
) as heard:
    assert heard.recv() is None

    def send():
        global sent
        while not stop.wait(0.005):
            topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, sent))
            sent += 1

    def receive():
        for _ in heard:
            times.append(time.monotonic())

    for work in (send, receive):
        threading.Thread(target=work, daemon=True).start()
    while True:
        line = json.loads(sys.stdin.readline())
        if line == "times":
            answer = times[:1] and [times[0], times[-1]]
        elif line == "stop":
            stop.set()
            time.sleep(0.1)
            answer = sent
        elif line == "end":
            break
        else:  # so many were sent to it
            end = time.monotonic() + 10.0
            while time.monotonic() < end:
                counts = heard.stats()
                if counts.received + counts.lost_overwritten + counts.lost_transport == line:
                    break
                time.sleep(0.1)
            answer = [counts.received, counts.lost_overwritten, counts.lost_transport,
                      counts.duplicates, len(times)]
        print(json.dumps(answer), flush=True)
"""


class End:
    """A process in a network namespace that sends and receives."""

    def __init__(self, host: str, *arguments: str) -> None:
        command = ["ip", "netns", "exec", host, sys.executable, "-c", BOTH_WAYS, *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.mark.parametrize(
    "down_s",
    [pytest.param(3.0, marks=pytest.mark.slow), pytest.param(30.0, marks=pytest.mark.long)],
)
def test_a_link_that_was_down_resumes_and_both_ledgers_close(hosts, need_peer, down_s):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    one, two, cable = hosts
    there = "tcp/10.77.0.1:7447"
    ends = [
        End(one, "a", "b", f"Zenoh(listen=({there!r},))"),
        End(two, "b", "a", f"Zenoh(connect=({there!r},))"),
    ]
    try:
        begun = time.monotonic()
        while not all(end.ask("times") for end in ends):
            assert time.monotonic() - begun < 30.0
            time.sleep(0.1)
        time.sleep(1.0)
        cable("down")
        time.sleep(down_s)
        cable("up")
        up = time.monotonic()
        resumed: dict[int, float] = {}
        while len(resumed) < 2:
            assert time.monotonic() - up < 15.0
            for number, end in enumerate(ends):
                if (last := end.ask("times")[1]) > up:
                    resumed.setdefault(number, last - up)
            time.sleep(0.05)
        assert max(resumed.values()) < 5.0
        time.sleep(2.0)
        sent = [end.ask("stop") for end in ends]
        for end, count in zip(ends, reversed(sent), strict=True):
            received, overwritten, lost, duplicates, taken = end.ask(count)
            assert received + overwritten + lost == count
            assert received == taken
            assert duplicates == 0
    finally:
        for end in ends:
            end.process.kill()
            end.process.wait()
            end.process.stdin.close()
            end.process.stdout.close()


# Readers that are killed and started again

READER = """
import sys
from strapdown.messages import Imu
from strapdown.transport import Topic, Zenoh

with Topic(Imu, name=sys.argv[1], backend=Zenoh(connect=(sys.argv[2],))) as topic:
    assert topic.recv(20.0)
    print("here", flush=True)
    while True:
        topic.recv(1.0)
"""


RESTARTS = """
import json, subprocess, sys, time
from pathlib import Path
from strapdown.messages import Imu
from strapdown.transport import Topic, Zenoh

def resources():  # descriptors and threads of this process
    return [sum(1 for _ in Path("/proc/self", kind).iterdir()) for kind in ("fd", "task")]

reader, name, endpoint = sys.argv[1:]
held = []
with Topic(Imu, name=name, backend=Zenoh(listen=(endpoint,))) as topic:
    topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
    for _ in range(20):
        command = [sys.executable, "-c", reader, name, endpoint]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "here\\n"
            process.kill()
        end = time.monotonic() + 10.0
        while topic.sub_count():
            assert time.monotonic() < end
            time.sleep(0.01)
        held.append(resources())
print(json.dumps(held))
"""
ONE_THREAD_EACH = "(worker_threads: 1, max_blocking_threads: 1)"


@pytest.mark.slow
def test_a_reader_that_is_killed_and_restarted_leaks_nothing(need_peer):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    endpoint, name = f"tcp/127.0.0.1:{20_000 + os.getpid() % 10_000}", f"t{uuid4().hex[:8]}"
    # zenoh's pool of readers starts a further thread at any time unless it may have only one.
    pools = ", ".join(f"{pool}: {ONE_THREAD_EACH}" for pool in ("app", "acc", "tx", "rx", "net"))
    done = subprocess.run(
        [sys.executable, "-c", RESTARTS, READER, name, endpoint],
        stdout=subprocess.PIPE,
        env=os.environ | {"ZENOH_RUNTIME": f"({pools})"},
        check=True,
    )
    held = json.loads(done.stdout)
    assert len(held) == 20
    # zenoh starts its threads for connections with the first few peers, and no more with others;
    # something left by each of the later ten would show in the last five.
    for resource in zip(*held, strict=True):
        assert min(resource[-5:]) <= max(resource[:10])


# A wall clock that is set while topics are in use

STEPPED = """
import sys, threading, time
step_ns = 0
wall_ns, wall = time.time_ns, time.time
time.time_ns, time.time = lambda: wall_ns() + step_ns, lambda: wall() + step_ns / 1e9

from strapdown.bridges.live import LiveOptions, Player, Recorder
from strapdown.messages import Imu
from strapdown.transport import *

def step_during(action, seconds):
    def step():
        global step_ns
        step_ns += int(seconds * 1e9)
    threading.Timer(0.1, step).start()
    start = time.monotonic()
    action()
    return time.monotonic() - start

def imu(number):
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number)

name, path = sys.argv[1:]
waits = []
with Topic(Imu, name=name, backend="ipc") as topic, Topic(Imu, name="x", backend="local") as lone:
    topic.send(imu(0))
    assert sys.stdin.readline()  # the other process has joined
    for seconds in (3600.0, -7200.0, 3600.0, -3600.0):
        waits.append(step_during(lambda: lone.recv(0.4), seconds) - 0.4)
        waits.append(step_during(lambda: lone.wait_for_publisher(0.4), seconds) - 0.4)
    topic.send(imu(1))
    with Recorder(path, [lone], options=LiveOptions(min_free_bytes=0)) as recorder:
        with Topic(Imu, name="x", backend="local") as sender:
            for number in range(40):
                sender.send(imu(number))
                step_ns += int(3600e9) * (-1) ** number
                time.sleep(0.01)
            time.sleep(0.3)
            print(recorder.messages, recorder.size, flush=True)
    recorder.close()
with Recorder("even.mcap", force=True, options=LiveOptions(min_free_bytes=0)) as recorder:
    recorder.add("x", Imu)
    for number in range(41):
        recorder.write("x", imu(number), received_ns=10**18 + number * 10_000_000)
with Topic(Imu, name="y", backend="local") as played:
    player = Player("even.mcap", {"x": played})
    waits.append(step_during(player.run, 3600.0) - 0.4)
print(min(waits), max(waits), flush=True)
"""


def test_waits_flushes_and_new_messages_do_not_depend_on_the_wall_clock(tmp_path):
    name = f"t{uuid4().hex[:8]}"
    command = [sys.executable, "-c", STEPPED, name, str(tmp_path / "run.mcap")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        with Topic(Imu, name=name, backend="ipc", history=0) as topic:
            assert topic.recv(20.0).timestamp_ns == 0
            process.stdin.write("joined\n")
            process.stdin.flush()
            assert topic.recv(20.0).timestamp_ns == 1  # though an hour older than this handle
        recorded, size = map(int, process.stdout.readline().split())
        early, late = map(float, process.stdout.readline().split())
        assert process.wait(20.0) == 0
    assert recorded == 40
    assert size > 40 * 20
    assert early > -0.01
    assert late < 0.3  # this machine may be busy


# An hour at 1 kHz, as fast as it goes

SOAK = """
import ctypes, gc, sys
from strapdown.bridges.live import LiveOptions, Recorder
from strapdown.estimation import MadgwickFilter
from strapdown.messages import Imu
from strapdown.transport import Topic

def memory():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free does not count
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

messages, path = int(sys.argv[1]), sys.argv[2]
options = LiveOptions(split_bytes=2_000_000, min_free_bytes=0)
filtering, seen = MadgwickFilter(compiled=False), []
with (
    Topic(Imu, name="imu", backend="local", reliability="reliable") as topic,
    Topic(Imu, name="imu", backend="local", reliability="reliable") as heard,
    Recorder(path, [heard], options=options) as recorder,
    Topic(Imu, name="imu", backend="local", reliability="reliable") as sender,
):
    for number in range(messages):
        sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number * 1_000_000))
        message = topic.recv()
        if number % 10 == 0:
            filtering.update(message.timestamp_ns, (0.0, 0.0, 0.1), (0.0, 0.0, 9.81))
        if number % (messages // 20) == 0:
            seen.append(memory())
            for old in recorder.report().files[:-1]:  # a disk holds less than an hour of them
                old.unlink(missing_ok=True)
print(recorder.report().messages["imu"], recorder.report().lost, *seen, sep="\\n")
"""


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(200_000, marks=pytest.mark.slow),
        pytest.param(3_600_000, marks=pytest.mark.long),
    ],
)
def test_memory_does_not_grow_with_the_messages_of_an_hour(tmp_path, messages):
    done = subprocess.run(
        [sys.executable, "-c", SOAK, str(messages), str(tmp_path / "run.mcap")],
        capture_output=True,
        text=True,
        check=True,
    )
    count, lost, *sizes = done.stdout.splitlines()
    assert (int(count), lost) == (messages, "()")
    settled = list(map(int, sizes))[4:]
    assert max(settled[-4:]) - max(settled[:4]) < 2**20
