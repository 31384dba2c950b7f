"""ROS 2 over DDS: the other end is rclpy of a ROS 2 release, with Fast DDS."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import strapdown
from strapdown import ImuSeries
from strapdown.messages import NavSatFix, Pose3D, RosImu
from strapdown.transport import Ros2, Topic
from strapdown.transport.links.ros2.dds import FAST_DDS, LOOPBACK

pytestmark = [pytest.mark.xdist_group("rclpy"), pytest.mark.slow]

COMMAND = str(Path(sys.executable).with_name("strapdown"))
NS = 1_700_000_000_000_000_000
DOMAINS = itertools.cycle(range(10, 100))
COUNT = 200
INSTALL = "ros-{0}-rclpy ros-{0}-sensor-msgs ros-{0}-rmw-fastrtps-cpp"

PEER = """
import json, sys, threading, time
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, NavSatFix

RELIABLE = {"reliability": ReliabilityPolicy.RELIABLE}
BEST_EFFORT = {"reliability": ReliabilityPolicy.BEST_EFFORT}
LATCHED = {**RELIABLE, "durability": DurabilityPolicy.TRANSIENT_LOCAL}
rclpy.init()
node = rclpy.create_node("peer")

def say(*words):
    print(json.dumps(words), flush=True)

def fields(message):
    if hasattr(message, "get_fields_and_field_types"):
        names = message.get_fields_and_field_types()
        return {name: fields(getattr(message, name)) for name in names}
    return message.tolist() if hasattr(message, "tolist") else message

def until(ready, seconds=20.0):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise SystemExit("nothing came in time")
        time.sleep(0.001)

def publisher(kind, topic, **policies):
    return node.create_publisher(kind, topic, QoSProfile(depth=1000, **policies))

def subscription(kind, topic, hear, **policies):
    return node.create_subscription(kind, topic, hear, QoSProfile(depth=1000, **policies))

def stamped(message, number):
    message.header.stamp.sec, message.header.stamp.nanosec = 1_700_000_000, number
    message.header.frame_id = "peer_link"
    return message

def imu(number):
    message = stamped(Imu(), number)
    message.angular_velocity.z = float(number)
    return message

def publish(topic, **policies):
    # As soon as anybody listens.
    end = publisher(Imu, topic, **policies)
    until(end.get_subscription_count)
    send(end)

def send(end):
    for number in range(COUNT):
        end.publish(imu(number))
        time.sleep(0.001)

def keep(topic, **policies):
    # The numbers of messages, behind their subscription.
    kept = []
    hear = lambda message: kept.append(message.header.stamp.nanosec)
    kept.append(subscription(Imu, topic, hear, **policies))
    return kept

