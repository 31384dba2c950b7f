"""What every command opens on the network: nothing, or something on loopback only.

Two watchers look at each: Python's audit events, in the process itself, and the tables of the
operating system for it and its children, every few milliseconds, which show what libraries do.
"""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from uuid import uuid4

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.cli._app import GROUPS, VERBS
from strapdown.formats import Recording
from strapdown.series import GnssSeries

pytestmark = [pytest.mark.xdist_group("transport"), pytest.mark.slow]

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot { name "rob" controller "<extern>" children [ InertialUnit { } Gyro { } ] }
"""
STEPS = """
from controller import Robot
robot = Robot()
while robot.step(32) != -1:
    pass
"""
PIPELINE = """
[device.imu]
motion = "wander"
sensor = "MPU-6050"
rate = 100

[filter.attitude]
from = "imu"

[topic.out]
from = "attitude"
address = "ipc:sockets_attitude"

[record.file]
from = ["imu", "attitude"]
file = "run.mcap"
"""
STUDY = """
duration = 2
settle = 1
run = [{ motion = "circle", sensor = "MPU-6050", filter = "mahony" }]
"""

# Imports once, then runs each command in a child that it forks and watches.
PARENT = r"""
import ctypes, json, os, pathlib, signal, socket, struct, sys, time
import numpy, strapdown, strapdown.formats, strapdown.simulation
from strapdown.cli._app import main

def device(pid, fd):
    # The only network device that a socket of a child hears, if it is bound to one.
    try:
        process = os.pidfd_open(pid)
        copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, process, fd, 0)
        os.close(process)
        with socket.socket(fileno=copy) as end:
            name = end.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 32)
        return name.rstrip(b"\0").decode()
    except (OSError, ValueError):  # it has gone
        return None

PIDFD_GETFD = 438

def sockets(pid):
    fds = {}
    try:
        for fd in os.scandir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(fd.path)
            except OSError:
                continue
            if target.startswith("socket:["):
                fds[target[8:-1]] = int(fd.name)
    except OSError:
        return
    for kind in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6") if fds else ():
        table = pathlib.Path("/proc/self/net", kind)
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            inode = fields[9]
            if inode in fds:
                for end, what in ((1, "at"), (2, "to")):
                    digits, port = fields[end].split(":")
                    raw = bytes.fromhex(digits)
                    words = struct.unpack(f">{len(raw) // 4}I", raw)
                    packed = struct.pack(f"<{len(words)}I", *words)
                    family = socket.AF_INET6 if len(raw) == 16 else socket.AF_INET
                    host = socket.inet_ntop(family, packed)
                    if host in {"0.0.0.0", "::"}:
                        where = device(pid, fds[inode])
                        if where is None:
                            continue  # what was seen of it before counts
                        host = where if where == "lo" else host
                    if what == "at" or int(port, 16):
                        yield (inode, what), [f"{kind} {what}", host, int(port, 16)]

def family(pid):
    yield pid
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        children = [open(f"/proc/{pid}/task/{each}/children").read() for each in threads]
    except OSError:
        return
    for child in " ".join(children).split():
        yield from family(int(child))

EVENTS = {"socket.bind": 1, "socket.connect": 1, "socket.sendto": 1, "socket.getaddrinfo": 0}

def child(job):
    os.setsid()
    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    out = os.open("out.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(out, fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    audit = os.open("audit.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    def hook(event, arguments):
        if event in EVENTS:
            address = arguments[EVENTS[event]]
            if event == "socket.getaddrinfo":
                address = arguments[:2]
            if isinstance(address, tuple):
                line = json.dumps([event, str(address[0]), str(address[1])]) + "\n"
                os.write(audit, line.encode())
    sys.addaudithook(hook)
    sys.argv = ["strapdown", *job["argv"]]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:
        sys.stderr.write(repr(error))
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    job = json.loads(line)
    for name in ("audit.txt", "out.txt"):
        pathlib.Path(job["folder"], name).unlink(missing_ok=True)
    pid = os.fork()
    if not pid:
        child(job)
    states, began, ended, told = {}, time.monotonic(), 0, 0
    while not ended:
        ended, status = os.waitpid(pid, os.WNOHANG)
        for each in family(pid):
            states |= dict(sockets(each))  # the last state of each counts
        passed = time.monotonic() - began
        if job["stop"] and passed > job["stop"] and not told:
            told = 1
            os.kill(pid, signal.SIGTERM)
        if passed > 60.0:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)
    audit = pathlib.Path(job["folder"], "audit.txt")
    seen = list(states.values())
    seen += [json.loads(line) for line in audit.read_text().splitlines()] if audit.exists() else []
    out = pathlib.Path(job["folder"], "out.txt").read_text(errors="replace")
    print(json.dumps([os.waitstatus_to_exitcode(status), seen, out]), flush=True)
