"""ROS 2 over DDS: the other end is Cyclone DDS with its own types, its tools, and rosbags."""

from __future__ import annotations

import logging
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from strapdown.errors import (
    BackendMissingError,
    TransportError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.messages import Imu, MagneticField, Odometry, Pose3D, RosImu, VehicleImu
from strapdown.transport.backends import Ros2
from strapdown.transport.link import Arrival, Channel
from strapdown.transport.links.ros2 import domain_of, find_type
from strapdown.transport.links.ros2.dds import LOOPBACK
from strapdown.transport.wire import wire_form

pytestmark = pytest.mark.xdist_group("transport")

IMU_HASH = "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"
# Ports of higher domains are those that the system gives to anybody.
DOMAIN = 10 + os.getpid() % 90

PEER = """
import sys, time
from dataclasses import dataclass
from cyclonedds.core import DDSException
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float64, int32, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

NINE = array[float64, 9]

@dataclass
class Time_(IdlStruct, typename="builtin_interfaces.msg.dds_.Time_"):
    sec: int32
    nanosec: uint32

@dataclass
class Header_(IdlStruct, typename="std_msgs.msg.dds_.Header_"):
    stamp: Time_
    frame_id: str

@dataclass
class Quaternion_(IdlStruct, typename="geometry_msgs.msg.dds_.Quaternion_"):
    x: float64
    y: float64
    z: float64
    w: float64

@dataclass
class Vector3_(IdlStruct, typename="geometry_msgs.msg.dds_.Vector3_"):
    x: float64
    y: float64
    z: float64

@dataclass
class Imu_(IdlStruct, typename="sensor_msgs.msg.dds_.Imu_"):
    header: Header_
    orientation: Quaternion_
    orientation_covariance: NINE
    angular_velocity: Vector3_
    angular_velocity_covariance: NINE
    linear_acceleration: Vector3_
    linear_acceleration_covariance: NINE

OLD = Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False)
RELIABLE, KEEP_ALL = Policy.Reliability.Reliable(0), Policy.History.KeepAll
participant = DomainParticipant(DOMAIN)

def until(ready, seconds=10.0):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit("nothing came in time")
        time.sleep(0.002)

def writer(kind, *policies):
    return DataWriter(participant, Topic(participant, TOPIC, kind), Qos(OLD, *policies))

def reader(kind, *policies):
    return DataReader(participant, Topic(participant, TOPIC, kind), Qos(OLD, *policies))

def say(*words):
    print(*words, flush=True)

def imu(number):
    numbers = [float(i) for i in range(number, number + 37)]
    return Imu_(
        Header_(Time_(1_700_000_000, number), "peer_link"), Quaternion_(*numbers[:4]),
        numbers[4:13], Vector3_(*numbers[13:16]), numbers[16:25], Vector3_(*numbers[25:28]),
        numbers[28:37],
    )
"""


class Ear:
    """What a ring is to a link: it keeps what comes."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.lost = self.overwritten = self.malformed = 0
        self.open = threading.Event()
        self.open.set()

    def deliver(self, arrivals):
        self.open.wait(10.0)
        self.arrivals.extend(arrivals)

    def lose(self, messages, *, overwritten=False):
        if overwritten:
            self.overwritten += messages
        else:
            self.lost += messages

    def note(self, *, duplicates=0, out_of_order=0, malformed=0):
        assert duplicates == out_of_order == 0
        self.malformed += malformed

    def retained(self):
        return []


def until(ready, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not (result := ready()) and time.monotonic() < end:
        time.sleep(0.002)
    return bool(result)


def sent(message, number: int = 0) -> Arrival:
    payload = wire_form(type(message)).encode(message)
    return Arrival(payload, number, "", time.time_ns(), 0)


def imu_at(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, float(number), 1_700_000_000_000_000_000 + number)


@pytest.fixture(autouse=True)
def _cyclone(need_peer):
    need_peer("cyclonedds", find_spec("cyclonedds"), "pip install 'strapdown[ros2]'")


@pytest.fixture
def topic() -> str:
    return f"t{os.getpid()}/n{uuid4().hex[:8]}"


@pytest.fixture
def join(topic):
    """Open links on the topic; give each with its ear."""
    links = []

    def open_one(msg_type=Imu, *, reliable=False, capacity=1024, **options):
        ear = Ear()
        channel = Channel(topic, wire_form(msg_type), capacity, reliable)
        link = Ros2(**{"domain": DOMAIN, **options}).open_link(channel, ear)
        links.append(link)
        return link, ear

    yield open_one
    for link in links:
        link.close()


@pytest.fixture
def loopback():
    """Environment that keeps programs of Cyclone DDS on this host."""
    return {**os.environ, "CYCLONEDDS_URI": LOOPBACK}


@pytest.fixture
def peer(topic, loopback):
    """Start programs that use Cyclone DDS itself."""
    processes = []

    def start(script):
        head = f"DOMAIN, TOPIC = {DOMAIN}, 'rt/{topic}'\n"
        process = subprocess.Popen(
            [sys.executable, "-c", head + PEER + script],
            env=loopback, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_a_peer_with_types_of_its_own_reads_every_field(join, peer):
    link, _ = join(frame_id="imu_link")
    receiver = peer(
        "r = reader(Imu_, RELIABLE, KEEP_ALL)\n"
        "until(lambda: r.matched_pub); say('ready')\n"
        "until(lambda: (got := r.take(1)) and say(repr(got[0])) is None)\n"
    )
    assert receiver.stdout.readline() == "ready\n"
    assert until(link.subscribers)
    message = imu_at(5)
    message.orientation = [0.1, 0.2, 0.3, 0.4]
    message.orientation_covariance = np.arange(1.0, 10.0)
    link.send(sent(message))
    text = receiver.stdout.readline()
    assert "Time_(sec=1700000000, nanosec=5), frame_id='imu_link'" in text
    assert "orientation=Quaternion_(x=0.1, y=0.2, z=0.3, w=0.4)" in text
    assert "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]" in text
    assert "angular_velocity=Vector3_(x=0.0, y=0.0, z=5.0)" in text
    assert "linear_acceleration=Vector3_(x=0.0, y=0.0, z=9.81)" in text


def test_messages_of_a_peer_with_types_of_its_own_arrive_with_every_field(join, peer):
    link, ear = join(RosImu)
    sender = peer(
        "w = writer(Imu_, RELIABLE, Policy.History.KeepLast(10))\n"
        "until(lambda: w.matched_sub); say(w.guid)\n"
        "sys.stdin.readline()\n"
        "for number in (7, 8): w.write(imu(number), 1_000 + number)\n"
        "sys.stdin.readline()\n"
    )
    guid = sender.stdout.readline().strip()
    assert until(link.publishers)
    sender.stdin.write("go\n")
    sender.stdin.flush()
    assert until(lambda: len(ear.arrivals) == 2)
    for number, arrival in enumerate(ear.arrivals):
        message = RosImu.from_cdr(arrival.payload)
        assert message.header_stamp_ns == 1_700_000_000_000_000_007 + number
        assert message.frame_id == "peer_link"
        assert message.block.tolist() == list(range(7 + number, 44 + number))
        assert arrival[1:4] == (number, guid, 1_007 + number)
        assert abs(arrival.received_ns - time.time_ns()) < 60e9


@pytest.mark.slow
def test_rosbags_decodes_the_bytes_that_are_on_the_wire(join, peer):
    link, _ = join(RosImu)
    receiver = peer(
        "class Raw: pass\n"
        "def raw(data): made = Raw(); made.data = data; return made\n"
        "Imu_.deserialize = raw\n"
        "r = reader(Imu_, RELIABLE, KEEP_ALL)\n"
        "until(lambda: r.matched_pub); say('ready')\n"
        "until(lambda: (got := r.take(1)) and say(got[0].data.hex()) is None)\n"
    )
    assert receiver.stdout.readline() == "ready\n"
    assert until(link.subscribers)
    block = np.arange(0.5, 37.5)
    message = RosImu(1_000_000_002, "imu_link")
    message.block[:] = block
    link.send(sent(message))
    data = bytes.fromhex(receiver.stdout.readline())
    assert len(data) == 324
    read = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr(data, "sensor_msgs/msg/Imu")
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (1, 2)
    assert read.header.frame_id == "imu_link"
    assert read.orientation_covariance.tolist() == block[4:13].tolist()
    assert [read.linear_acceleration.x, read.linear_acceleration.z] == [25.5, 27.5]
    assert read.linear_acceleration_covariance.tolist() == block[28:].tolist()


@pytest.mark.slow
def test_the_tools_of_cyclone_list_describe_and_print_the_topic(join, topic, loopback):
    tool = shutil.which("cyclonedds", path=Path(sys.executable).parent)
    plain = ("-i", str(DOMAIN), "-r", "2s", "--suppress-progress-bar", "--color", "none")
    wide = {**loopback, "COLUMNS": "300"}
    link, _ = join()

    def run(*words):
        return subprocess.run(
            [tool, *words, *plain], env=wide, check=True, capture_output=True, text=True
        ).stdout

    listed = run("ls", "--topic", f"rt/{topic}", "--qos")
    assert f"rt/{topic}" in listed
    assert "sensor_msgs::msg::dds_::Imu_" in listed
    described = run("typeof", f"rt/{topic}")
    fields = re.search(r"struct Imu_ \{(.*?)\}", described, re.DOTALL)
    assert re.sub(r"\s+", " ", fields[1]).strip() == (
        "std_msgs::msg::dds_::Header_ header; "
        "geometry_msgs::msg::dds_::Quaternion_ orientation; "
        "double orientation_covariance[9]; "
        "geometry_msgs::msg::dds_::Vector3_ angular_velocity; "
        "double angular_velocity_covariance[9]; "
        "geometry_msgs::msg::dds_::Vector3_ linear_acceleration; "
        "double linear_acceleration_covariance[9];"
    )
    assert described.count("@final") == described.count("struct")
    scan = ("--qos", "scan-random", "--type", "scan-random")
    with subprocess.Popen(
        [tool, "subscribe", f"rt/{topic}", *plain, *scan],
        env=wide, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as listener:  # fmt: skip
        ended = threading.Event()

        def talk():
            """Send until the tool, which may miss the first, has printed one; not for ever."""
            for _ in range(300):
                link.send(sent(imu_at(7)))
                if ended.wait(0.1):
                    return
            listener.kill()

        talking = threading.Thread(target=talk)
        talking.start()
        try:
            assert until(link.subscribers, 20.0)
            lines = iter(listener.stdout.readline, "")
            assert any("Time_(sec=1700000000, nanosec=7)" in line for line in lines)
            assert any("angular_velocity=Vector3_(x=0.0, y=0.0, z=7.0)" in line for line in lines)
        finally:
            ended.set()
            talking.join()
            listener.kill()


def test_endpoints_tell_the_type_hash_and_the_quality_of_service(join, peer):
    join()
    answers = peer(
        "from cyclonedds.builtin import *\n"
        "for kind in (BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription):\n"
        "    look = BuiltinDataReader(participant, kind)\n"
        "    found = []\n"
        "    ours = lambda: [end for end in look.take(99) if end.topic_name == TOPIC]\n"
        "    until(lambda: found.extend(ours()) or found)\n"
        "    qos = found[0].qos\n"
        "    say(found[0].type_name, qos[Policy.Userdata].data.decode(), qos[Policy.Reliability],\n"
        "        qos[Policy.Durability])\n"
    )
    kind, hashed = "sensor_msgs::msg::dds_::Imu_", f"typehash={IMU_HASH};"
    assert len(hashed) == 81
    written, read = answers.stdout.readline(), answers.stdout.readline()
    reliable = "Policy.Reliability.Reliable(max_blocking_time=0)"
    assert written == f"{kind} {hashed} {reliable} Policy.Durability.Volatile\n"
    assert read == f"{kind} {hashed} Policy.Reliability.BestEffort Policy.Durability.Volatile\n"


@pytest.mark.parametrize(
    "mismatch",
    [
        (
            {},
            "r = reader(Imu_, RELIABLE, Policy.Durability.TransientLocal)\n",
            ("subscriber", "Durability is offered as Volatile and asked for as TransientLocal"),
        ),
        pytest.param(
            (
                {"qos": "sensor"},
                "r = reader(Imu_, RELIABLE)\n",
                ("subscriber", "Reliability is offered as BestEffort and asked for as Reliable"),
            ),
            marks=pytest.mark.slow,
        ),
        (
            {"qos": "latched"},
            "w = writer(Imu_, RELIABLE)\n",
            ("publisher", "Durability is offered as Volatile and asked for as TransientLocal"),
        ),
        pytest.param(
            (
                {"reliable": True},
                "w = writer(Imu_, Policy.Reliability.BestEffort)\n",
                ("publisher", "Reliability is offered as BestEffort and asked for as Reliable"),
            ),
            marks=pytest.mark.slow,
        ),
        (
            {},
            "w = writer(Time_, RELIABLE)\n",
            (
                "publisher",
                "its type is builtin_interfaces::msg::dds_::Time_, here it is sensor_msgs",
            ),
        ),
    ],
)
def test_an_end_that_does_not_fit_is_named_once_with_what_both_want(
    join, peer, topic, caplog, mismatch
):
    options, script, words = mismatch
    link, _ = join(**options)
    stranger = peer(script + "say('ready'); sys.stdin.read()\n")
    assert stranger.stdout.readline() == "ready\n"
    assert until(lambda: link.tend() or time.sleep(0.05) or caplog.records)
    for _ in range(5):
        link.tend()
        time.sleep(0.02)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"topic rt/{topic}" in record.getMessage()
    assert all(word in record.getMessage() for word in words)
    assert all(word in link.problem() for word in words)
    assert link.publishers() == link.subscribers() == 0


@pytest.mark.slow
def test_ends_that_fit_raise_no_warning(join, peer, caplog):
    link, _ = join()
    friend = peer(
        "r = reader(Imu_, Policy.Reliability.BestEffort)\n"
        "w = writer(Imu_, RELIABLE)\n"
        "say('ready'); sys.stdin.read()\n"
    )
    friend.stdout.readline()
    assert until(lambda: link.tend() or (link.publishers() and link.subscribers()))
    for _ in range(3):
        link.tend()
        time.sleep(0.02)
    assert not caplog.records


def test_a_topic_that_others_use_for_another_type_is_refused_with_both_named(join, peer, topic):
    other = peer("w = writer(Time_, RELIABLE); say('ready'); sys.stdin.read()\n")
    other.stdout.readline()
    with pytest.raises(TransportError) as caught:
        join()
    message = str(caught.value)
    assert topic in message
    assert "sensor_msgs::msg::dds_::Imu_" in message
    assert "builtin_interfaces::msg::dds_::Time_" in message


def test_the_type_of_a_topic_is_found_while_somebody_publishes_it(peer, topic):
    backend = Ros2(domain=DOMAIN)
    assert find_type(backend, topic, 0.05) is None
    sender = peer("w = writer(Imu_, RELIABLE); say('ready'); sys.stdin.read()\n")
    assert find_type(backend, topic, 10.0) is Imu
    assert find_type(backend, f"/{topic}", 10.0) is Imu
    sender.stdout.readline()


def test_a_type_that_is_not_known_here_is_an_error_that_names_it(peer, topic):
    other = peer("w = writer(Time_, RELIABLE); say('ready'); sys.stdin.read()\n")
    other.stdout.readline()
    with pytest.raises(TransportError, match="carries builtin_interfaces::msg::dds_::Time_"):
        find_type(Ros2(domain=DOMAIN), topic, 10.0)


SENDER = """
import sys, time
from strapdown.messages import Imu
from strapdown.transport.backends import Ros2
from strapdown.transport.link import Arrival, Channel
from strapdown.transport.wire import wire_form

class Deaf:
    def deliver(self, arrivals): pass
    def lose(self, messages, *, overwritten=False): pass
    def note(self, *, duplicates=0, out_of_order=0, malformed=0): pass
    def retained(self): return []

def wait(ready):
    while not ready():
        time.sleep(0.002)

def join():
    return Ros2(domain=DOMAIN).open_link(Channel(TOPIC, wire_form(Imu), 1024, RELIABLE), Deaf())

def send(link, number):
    message = Imu(0.0, 0.0, 9.81, 0.0, 0.0, float(number), 1_700_000_000_000_000_000 + number)
    link.send(Arrival(bytes(message), number, "", time.time_ns(), 0))
"""


@pytest.fixture
def program(topic):
    """Start programs that use strapdown."""
    processes = []

    def start(script, *, reliable=False):
        head = f"DOMAIN, TOPIC, RELIABLE = {DOMAIN}, {topic!r}, {reliable}\n"
        process = subprocess.Popen(
            [sys.executable, "-c", head + SENDER + script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


# That the end of a flood is lost comes to light with the next message.
LATER = "for number in range(COUNT, COUNT + 5): time.sleep(0.2); send(link, number)\n"
FLOOD = """
link = join()
wait(link.subscribers)
print("ready", flush=True)
sys.stdin.readline()
for number in range(COUNT):
    send(link, number)
link.close()
print("done", flush=True)
"""


@pytest.mark.slow
def test_a_reliable_flood_arrives_whole_though_the_receiver_is_slow(join, program):
    link, ear = join(reliable=True, capacity=256)
    sender = program(FLOOD.replace("COUNT", "5000"), reliable=True)
    sender.stdout.readline()
    assert until(link.publishers)
    ear.open.clear()
    print("go", file=sender.stdin, flush=True)
    time.sleep(0.5)  # by now the sender waits for room
    assert len(ear.arrivals) < 1024
    ear.open.set()
    assert until(lambda: len(ear.arrivals) == 5000, 30.0)
    link.settle()
    assert [arrival.seq for arrival in ear.arrivals] == list(range(5000))
    last = Imu.from_bytes(ear.arrivals[-1].payload)
    assert last.gyro_z == 4999.0
    assert (ear.lost, ear.overwritten) == (0, 0)
    assert sender.stdout.readline() == "done\n"


@pytest.mark.slow
def test_what_a_stopped_receiver_loses_in_a_flood_is_counted(join, program):
    link, ear = join()
    sender = program(FLOOD.replace("link.close", LATER + "link.close").replace("COUNT", "20000"))
    sender.stdout.readline()
    assert until(link.publishers)
    ear.open.clear()
    print("go", file=sender.stdin, flush=True)
    assert sender.stdout.readline() == "done\n"
    assert len(ear.arrivals) == 0
    ear.open.set()

    def total():
        link.settle()
        return len(ear.arrivals) + ear.lost + ear.overwritten

    until(lambda: total() >= 20005)
    assert total() == 20005
    assert ear.overwritten > 10000
    numbers = [Imu.from_bytes(arrival.payload).gyro_z for arrival in ear.arrivals]
    assert numbers == sorted(set(numbers))


LISTENER = """
class Ear(Deaf):
    got = lost = 0
    def deliver(self, arrivals):
        self.got += len(arrivals)
        self.last = arrivals[-1]
    def lose(self, messages, *, overwritten=False):
        self.lost += messages

ear = Ear()
link = Ros2(domain=DOMAIN).open_link(Channel(TOPIC, wire_form(Imu), 1024, RELIABLE), ear)
wait(link.publishers)
print("ready", flush=True)
for line in sys.stdin:
    wait(lambda: ear.got and ear.last.seq >= int(line))
    link.settle()
    print(ear.got, ear.lost, ear.last.seq, ear.last.sent_ns, flush=True)
"""


@pytest.mark.slow
def test_what_is_lost_on_the_way_is_counted_with_the_next_message(join, program):
    link, _ = join()
    listener = program(LISTENER)
    assert listener.stdout.readline() == "ready\n"
    assert until(link.subscribers)

    def ask(number):
        print(number, file=listener.stdin, flush=True)

    def answer():
        return [int(word) for word in listener.stdout.readline().split()]

    link.send(sent(imu_at(0), 5))
    ask(5)
    assert answer()[:3] == [1, 0, 5]
    listener.send_signal(signal.SIGSTOP)  # its sockets overflow
    for number in range(6, 15_000):
        link.send(sent(imu_at(number), number))
    listener.send_signal(signal.SIGCONT)
    later = {}
    ask(15_000)
    while not select.select([listener.stdout], [], [], 0.2)[0]:  # one of these may be lost, too
        number = 15_000 + len(later)
        later[number] = sent(imu_at(0), number)
        link.send(later[number])
        assert len(later) < 100
    got, lost, seq, sent_ns = answer()
    assert got + lost == seq - 5 + 1
    assert lost > 0
    assert abs(sent_ns - later[seq].sent_ns) <= 2**13


@pytest.mark.slow
def test_a_late_receiver_counts_nothing_that_was_sent_before_as_lost(join, program):
    sender = program(
        "link = join()\n"
        "for number in range(10**9):\n"
        "    send(link, number)\n"
        "    if number == 100: print('ready', flush=True)\n"
        "    time.sleep(0.001)\n"
    )
    sender.stdout.readline()
    link, ear = join()
    assert until(lambda: len(ear.arrivals) > 50)
    assert ear.arrivals[0].seq > 100
    sender.kill()
    sender.wait()
    link.settle()
    assert ear.lost == ear.overwritten == 0


@pytest.mark.slow
def test_a_late_receiver_gets_what_is_latched(join, peer):
    link, _ = join(qos="latched", capacity=4)
    for number in range(6):
        link.send(sent(imu_at(number)))
    receiver = peer(
        "r = reader(Imu_, RELIABLE, KEEP_ALL, Policy.Durability.TransientLocal)\n"
        "got = []\n"
        "until(lambda: got.extend(r.take(9)) or len(got) == 4)\n"
        "say(*(sample.header.stamp.nanosec for sample in got))\n"
    )
    assert receiver.stdout.readline() == "2 3 4 5\n"


def test_malformed_messages_are_counted_and_the_others_arrive(join, peer):
    link, ear = join()
    sender = peer(
        "w = writer(Imu_, RELIABLE, Policy.History.KeepLast(10))\n"
        "until(lambda: w.matched_sub); say('ready'); sys.stdin.readline()\n"
        "good, bad = imu(1), imu(2)\n"
        "bad.header.stamp.nanosec = 4_000_000_000\n"
        "for message in (bad, good, bad): w.write(message)\n"
        "sys.stdin.read()\n"
    )
    assert sender.stdout.readline() == "ready\n"
    assert until(link.publishers)
    print("go", file=sender.stdin, flush=True)
    assert until(lambda: ear.malformed == 2)
    assert [arrival.seq for arrival in ear.arrivals] == [1]


@pytest.mark.parametrize("message", [
    Pose3D(1.0, 2.0, 3.0, timestamp_ns=9),
    VehicleImu(timestamp=5, timestamp_sample=4, delta_angle=[0.5, 0.25, 0.125]),
    RosImu(1, "own", angular_velocity=[1.0, 2.0, 3.0]),
    MagneticField(7, "own", (2e-5, 0.0, -4e-5), tuple(map(float, range(9)))),
])  # fmt: skip
def test_other_types_travel_too(join, message):
    kind = type(message)
    there, _ = join(kind, frame_id="far")  # other options: a participant of its own
    here, ear = join(kind)
    assert until(lambda: here.publishers() and there.subscribers())
    there.send(sent(message))
    assert until(lambda: ear.arrivals)
    assert wire_form(kind).decode(ear.arrivals[0].payload) == message


def test_what_is_sent_from_here_does_not_come_back(join):
    one, ear = join()
    other, _ = join(frame_id="other")
    assert until(lambda: one.publishers() == one.subscribers() == 1)
    one.send(sent(imu_at(1)))
    other.send(sent(imu_at(2)))
    assert until(lambda: ear.arrivals)
    time.sleep(0.1)
    assert [Imu.from_bytes(arrival.payload).gyro_z for arrival in ear.arrivals] == [2.0]


def test_a_link_closes_in_the_middle_of_a_flood(join, program):
    link, ear = join()
    ear.deliver = lambda _arrivals: time.sleep(0.02)  # slower than they come
    sender = program("link = join()\nwait(link.subscribers)\nwhile True: send(link, 1)\n")
    assert until(link.publishers)
    time.sleep(0.2)
    closing = threading.Thread(target=link.close, daemon=True)
    closing.start()
    closing.join(10.0)
    assert not closing.is_alive()
    sender.kill()


def resources() -> tuple[int, int]:
    """Count the threads and the open files of this process."""
    threads, files = (list(Path("/proc/self", kind).iterdir()) for kind in ("task", "fd"))
    return len(threads), len(files)


def settled() -> tuple[int, int]:
    """Return the resources once what earlier links held is given back."""
    seen = [resources()]
    while len(seen) < 6 or len({*seen[-5:]}) > 1:
        time.sleep(0.1)
        seen.append(resources())
    return seen[-1]


def test_a_link_that_closes_gives_back_its_threads_and_sockets(join):
    join()[0].close()
    before = settled()
    for _ in range(2):
        first, _ = join()
        second, _ = join(frame_id="x")
        assert resources() > before
        first.close()
        second.close()
        second.close()
    assert until(lambda: resources() == before)


def test_no_socket_takes_packets_from_other_hosts(join):
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    join()
    seen = 0
    for name in {path.name for path in Path("/proc/self/fd").iterdir()} - before:
        path = Path(f"/proc/self/fd/{name}")
        if not path.exists() or not path.is_socket():
            continue
        with socket.socket(fileno=os.dup(int(name))) as one:
            device = one.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
            assert one.getsockname()[0] == "127.0.0.1" or device.rstrip(b"\0") == b"lo"
            seen += 1
    assert seen >= 2


@pytest.mark.slow
def test_killed_publishers_leave_nothing_and_new_ones_are_heard_within_a_second(join, program):
    link, ear = join()
    mother = program(
        "import os, signal\n"
        "for line in sys.stdin:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        link = join()\n"
        "        for number in range(10**9): send(link, number); time.sleep(0.001)\n"
        "    print(child, flush=True)\n"
        "    sys.stdin.readline()\n"
        "    os.kill(child, signal.SIGKILL)\n"
        "    os.waitpid(child, 0)\n"
    )
    before = resources()
    slowest = 0.0
    for heard in range(1, 11):
        print("start", file=mother.stdin, flush=True)
        mother.stdout.readline()
        start = time.monotonic()
        assert until(lambda: len({arrival.publisher for arrival in ear.arrivals}) == heard)  # noqa: B023 (until ends first)
        slowest = max(slowest, time.monotonic() - start)
        print("kill", file=mother.stdin, flush=True)
    assert slowest < 5.0  # 0.15 s on a quiet machine
    assert until(lambda: link.publishers() == 0)
    link.settle()
    assert ear.lost == 0
    assert until(lambda: resources() == before)


@pytest.mark.slow
def test_a_reliable_sender_goes_on_after_its_receiver_was_killed(join, program):
    link, _ = join(reliable=True, capacity=64)
    receiver = program(
        "link = join()\nprint('ready', flush=True)\nsys.stdin.read()\n", reliable=True
    )
    receiver.stdout.readline()
    assert until(link.subscribers)
    link.send(sent(imu_at(0)))
    time.sleep(0.5)  # so that it has confirmed a message, and counts
    receiver.kill()
    receiver.wait()
    start = time.monotonic()
    for number in range(3000):  # more than the 500 kB that wait for it
        link.send(sent(imu_at(number), number))
    assert time.monotonic() - start < 20.0  # 3 s until its lease ends
    assert link.subscribers() == 0


def test_a_fork_is_told_to_spawn_and_ends_without_hanging(program):
    child = program(
        "import os\n"
        "link = join()\n"
        "if not os.fork():\n"
        "    try: join()\n"
        "    except Exception as error: print(type(error).__name__, error, flush=True)\n"
        "    link.close()\n"
        "    raise SystemExit(0)\n"
        "print(os.wait()[1], flush=True)\n"
        "send(link, 1)\n"
        "print('parent', flush=True)\n"
    )
    assert "TransportError DDS does not survive a fork" in child.stdout.readline()
    assert child.stdout.readline() == "0\n"
    assert child.stdout.readline() == "parent\n"
    assert child.wait(20.0) == 0


def test_a_program_ends_with_its_topics_open(program):
    child = program("link = join()\nsend(link, 1)\n")
    assert child.wait(20.0) == 0


def test_settings_of_the_user_go_before_those_of_the_package(join, monkeypatch, loopback):
    monkeypatch.setenv("CYCLONEDDS_URI", loopback["CYCLONEDDS_URI"].replace("lo", "nonsense", 1))
    with pytest.raises(TransportError, match="DDS says"):
        join(domain=DOMAIN + 100)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rmw": "ddss"}, UnknownNameError, "'dds'"),
        ({"qos": "senzor"}, UnknownNameError, "'sensor'"),
        ({"domain": 233}, ValueRangeError, "0 to 232, got 233"),
        ({"domain": -1}, ValueRangeError, "0 to 232, got -1"),
        ({"qos": "sensor", "reliable": True}, TransportError, 'use qos "default"'),
        ({"msg_type": Odometry}, TransportError, "possible are Imu, RosImu, Pose3D"),
    ],
)
def test_options_that_make_no_sense_are_refused(join, options, error, words):
    with pytest.raises(error, match=words):
        join(**options)


@pytest.mark.parametrize("name", ["imu.data", "imu-data", "2imu", "imu/2", "a__b"])
def test_names_that_ros_2_does_not_know_are_refused(name):
    with pytest.raises(ValueRangeError, match="ROS 2 allows letters"):
        Ros2(domain=DOMAIN).open_link(Channel(name, wire_form(Imu), 16, reliable=False), Ear())


def test_the_domain_comes_from_the_environment_unless_it_is_given(monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    assert domain_of(Ros2()) == 0
    monkeypatch.setenv("ROS_DOMAIN_ID", "17")
    assert domain_of(Ros2()) == 17
    assert domain_of(Ros2(domain=3)) == 3
    monkeypatch.setenv("ROS_DOMAIN_ID", "many")
    with pytest.raises(ValueRangeError, match="ROS_DOMAIN_ID"):
        domain_of(Ros2())


def test_without_cyclonedds_the_error_names_the_command_that_installs_it(join, monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("cyclonedds.", "strapdown.transport.links.ros2.dds_")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cyclonedds", None)
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[ros2\]'"):
        join()