spinning = threading.Thread(target=rclpy.spin, args=(node,), daemon=True)
spinning.start()
"""


@pytest.fixture(params=["jazzy", "kilted"])
def python(request, need_peer) -> Path:
    """Give the interpreter of the virtual environment of a ROS 2 release."""
    need_peer("cyclonedds", find_spec("cyclonedds"), "pip install 'strapdown[ros2]'")
    release = request.param
    folder = Path(os.environ.get("STRAPDOWN_ROS2", "ros2"))
    interpreter = folder / release / "bin" / "python"
    need_peer(
        f"ROS 2 {release}",
        interpreter.is_file(),
        f"python3.11 -m venv {folder}/{release} && {folder}/{release}/bin/pip install "
        f"{INSTALL.format(release)}; STRAPDOWN_ROS2 names the folder",
    )
    return interpreter


@pytest.fixture
def domain(monkeypatch) -> int:
    """Give a domain of its own to the programs of a test."""
    number = next(DOMAINS)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.delenv("CYCLONEDDS_URI", raising=False)
    return number


@pytest.fixture
def start():
    """Start programs; they end with their standard input."""
    processes = []

    def begin(*command):
        processes.append(
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        )
        return processes[-1]

    yield begin
    for process in processes:
        process.stdin.close()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture
def peer(python, domain, start):  # noqa: ARG001 (in that domain)
    """Start programs that use rclpy; they leave the graph in an orderly way."""

    def begin(script):
        end = "\nsay('ready')\nsys.stdin.read()\nrclpy.try_shutdown()\nspinning.join()\n"
        return start(python, "-c", f"COUNT = {COUNT}\n{PEER}{script}{end}")

    return begin


def heard(process) -> list:
    """Return the next line that a peer prints."""
    line = process.stdout.readline()
    assert line, "the peer has ended"
    return json.loads(line)


def go(process) -> None:
    process.stdin.write("go\n")


def imu(number: int) -> RosImu:
    message = RosImu(NS + number, "imu_link")
    message.block[15] = number
    return message


def received(topic: Topic, count: int) -> list:
    """Return so many messages, or those that came before a pause."""
    messages = []
    while len(messages) < count and (message := topic.recv(5.0)) is not None:
        messages.append(message)
    return messages


def numbers(messages) -> list[int]:
    return [message.header_stamp_ns - NS for message in messages]


def test_a_subscriber_reads_every_field(peer):
    listener = peer(
        "for kind, topic in (Imu, 'imu'), (NavSatFix, 'fix'), (PoseStamped, 'pose'):\n"
        "    subscription(kind, topic, lambda message: say(fields(message)), **RELIABLE)\n"
    )
    assert heard(listener) == ["ready"]
    values = np.arange(0.1, 37.0)
    message = RosImu(NS + 7, "imu_link")
    message.block[:] = values
    header = {"stamp": {"sec": 1_700_000_000, "nanosec": 7}, "frame_id": "imu_link"}
    quaternion = dict(zip("xyzw", values[:4].tolist(), strict=True))
    with Topic(RosImu, name="imu", backend=Ros2()) as topic:
        assert topic.wait_for_subscriber(10.0)
        topic.send(message)
        assert heard(listener) == [
            {
                "header": header,
                "orientation": quaternion,
                "orientation_covariance": values[4:13].tolist(),
                "angular_velocity": dict(zip("xyz", values[13:16].tolist(), strict=True)),
                "angular_velocity_covariance": values[16:25].tolist(),
                "linear_acceleration": dict(zip("xyz", values[25:28].tolist(), strict=True)),
                "linear_acceleration_covariance": values[28:].tolist(),
            }
        ]
    fix = NavSatFix(NS + 7, "gps", 2, 5, 47.1, 8.2, 403.3, tuple(values[:9]), 3)
    with Topic(NavSatFix, name="fix", backend=Ros2()) as topic:
        assert topic.wait_for_subscriber(10.0)
        topic.send(fix)
        (read,) = heard(listener)
        assert read["header"] == header | {"frame_id": "gps"}
        assert [read[key] for key in ("latitude", "longitude", "altitude")] == [47.1, 8.2, 403.3]
        assert read["status"] == {"status": 2, "service": 5}
        assert read["position_covariance"] == values[:9].tolist()
        assert read["position_covariance_type"] == 3
    pose = Pose3D(*values[:7], timestamp_ns=NS + 7)
    with Topic(Pose3D, name="pose", backend=Ros2(frame_id="map")) as topic:
        assert topic.wait_for_subscriber(10.0)
        topic.send(pose)
        (read,) = heard(listener)
        assert read["header"] == header | {"frame_id": "map"}
        assert list(read["pose"]["position"].values()) == values[:3].tolist()
        assert list(read["pose"]["orientation"].values()) == values[3:7].tolist()


def test_messages_of_a_publisher_arrive_with_every_field(peer):
    speaker = peer(
        "import numpy\n"
        "ends = [publisher(kind, topic, **RELIABLE) for kind, topic in\n"
        "        ((Imu, 'imu'), (NavSatFix, 'fix'), (PoseStamped, 'pose'))]\n"
        "say('ready')\n"
        "v = numpy.arange(0.1, 37.0)\n"
        "m = stamped(Imu(), 7)\n"
        "q = m.orientation; q.x, q.y, q.z, q.w = v[:4].tolist()\n"
        "r = m.angular_velocity; r.x, r.y, r.z = v[13:16].tolist()\n"
        "a = m.linear_acceleration; a.x, a.y, a.z = v[25:28].tolist()\n"
        "m.orientation_covariance, m.angular_velocity_covariance = v[4:13], v[16:25]\n"
        "m.linear_acceleration_covariance = v[28:]\n"
        "f = stamped(NavSatFix(), 7)\n"
        "f.latitude, f.longitude, f.altitude = 47.1, 8.2, 403.3\n"
        "f.status.status, f.status.service = 2, 5\n"
        "f.position_covariance, f.position_covariance_type = v[:9], 3\n"
        "p = stamped(PoseStamped(), 7)\n"
        "x = p.pose.position; x.x, x.y, x.z = v[:3].tolist()\n"
        "q = p.pose.orientation; q.x, q.y, q.z, q.w = v[3:7].tolist()\n"
        "for end, message in zip(ends, (m, f, p)):\n"
        "    sys.stdin.readline(); end.publish(message)\n"
    )
    assert heard(speaker) == ["ready"]
    values = np.arange(0.1, 37.0)

    def read(kind, name):
        with Topic(kind, name=name, backend=Ros2()) as topic:
            assert topic.wait_for_publisher(10.0)
            go(speaker)
            return topic.recv(10.0)

    message = read(RosImu, "imu")
    assert (message.header_stamp_ns, message.frame_id) == (NS + 7, "peer_link")
    assert message.block.tolist() == values.tolist()
    fix = read(NavSatFix, "fix")
    assert fix == NavSatFix(NS + 7, "peer_link", 2, 5, 47.1, 8.2, 403.3, tuple(values[:9]), 3)
    pose = read(Pose3D, "pose")
    assert pose.timestamp_ns == NS + 7
    assert [pose.x, pose.y, pose.z, pose.qx, pose.qy, pose.qz, pose.qw] == values[:7].tolist()


@pytest.mark.parametrize("reliability", ["RELIABLE", "BEST_EFFORT"])
def test_a_subscriber_gets_every_message_from_the_first_on(peer, reliability):
    listener = peer(
        f"kept = keep('imu', **{reliability})\nsay('here')\nsys.stdin.readline()\nsay(kept[1:])\n"
    )
    assert heard(listener) == ["here"]
    with Topic(RosImu, name="imu", backend=Ros2()) as topic:
        assert topic.wait_for_subscriber(10.0)
        for number in range(COUNT):
            topic.send(imu(number))
            time.sleep(0.001)
        time.sleep(0.2)
        go(listener)
        assert heard(listener) == [list(range(COUNT))]


def test_a_reliable_subscriber_that_comes_later_gets_every_message_too(peer):
    with Topic(RosImu, name="imu", backend=Ros2()) as topic:
        listener = peer("kept = keep('imu', **RELIABLE)\nsys.stdin.readline()\nsay(kept[1:])\n")
        assert topic.wait_for_subscriber(20.0)
        for number in range(COUNT):  # at once, while Fast DDS may not know this writer yet
            topic.send(imu(number))
        time.sleep(1.0)
        go(listener)
        assert heard(listener) == [list(range(COUNT))]


@pytest.mark.parametrize(
    ("reliability", "qos"), [("RELIABLE", "default"), ("BEST_EFFORT", "sensor")]
)
def test_every_message_of_a_publisher_arrives_from_the_first_on(peer, reliability, qos):
    speaker = peer(f"say('here')\npublish('imu', **{reliability})\n")
    assert heard(speaker) == ["here"]
    time.sleep(0.3)  # until its publisher exists
    with Topic(RosImu, name="imu", backend=Ros2(qos=qos)) as topic:
        assert numbers(received(topic, COUNT)) == list(range(COUNT))
        assert topic.stats().lost_transport == topic.stats().lost_overwritten == 0


def test_a_reliable_topic_has_no_gap_where_a_publisher_comes_later(peer):
    with Topic(RosImu, name="imu", backend=Ros2(), reliability="reliable") as topic:
        peer("publish('imu', **RELIABLE)\n")
        messages = numbers([topic.recv(20.0)])
        messages += numbers(received(topic, COUNT - 1 - messages[0]))
        assert messages == list(range(messages[0], COUNT))


def test_every_message_after_matching_arrives(peer):
    with Topic(RosImu, name="imu", backend=Ros2()) as topic:
        speaker = peer(
            "end = publisher(Imu, 'imu', **BEST_EFFORT)\n"
            "sys.stdin.readline()\n"
            "until(end.get_subscription_count)\n"
            "send(end)\n"
        )
        assert topic.wait_for_publisher(20.0)
        go(speaker)  # each end matches by itself
        assert numbers(received(topic, COUNT)) == list(range(COUNT))


def test_a_latched_topic_gives_latecomers_what_was_sent_before(peer):
    backend = Ros2(qos="latched")
    speaker = peer(
        "end = publisher(Imu, 'theirs', **LATCHED)\n"
        "for number in range(5): end.publish(imu(number))\n"
        "say('sent')\nsys.stdin.readline()\n"
        "kept = keep('ours', **LATCHED)\nuntil(lambda: len(kept) == 6)\nsay(kept[1:])\n"
    )
    assert heard(speaker) == ["sent"]
    with (
        Topic(RosImu, name="theirs", backend=backend) as theirs,
        Topic(RosImu, name="ours", backend=backend) as ours,
    ):
        assert numbers(received(theirs, 5)) == list(range(5))
        for number in range(5):
            ours.send(imu(number))
        go(speaker)
        assert heard(speaker) == [list(range(5))]


def test_a_latched_topic_gets_all_of_a_publisher_that_comes_later_and_sends_at_once(peer):
    with Topic(RosImu, name="imu", backend=Ros2(qos="latched")) as topic:
        peer(
            "end = publisher(Imu, 'imu', **LATCHED)\nuntil(end.get_subscription_count)\n"
            "for number in range(COUNT): end.publish(imu(number))\n"
        )
        first = topic.recv(20.0)
        assert first is not None
        assert numbers([first, *received(topic, COUNT - 1)]) == list(range(COUNT))


def test_a_published_topic_is_recorded_whole(peer, start, tmp_path):
    recorder = start(
        COMMAND, "record", "ros2:imu", "-o", tmp_path / "a.mcap", "--count", str(COUNT)
    )
    peer("publish('imu', **RELIABLE)\n")
    assert recorder.wait(60.0) == 0
    (series,) = strapdown.open(tmp_path / "a.mcap").imu.values()
    assert (series.t_ns - NS).tolist() == list(range(COUNT))
    assert series.angular_velocity[:, 2].tolist() == list(range(COUNT))
    assert series.sensor.name == "peer_link"


def test_a_recording_is_played_to_a_subscriber_whole(peer, start, tmp_path):
    rates = np.random.default_rng(1).normal(size=(COUNT, 3))
    series = ImuSeries(NS + 5_000_000 * np.arange(COUNT), rates, rates)
    strapdown.write(tmp_path / "imu.mcap", series)
    listener = peer(
        "kept = []\n"
        "def hear(m):\n"
        "    r, t = m.angular_velocity, m.header.stamp\n"
        "    kept.append([t.sec * 10**9 + t.nanosec, r.x, r.y, r.z])\n"
        "end = subscription(Imu, 'imu', hear, **RELIABLE)\nsay('here')\n"
        "until(lambda: len(kept) == COUNT, 40.0)\nsay(kept)\n"
    )
    assert heard(listener) == ["here"]
    start(COMMAND, "play", tmp_path / "imu.mcap", "--to", "ros2:imu", "--rate", "4", "--wait", "20")
    (rows,) = heard(listener)
    assert [row[0] for row in rows] == series.t_ns.tolist()
    assert np.array_equal([row[1:] for row in rows], series.angular_velocity)


def test_a_topic_is_bridged_whole_and_with_its_headers(peer, start):
    bridge = start(COMMAND, "bridge", "ros2:imu", "ros2:copy")
    listener = peer(
        "kept = []\n"
        "end = subscription(Imu, 'copy', lambda m: kept.append(fields(m)), **RELIABLE)\n"
        "source = publisher(Imu, 'imu', **RELIABLE)\n"
        "until(lambda: source.get_subscription_count() and node.count_publishers('copy'))\n"
        "send(source)\n"  # for which the bridge waited; what another sends at once may be lost
        "until(lambda: len(kept) == COUNT)\n"
        "say([fields(imu(number)) for number in range(COUNT)] == kept)\n"
    )
    assert heard(listener) == [True]
    bridge.terminate()


OWN_DOMAIN = """
import logging, sys, time
from cyclonedds.domain import Domain
from strapdown import Topic
from strapdown.messages import RosImu
from strapdown.transport.links.ros2.dds import COMPATIBILITY, LOOPBACK

logging.basicConfig(stream=sys.stdout, format="%(message)s")
domain = Domain(int(sys.argv[1]), LOOPBACK.replace(COMPATIBILITY, ""))
topic = Topic(RosImu, name="imu", backend="ros2")
sys.stdin.read()
"""


@pytest.mark.parametrize("python", ["kilted"], indirect=True)
def test_a_program_that_lacks_the_setting_for_kilted_reports_the_cause(peer, start, domain):
    speaker = peer("end = publisher(Imu, 'imu', **RELIABLE)\n")
    assert heard(speaker) == ["ready"]
    line = start(sys.executable, "-c", OWN_DOMAIN, str(domain)).stdout.readline()
    assert "Cyclone DDS refused the description of its type sensor_msgs::msg::dds_::Imu_" in line
    assert "<IgnoreTypeInformation>1.15</IgnoreTypeInformation>" in line


def test_settings_of_the_user_match_every_release_too(peer, monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", LOOPBACK.replace(FAST_DDS, ""))
    speaker = peer("say('here')\npublish('imu', **RELIABLE)\n")
    assert heard(speaker) == ["here"]
    with Topic(RosImu, name="imu", backend=Ros2()) as topic:
        assert len(received(topic, COUNT)) == COUNT