"""

STOPPED = 1.5
"""When commands that do not end by themselves are told to [s]."""

# By verb: a typical use, and whether it has anything to do with sockets at all.
NONE, LOOPBACK = "none", "loopback"
TABLE = {
    "demo": ("demo --output demo --force", NONE),
    "sim": ("sim --motion circle --duration 1 --output sim.mcap --force", NONE),
    "sensors": ("sensors mpu6050", NONE),
    "info": ("info imu.mcap", NONE),
    "import": ("import table.csv", NONE),
    "check": ("check imu.mcap", NONE),
    "convert": ("convert imu.mcap imu.csv --force", NONE),
    "integrate": ("integrate imu.mcap increments.mcap --rate 50 --force", NONE),
    "fuse": ("fuse imu.mcap --filter madgwick --output attitude.tum --force", NONE),
    "odometry": ("odometry imu.mcap --output track.tum --force", NONE),
    "navigate": ("navigate drive.mcap --output track.mcap --force", NONE),
    "joint": (
        "joint leg.mcap leg.mcap --kind ball --topic imu/data --second-topic imu/data",
        NONE,
    ),
    "detect": ("detect imu.mcap --kind free_fall", NONE),
    "plot": ("plot imu.mcap --output imu.svg --force", NONE),
    "view": ("view imu.mcap --port 18800", LOOPBACK),
    "evaluate": ("evaluate attitude.tum imu.mcap", NONE),
    "study": ("study study.toml --output results --executor pool:1", NONE),
    "bench accuracy": ("bench accuracy . --workers 1 --output errors.csv --force", NONE),
    "report": ("report results --output report.html --force", NONE),
    "allan": ("allan imu.mcap", NONE),
    "calibrate": ("calibrate faces.mcap --kind six --gravity 9.80665", NONE),
    "warm": ("warm mahony", NONE),
    "run": ("run pipeline.toml --duration 0.5 --force", NONE),
    "cat": ("cat ipc:{topic}", NONE),
    "record": ("record ipc:{topic}?type=Imu -o live.mcap --duration 0.5 --force", NONE),
    "play": ("play imu.mcap --to ipc:{topic} --topic imu/data --duration 0.5", NONE),
    "recover": ("recover imu.mcap -o whole.mcap --force", NONE),
    "bridge": ("bridge ipc:{topic}?type=Imu local:{topic} --duration 0.5", NONE),
    "webots run": ("webots run steps.py --world w.wbt --duration 0.5", NONE),
    "webots serve": ("webots serve --world w.wbt --tcp 0", LOOPBACK),
    "webots explain": ("webots explain w.wbt", NONE),
    "ros1 serve": ("ros1 serve --world w.wbt", LOOPBACK),
    "mavlink send": ("mavlink send imu.mcap --to 127.0.0.1:14999 --speed inf", LOOPBACK),
    "mavlink record": ("mavlink record link.mcap --listen 0 --duration 0.5", LOOPBACK),
    "mavlink hil": ("mavlink hil --listen 0 --patience 0.5", LOOPBACK),
    # The network backends, joined by a verb.
    "cat zenoh": ("cat zenoh:{topic}?listen=tcp/127.0.0.1:0", LOOPBACK),
    "cat udp": ("cat udp:14997?protocol=csv", LOOPBACK),
    "bridge zenoh": (
        "bridge local:{topic} zenoh:{topic}?listen=tcp/127.0.0.1:0 --duration 0.5",
        LOOPBACK,
    ),
    "bridge horus": ("bridge local:{topic} horus:{topic} --duration 0.5", NONE),
    "bridge ros1": ("bridge local:{topic} ros1:/{topic} --duration 0.5", LOOPBACK),
    "bridge ros2": ("bridge local:{topic} ros2:/{topic} --duration 0.5", LOOPBACK),
    "bridge ros2 zenoh": ("bridge local:{topic} ros2:/{topic}?rmw=zenoh --duration 0.5", LOOPBACK),
}
TRIAL_OF_REPOIMU = "Time (s);Vicon Orientation;;;;\n;W;X;Y;Z;X;Y;Z;X;Y;Z;X;Y;Z;\n" + "".join(
    f"{0.01 * k:.2f};1;0;0;0;0;0;9.81;0;0;0;0;0.4;-0.9\n" for k in range(1, 300)
)
TABLE_OF_A_PHONE = "time (s),gx (dps),gy (dps),gz (dps)\n0,1,2,3\n0.01,1,2,3\n0.02,1,2,3\n"
CODES = {
    "allan": {3},
    "calibrate": {3},
    "check": {3},
    "mavlink hil": {1},
    "mavlink record": {1},
    "mavlink send": {0, 3},
    "odometry": {3},
}
"""Not at rest; no turns; ideal, as if stuck; nobody sends; nobody listens; no velocity in .tum."""
ENDLESS = {"webots serve", "ros1 serve", "view"}
PEERS = {
    "zenoh": ("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'"),
    "horus": ("horus", find_spec("horus"), "pip install 'strapdown[horus]'"),
    "ros1": ("rosmaster", shutil.which("rosmaster"), "apt-get install python3-rosmaster"),
    "ros2": ("cyclonedds", find_spec("cyclonedds"), "pip install 'strapdown[ros2]'"),
}


def test_every_verb_is_in_the_table():
    single = set(VERBS) - set(GROUPS)
    grouped = {f"{group} {verb}" for group, verbs in GROUPS.items() for verb in verbs}
    assert single | grouped <= set(TABLE)


@pytest.fixture(scope="module")
def parent():
    # In a test NiceGUI would expect its own fixtures.
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def watched(parent, tmp_path_factory):
    """Run a command line, and return its exit code, what it opened, and what it printed."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "w.wbt").write_text(WORLD)
    (folder / "table.csv").write_text(TABLE_OF_A_PHONE)
    (folder / "steps.py").write_text(STEPS)
    (folder / "pipeline.toml").write_text(PIPELINE)
    (folder / "study.toml").write_text(STUDY)
    (folder / "TStick_Test02_Trial1.csv").write_text(TRIAL_OF_REPOIMU)

    def run(line, *, stop=0.0, **environment):
        job = {
            "argv": line.split(),
            "folder": str(folder),
            "stop": stop,
            "environment": environment,
        }
        parent.stdin.write(json.dumps(job) + "\n")
        parent.stdin.flush()
        return json.loads(parent.stdout.readline())

    code, _, out = run("sim --motion circle --duration 2 --rate 100 --output imu.mcap")
    assert code == 0, out
    imu = files.open(folder / "imu.mcap").imu_series()
    place = np.zeros((len(imu), 3))
    fixes = GnssSeries.from_local_enu(imu.t_ns, place, (0.8, 0.1, 400.0))
    files.write(folder / "drive.mcap", Recording(imu={"imu": imu}, gnss={"fix": fixes[::20]}))
    code, _, out = run("fuse imu.mcap --output attitude.tum")
    assert code == 0, out
    code, _, out = run("sim --motion wander --duration 15 --rate 100 --output leg.mcap")
    assert code == 0, out
    code, _, out = run("sim --motion six_position --rate 100 --output faces.mcap")
    assert code == 0, out
    return run


