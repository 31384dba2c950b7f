"""Topics shared with processes that know horus only, not strapdown."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest

from strapdown.errors import BackendMissingError, TransportError
from strapdown.messages import Imu, Odometry, Pose2D, Pose3D, Quaternion, RosImu, Twist, Vector3
from strapdown.transport import Topic
from strapdown.transport.backends import Horus
from strapdown.transport.link import Arrival, Channel
from strapdown.transport.links.horus import link as backend
from strapdown.transport.wire import wire_form

pytestmark = pytest.mark.xdist_group("transport")

SHARED = Path("/dev/shm")  # noqa: S108 (where horus keeps topics)
IMU = struct.pack("<37dQ", *(0.5 + k for k in range(37)), 2**64 - 2)

PEER = """
import json, struct, sys, horus
topics = {}

def values(message):
    fields = [name for name in dir(message) if not name.startswith("_")]
    return {name: getattr(message, name) for name in fields if not callable(getattr(message, name))}

def answer(verb, *arguments):
    if verb == "open":
        kind, name = arguments
        topics[kind] = horus.Topic(getattr(horus, kind), endpoint=name)
    elif verb == "send":
        kind, fields = arguments
        message = getattr(horus, kind)(*[0.0] * {"Imu": 6, "Pose2D": 3}.get(kind, 0))
        for name, value in fields.items():
            setattr(message, name, value)
        topics[kind].send(message)
    elif verb == "flood":
        for k in range(*arguments):
            topics["Imu"].send(horus.Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, k))
    elif verb == "recv":
        return [values(message) for message in iter(topics[arguments[0]].recv, None)]
    elif verb == "close":
        topics.clear()

for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
"""


class Peer:
    """A process that knows horus only, and does what it is told."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, *request):
        self.ask(*request)
        return json.loads(self.process.stdout.readline())

    def ask(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.communicate()


class Inbox:
    """What a link delivers."""

    def __init__(self):
        self.arrivals, self.lost = [], 0

    def deliver(self, arrivals):
        self.arrivals += arrivals

    def lose(self, messages, *, overwritten=False):
        assert overwritten
        self.lost += messages

    def stamps(self):
        taken, self.arrivals = self.arrivals, []
        return [Imu.from_bytes(each.payload).timestamp_ns for each in taken]


@pytest.fixture(autouse=True)
def horus(need_peer):
    need_peer("horus", find_spec("horus"), "pip install 'strapdown[horus]'")
    yield __import__("horus")
    for left in left_of(f"t{os.getpid()}_"):  # folders always stay, and what killed ones had open
        left.rmdir() if left.is_dir() else left.unlink()


@pytest.fixture
def name():
    return f"t{os.getpid()}_{uuid4().hex[:8]}"


@pytest.fixture
def peer():
    process = Peer()
    yield process
    process.kill()


@pytest.fixture
def joined(name):
    """Return what joins a topic, and what is delivered from it."""
    links = []

    def join(kind=Imu, name=name, *, reliable=False, capacity=1024):
        inbox = Inbox()
        channel = Channel(name, wire_form(kind), capacity, reliable)
        links.append(Horus().open_link(channel, inbox))
        return links[-1], inbox

    yield join
    for link in links:
        link.close()


def file_of(name):
    (found,) = SHARED.glob(f"horus_*/topics/{name}")
    return found


def left_of(name):
    return list(SHARED.glob(f"horus_*/topics/{name}*"))


def send(link, payload, seq=0):
    link.send(Arrival(payload, seq, "here", 0, 0))


def send_stamps(link, stamps):
    for stamp in stamps:
        send(link, bytes(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, stamp)))


# What a message is


def test_our_bytes_are_those_in_the_shared_memory_of_horus(horus, name):
    imu = Imu.from_bytes(IMU)
    theirs = horus.Imu(*imu.linear_acceleration, *imu.angular_velocity, imu.timestamp_ns)
    for axis in ("qx", "qy", "qz", "qw"):
        setattr(theirs, axis, getattr(imu, axis))
    for part in ("orientation", "angular_velocity", "linear_acceleration"):
        setattr(theirs, f"{part}_covariance", getattr(imu, f"{part}_covariance").tolist())
    topic = horus.Topic(horus.Imu, endpoint=name)
    topic.send(theirs)
    assert file_of(name).read_bytes().count(IMU) == 1