@contextmanager
def rosmaster():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        ["rosmaster", "--core", "-p", str(port)],
        env={**os.environ, "ROS_IP": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if not probe.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def beyond_loopback(host):
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host not in {"localhost", "lo", "None"}


def test_the_watchers_see_what_a_command_opens(watched):
    code, seen, _ = watched("mavlink record link.mcap --listen 0.0.0.0:0 --duration 0.5")
    assert code == 1
    assert {what for what, host, _ in seen if beyond_loopback(host)} == {"udp at", "socket.bind"}


@pytest.mark.parametrize("verb", TABLE)
def test_a_command_opens_nothing_beyond_loopback(verb, watched, need_peer):
    line, allowed = TABLE[verb]
    for peer in PEERS.keys() & verb.split():
        need_peer(*PEERS[peer])
    line = line.format(topic=f"t{os.getpid()}_{uuid4().hex[:8]}")
    stop = (4.0 * STOPPED if verb == "view" else STOPPED) if verb in ENDLESS else 0.0
    if "ros1" in verb:
        with rosmaster() as uri:
            code, seen, out = watched(line, stop=stop, ROS_MASTER_URI=uri)
    else:
        code, seen, out = watched(line, stop=stop)
    assert code in CODES.get(verb, {0, 143} if stop else {0}), out
    if allowed is NONE:
        assert seen == []
    assert [each for each in seen if beyond_loopback(each[1])] == []