@pytest.mark.parametrize(
    "message",
    [
        Pose3D(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8),
        Pose2D(1.5, 2.5, 3.5, 4),
        Twist(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7),
        Vector3(1.5, 2.5, 3.5),
        Quaternion(1.5, 2.5, 3.5, 4.5),
        Imu.from_bytes(IMU),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_sent_stands_in_the_shared_memory_of_horus(joined, name, message):
    link, _ = joined(type(message))
    send(link, bytes(message))
    assert file_of(name).read_bytes().count(bytes(message)) == 1


def test_odometry_stands_there_with_everything_but_covariances(joined, name, caplog):
    message = Odometry()
    message.update(Pose2D(1.5, 2.5, 3.5, 4), Twist(5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11))
    message.set_frames("odom", "base_link")
    message.timestamp_ns = 12
    with caplog.at_level(logging.WARNING):
        link, _ = joined(Odometry)
    assert "covariances" in caplog.text
    send(link, bytes(message))
    assert file_of(name).read_bytes().count(bytes(message)) == 1


# Both directions


def test_a_horus_process_receives_all_38_values(peer, joined, name):
    link, _ = joined()
    peer("open", "Imu", name)
    send(link, IMU)
    imu = Imu.from_bytes(IMU)
    (got,) = peer("recv", "Imu")
    for field, value in got.items():
        ours = getattr(imu, field)
        assert value == (ours.tolist() if field.endswith("covariance") else ours), field
    assert sum(len(value) if isinstance(value, list) else 1 for value in got.values()) == 38


def test_a_horus_process_sends_all_38_values(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    imu = Imu.from_bytes(IMU)
    scalars = ("timestamp_ns", "qx", "qy", "qz", "qw", "gyro_x", "gyro_y", "gyro_z")
    fields = {field: getattr(imu, field) for field in (*scalars, "accel_x", "accel_y", "accel_z")}
    for part in ("orientation", "angular_velocity", "linear_acceleration"):
        fields[f"{part}_covariance"] = getattr(imu, f"{part}_covariance").tolist()
    peer("send", "Imu", fields)
    link.poll()
    (arrival,) = inbox.arrivals
    assert arrival.payload == IMU
    assert arrival.sent_ns == 0
    assert abs(arrival.received_ns - time.time_ns()) < 60e9


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (
            Pose3D,
            {
                "x": 1.5,
                "y": 2.5,
                "z": 3.5,
                "qx": 4.5,
                "qy": 5.5,
                "qz": 6.5,
                "qw": 7.5,
                "timestamp_ns": 8,
            },
        ),
        (Pose2D, {"x": 1.5, "y": 2.5, "theta": 3.5, "timestamp_ns": 4}),
        (Twist, {"linear_x": 1.5, "linear_y": 2.5, "angular_z": 3.5, "timestamp_ns": 4}),
        (Vector3, {"x": 1.5, "y": 2.5, "z": 3.5}),
        (Quaternion, {"x": 1.5, "y": 2.5, "z": 3.5, "w": 4.5}),
        (
            Odometry,
            {"x": 1.5, "y": 2.5, "theta": 3.5, "linear_velocity": 4.5, "angular_velocity": 5.5},
        ),
    ],
)
@pytest.mark.by_default("Pose3D-fields0", "Vector3-fields3", "Odometry-fields5")
def test_other_messages_pass_both_ways(peer, joined, name, kind, fields):
    link, inbox = joined(kind)
    peer("open", kind.__name__, name)
    peer("send", kind.__name__, fields)
    link.poll()
    message = kind.from_bytes(inbox.arrivals[0].payload)
    assert {field: getattr(message, field) for field in fields} == fields
    peer("open", kind.__name__, name)  # a handle of horus sends or receives
    peer("recv", kind.__name__)
    send(link, bytes(kind(**fields)))
    (got,) = peer("recv", kind.__name__)
    assert {field: got[field] for field in fields} == fields


# Who hears what


@pytest.mark.parametrize("capacity", [1, 1024, 2**16])
def test_what_is_sent_from_here_does_not_come_back(joined, capacity):
    link, inbox = joined(capacity=capacity)
    send_stamps(link, range(6000))
    link.poll()
    link.settle()
    assert (inbox.arrivals, inbox.lost) == ([], 0)


def test_odometry_does_not_come_back_though_horus_hides_half_of_it(joined):
    link, inbox = joined(Odometry)
    message = Odometry()
    message.update(Pose2D(1.5, 2.5, 3.5, 4), Twist(5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11))
    message.set_frames("odom", "base_link")
    send(link, bytes(message))
    link.poll()
    assert inbox.arrivals == []


def test_a_process_that_sends_and_receives_hears_the_others(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    for k in range(5):
        peer("flood", 10 * k, 10 * k + 3)
        send_stamps(link, [1000 + k, k, 2000 + k])  # k is what the peer sends, too
        link.poll()
        assert inbox.stamps() == [10 * k, 10 * k + 1, 10 * k + 2]
    assert [arrival.seq for arrival in inbox.arrivals] == []
    assert inbox.lost == 0


def test_a_second_sender_and_a_second_reader_change_nothing(peer, joined, name):
    link, inbox = joined()
    other = Peer()
    try:
        peer("open", "Imu", name)
        peer("flood", 0, 3)
        other("open", "Imu", name)
        other("flood", 10, 13)
        send_stamps(link, range(20, 23))
        link.poll()
        assert inbox.stamps() == [0, 1, 2, 10, 11, 12]
    finally:
        other.kill()


def test_a_late_joiner_gets_what_is_retained(peer, joined, name):
    peer("open", "Imu", name)
    peer("flood", 0, 100)
    link, inbox = joined()
    link.poll()
    assert inbox.stamps() == list(range(100))


def test_a_restarted_sender_is_heard_and_counts_no_loss(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    peer("flood", 0, 3)
    peer.kill()
    again = Peer()
    try:
        again("open", "Imu", name)
        again("flood", 5, 8)
        link.poll()
        assert inbox.stamps() == [0, 1, 2, 5, 6, 7]
        assert inbox.lost == 0
    finally:
        again.kill()


# The account


@pytest.mark.parametrize("own", [0, 1500])
def test_every_message_of_a_flood_is_received_or_counted(peer, joined, name, own):
    link, inbox = joined()
    peer("open", "Imu", name)
    total = 30_000
    peer.ask("flood", 0, total)
    send_stamps(link, range(10**6, 10**6 + own))
    for _ in range(20):
        link.poll()
    peer.process.stdout.readline()
    link.settle()
    got = inbox.stamps()
    assert got == sorted(set(got))
    assert len(got) + inbox.lost == total


def test_what_came_while_nobody_looked_is_counted(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    send_stamps(link, range(10**6, 10**6 + 100))
    peer("flood", 0, 5000)
    send_stamps(link, range(10**6 + 100, 10**6 + 200))
    link.poll()
    got = inbox.stamps()
    assert got == list(range(5000 - len(got), 5000))
    assert len(got) + inbox.lost == 5000


def test_a_gap_in_the_numbers_shows_where_messages_are_missing(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    peer("flood", 0, 10)
    link.poll()
    peer("flood", 10, 3000)
    link.poll()
    numbers = [each.seq for each in inbox.arrivals]
    assert numbers[:10] == list(range(10))
    assert numbers == inbox.stamps()
    assert len(numbers) + inbox.lost == 3000


@pytest.mark.parametrize(
    ("interval_s", "capacity", "pause_s"),
    [(1e-3, 1024, 50e-6), (50e-6, 1024, 1e-3), (50e-6, 64, 400e-6)],
    ids=["1 kHz", "20 kHz", "20 kHz, few slots"],
)
def test_a_fast_topic_is_fetched_in_bulk(joined, interval_s, capacity, pause_s):
    link, _ = joined(capacity=capacity)
    pauses = []

    class Bell:
        def acquire(self, timeout):
            pauses.append(timeout)
            return True

    link._bell, link._heard_s, link._interval_s = Bell(), time.monotonic(), interval_s
    link.wait(1.0)
    assert pauses == [pytest.approx(pause_s, rel=0.5)]


def test_the_mean_interval_is_that_of_the_last_messages(peer, joined, name):
    link, _ = joined()
    peer("open", "Imu", name)
    peer("flood", 0, 1)
    time.sleep(0.5)
    link.poll()
    start = time.monotonic()
    peer("flood", 1, 501)
    link.poll()
    assert 0.0 < link._interval_s <= (time.monotonic() - start) / 500 * 1.1


def test_messages_of_others_survive_a_flood_from_here(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    peer("flood", 0, 10)
    send_stamps(link, range(10**6, 10**6 + 3000))
    link.poll()
    assert (inbox.stamps(), inbox.lost) == (list(range(10)), 0)


# Waiting


def test_waiting_ends_with_a_message(peer, joined, name):
    link, inbox = joined()
    peer("open", "Imu", name)
    threading.Timer(0.2, peer.ask, ("flood", 0, 1)).start()
    began = time.monotonic()
    link.wait(30.0)
    assert time.monotonic() - began < 20.0
    link.poll()
    assert inbox.stamps() == [0]
    peer.process.stdout.readline()


def test_waiting_ends_when_time_is_over_and_when_it_is_woken(joined):
    link, _ = joined()
    began = time.monotonic()
    link.wait(0.1)
    assert 0.09 < time.monotonic() - began < 5.0
    threading.Timer(0.1, link.wake).start()
    link.wait(30.0)
    link.wake()
    link.wake()  # nobody waits
    assert time.monotonic() - began < 20.0


def test_waiting_for_nothing_leaves_the_processor_alone(joined):
    link, _ = joined()
    began = time.process_time()
    link.wait(0.5)
    assert time.process_time() - began < 0.15


# Errors


def test_another_type_on_the_topic_is_an_error_that_names_both(peer, joined, name):
    peer("open", "Pose3D", name)
    with pytest.raises(TransportError, match=f"'{name}' carries Pose3D in horus, got Imu"):
        joined()


@pytest.mark.parametrize("first", ["{}", "{}/b"])
def test_a_name_beside_a_folder_of_that_name_is_an_error_that_says_so(joined, name, first):
    second = {"{}": "{}/b", "{}/b": "{}"}[first]
    joined(name=first.format(name))
    with pytest.raises(TransportError, match=r"makes folders of names.*/dev/shm/horus_"):
        joined(name=second.format(name))
    for folder in left_of(name):
        if folder.is_dir():
            assert list(folder.iterdir()) == [folder / "b"]


def test_an_empty_folder_in_the_way_is_named(joined, name):
    link, _ = joined(name=f"{name}/b")
    link.close()
    (folder,) = left_of(name)
    with pytest.raises(TransportError, match=re.escape(str(folder))):
        joined()
    folder.rmdir()
    joined()


@pytest.mark.parametrize("kind", [RosImu, type("Own", (), {})])
def test_a_message_that_horus_does_not_know_is_refused(joined, kind):
    with pytest.raises(TransportError, match=f"horus exchanges Imu, .*got {kind.__name__}"):
        joined(kind)


def test_a_reliable_topic_is_refused(joined):
    with pytest.raises(TransportError, match="reliability='sensor'"):
        joined(reliable=True)


def test_a_missing_package_is_named_with_the_command_that_installs_it(joined, monkeypatch):
    monkeypatch.setitem(sys.modules, "horus", None)
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[horus\]'"):
        joined()


def test_another_package_of_the_name_horus_does_not_count(joined, monkeypatch):
    monkeypatch.setitem(sys.modules, "horus", type(sys)("horus"))
    with pytest.raises(BackendMissingError):
        joined()


# Types


def test_the_type_of_a_topic_is_found(peer, name):
    assert backend.find_type(Horus(), name, 1.0) is None
    assert not left_of(name)
    for kind in (Imu, Pose3D, Quaternion):
        peer("open", kind.__name__, name)
        assert backend.find_type(Horus(), f"/{name}", 1.0) is kind
        peer("close")


def test_a_type_that_is_not_known_here_is_an_error_that_names_it(horus, name):
    topic = horus.Topic(horus.JointState, endpoint=name)
    with pytest.raises(TransportError, match=r"horus exchanges .* got JointState"):
        backend.find_type(Horus(), topic.name, 1.0)


def test_a_folder_has_no_type(horus, name):
    _inside = horus.Topic(horus.Imu, endpoint=f"{name}/b")
    with pytest.raises(TransportError, match="makes folders of names"):
        backend.find_type(Horus(), name, 1.0)


# Others come and go


def test_those_who_listen_and_send_are_counted_while_they_live(peer, joined, name):
    link, _ = joined()
    send_stamps(link, [0])

    def seen(count):
        end = time.monotonic() + 10.0
        while (link.publishers(), link.subscribers()) != (count, count):
            assert time.monotonic() < end
            time.sleep(0.01)
        return True

    assert seen(0)
    peer("open", "Imu", name)
    peer("flood", 0, 1)
    peer("recv", "Imu")
    assert seen(1)
    peer.kill()
    assert seen(0)


def test_closing_leaves_nothing_behind(joined, name):
    before = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    for _ in range(20):
        link, _ = joined()
        send_stamps(link, range(10))
        link.close()
        link.close()
        link.poll()
        link.tend()
        send_stamps(link, [0])
        assert (link.publishers(), link.subscribers()) == (0, 0)
    assert not left_of(name)
    after = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    assert (after[0], after[1] <= before[1]) == (before[0], True)


FORKING = """
import os, sys
from strapdown import Imu, Topic
with Topic(Imu, name=sys.argv[1], backend="horus") as topic:
    child = os.fork()
    topic.send(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1 if child else 2))
    if child:
        os.waitpid(child, 0)
        topic.send(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3))
"""


def test_a_forked_child_sends_too_and_does_not_take_the_topic_away(peer, name):
    peer("open", "Imu", name)
    peer("recv", "Imu")
    subprocess.run([sys.executable, "-c", FORKING, name], check=True, timeout=60)
    first, second, last = (each["timestamp_ns"] for each in peer("recv", "Imu"))
    assert (sorted([first, second]), last) == ([1, 2], 3)
    other = Peer()
    try:
        other("open", "Imu", name)
        other("flood", 4, 5)
        assert [each["timestamp_ns"] for each in peer("recv", "Imu")] == [4]
    finally:
        other.kill()


# Topics


def test_a_topic_on_horus_is_like_any_other(peer, name):
    with (
        Topic(Imu, name=name, backend="horus") as one,
        Topic(Imu, name=name, backend=Horus()) as two,
    ):
        peer("open", "Imu", name)
        peer("flood", 0, 2)
        one.send(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5))
        for topic in (one, two):
            got = [topic.recv(timeout=10.0).timestamp_ns for _ in range(3)]
            assert sorted(got) == [0, 1, 5]
            assert topic.recv() is None
        assert one.backend_type == "horus"
        assert not one.is_network_topic
        message, info = (peer("flood", 7, 8), two.recv_with_info(10.0))[1]
        assert (message.timestamp_ns, info.sent_ns) == (7, 0)
        assert info.publisher.startswith("horus")
        stats = two.stats()
        assert (stats.received, stats.lost_overwritten, stats.lost_transport) == (4, 0, 0)
        assert one.pub_count() == 2


def test_blocking_receive_wakes_for_both_worlds(peer, name):
    with Topic(Imu, name=name, backend="horus") as topic:
        peer("open", "Imu", name)
        threading.Timer(0.2, peer.ask, ("flood", 1, 2)).start()
        assert topic.recv(timeout=30.0).timestamp_ns == 1
        peer.process.stdout.readline()
        message = Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2)
        threading.Timer(0.2, topic.send, (message,)).start()
        assert topic.recv(timeout=30.0) == message


def test_a_flood_on_a_topic_is_received_or_counted(peer, name):
    with Topic(Imu, name=name, backend="horus") as topic:
        topic.recv()
        peer("open", "Imu", name)
        peer.ask("flood", 0, 100_000)
        got = [-1]
        while got[-1] < 99_999:  # the newest gives way to nobody
            got.append(topic.recv(timeout=10.0).timestamp_ns)
        peer.process.stdout.readline()
        assert topic.recv() is None
        del got[0]
        stats = topic.stats()
        assert got == sorted(set(got))
        assert len(got) + stats.lost_overwritten == 100_000
        assert stats.lost_transport == 0


KILLED = """
import os, signal, sys, horus
from strapdown.messages import Imu
from strapdown.transport.backends import Horus
from strapdown.transport.link import Arrival, Channel
from strapdown.transport.wire import wire_form

class Sink:
    deliver = lose = note = lambda self, *_, **__: None

for line in sys.stdin:
    name, k = line.split()
    child = os.fork()
    if not child:
        link = Horus().open_link(Channel(name, wire_form(Imu), 1024, False), Sink())
        link.send(Arrival(bytes(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, int(k))), 0, "", 0, 0))
        os.kill(os.getpid(), signal.SIGKILL)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_a_hundred_killed_processes_leave_nothing_and_hold_nobody_up(joined, name):
    # Of 16 places for threads on a topic a killed process keeps its two or three for 5 s.
    threads = threading.active_count()
    names = [f"{name}.{k}" for k in range(34)]
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        try:
            for each in names:
                link, inbox = joined(name=each)
                for k in range(3):
                    parent.stdin.write(f"{each} {k}\n")
                    parent.stdin.flush()
                    assert int(parent.stdout.readline()) == signal.SIGKILL
                    link.poll()
                    assert inbox.stamps() == [k]
                assert inbox.lost == 0
                link.close()
        finally:
            parent.stdin.close()
            parent.kill()
    assert not left_of(name)
    assert threading.active_count() <= threads
