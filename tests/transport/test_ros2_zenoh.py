"""ROS 2 over zenoh: zenoh and rosbags stand in for a ROS installation at the other end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from strapdown.errors import TransportError
from strapdown.messages import Imu, Pose3D, RosImu
from strapdown.transport import Topic
from strapdown.transport.backends import Ros2

pytestmark = pytest.mark.xdist_group("transport")

TYPE = "sensor_msgs::msg::dds_::Imu_"
HASH = "RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b"
GID = bytes(range(16))
DOMAIN = 3
TALKER = """
import sys, time
from strapdown.messages import Imu
from strapdown.transport import Topic
from strapdown.transport.backends import Ros2

backend = Ros2(rmw="zenoh", connect=sys.argv[1], domain=3, qos=sys.argv[3])
topic = Topic(Imu, name=sys.argv[2], backend=backend)
if sys.argv[3] != "latched":
    assert topic.wait_for_subscriber(10.0)
for number in range(20):
    topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
print("sent", flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def zenoh(need_peer):
    need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    return import_module("zenoh")


@pytest.fixture(scope="module")
def ros():
    """The messages of ROS as rosbags reads and writes them."""
    typesys = import_module("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)


@pytest.fixture
def child():
    """Start Python programs, and end those that are left."""
    started = []

    def start(script, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def node(zenoh, router):
    """A session of zenoh's own, connected as ROS programs are."""
    config = zenoh.Config()
    for key, value in {
        "connect/endpoints": [router],
        "listen/endpoints": ["tcp/localhost:0"],
        "scouting/multicast/enabled": False,
    }.items():
        config.insert_json5(key, json.dumps(value))
    with zenoh.open(config) as session:
        yield session


@pytest.fixture
def name():
    return f"t{os.getpid()}_{uuid4().hex[:8]}/imu/data"


@pytest.fixture(autouse=True)
def short_meetings(zenoh, monkeypatch):
    """Meet the others of the loopback quickly; by default it takes a second."""
    assert zenoh.Config
    monkeypatch.setattr("strapdown.transport.links.ros2.zenoh._MEETING_S", 0.1)
    settings = import_module("strapdown.transport.links.zenoh._session")._OURS
    monkeypatch.setitem(settings, "scouting/delay", 100)


@pytest.fixture
def backend(router):
    return Ros2(rmw="zenoh", connect=router, domain=DOMAIN, frame_id="imu_link")


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def label(seq, sent_ns=5):
    ext = import_module("zenoh.ext")
    return ext.z_serialize((ext.Int64(seq), ext.Int64(sent_ns), [ext.UInt8(byte) for byte in GID]))


def ros_imu(ros, number):
    types = ros.types
    stamp = types["builtin_interfaces/msg/Time"](number, 7)
    vector, matrix = types["geometry_msgs/msg/Vector3"], np.arange(9.0)
    return types["sensor_msgs/msg/Imu"](
        types["std_msgs/msg/Header"](stamp, "body"),
        types["geometry_msgs/msg/Quaternion"](0.1, 0.2, 0.3, 0.4),
        matrix + 1.0,
        vector(1.0, 2.0, 3.0),
        matrix + 2.0,
        vector(4.0, 5.0, 6.0),
        matrix + 3.0,
    )


def test_a_ros_program_finds_our_messages_where_it_looks(zenoh, node, ros, backend, name):
    got = []
    subscriber = node.declare_subscriber(f"{DOMAIN}/{name}/{TYPE}/{HASH}", got.append)
    with Topic(Imu, name=f"/{name}", backend=backend) as topic:
        topic.recv()
        time.sleep(0.5)
        message = Imu(1.0, 2.0, 9.81, 0.1, 0.2, 0.3, 4_000_000_005)
        topic.send(message)
        topic.send(message)
        assert until(lambda: len(got) == 2)
    subscriber.undeclare()
    for number, sample in enumerate(got):
        theirs = ros.deserialize_cdr(sample.payload.to_bytes(), "sensor_msgs/msg/Imu")
        assert (theirs.header.stamp.sec, theirs.header.stamp.nanosec) == (4, 5)
        assert theirs.header.frame_id == "imu_link"
        assert theirs.linear_acceleration.z == 9.81
        assert theirs.orientation_covariance[0] == -1.0
        seq, sent_ns, gid = zenoh.ext.z_deserialize(
            tuple[zenoh.ext.Int64, zenoh.ext.Int64, list[zenoh.ext.UInt8]], sample.attachment
        )
        assert seq == number + 1
        assert abs(sent_ns - time.time_ns()) < 60e9
        assert len(gid) == 16


@pytest.mark.parametrize("type_hash", [HASH, "TypeHashNotSupported"])
def test_messages_of_ros_programs_come_with_every_field(node, ros, backend, name, type_hash):
    with Topic(RosImu, name=name, backend=backend) as topic:
        topic.recv()
        publisher = node.declare_publisher(f"{DOMAIN}/{name}/{TYPE}/{type_hash}")
        assert until(lambda: publisher.matching_status.matching)
        theirs = ros_imu(ros, 3)
        data = ros.serialize_cdr(theirs, "sensor_msgs/msg/Imu")
        publisher.put(bytes(data), attachment=label(1, 123))
        ours, info = topic.recv_with_info(timeout=5.0)
        assert ours.to_cdr() == bytes(data)
        assert (info.seq, info.publisher, info.sent_ns) == (0, GID.hex(), 123)


def test_what_is_missing_or_strange_is_counted(node, ros, backend, name, caplog):
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.recv()
        key = f"{DOMAIN}/{name}/{TYPE}"
        publisher = node.declare_publisher(f"{key}/{HASH}")
        assert until(lambda: publisher.matching_status.matching)
        data = bytes(ros.serialize_cdr(ros_imu(ros, 3), "sensor_msgs/msg/Imu"))
        for seq in (5, 6, 9):
            publisher.put(data, attachment=label(seq))
        publisher.put(data)
        publisher.put(data, attachment=b"\x0fsequence_number" + bytes(8))
        publisher.put(data[:-1], attachment=label(10))
        node.put(f"{key}/RIHS01_00", data, attachment=label(11))
        assert until(lambda: topic.stats().malformed == 4)
        assert len(topic.recv_all()) == 3
        counts = topic.stats()
        assert (counts.lost_transport, counts.duplicates, counts.out_of_order) == (2, 0, 0)
        assert "another version of the message" in caplog.text


def test_the_graph_shows_nodes_and_endpoints_while_they_live(node, backend, name):
    def tokens(kind):
        replies = node.liveliness().get(f"@ros2_lv/{DOMAIN}/*/*/*/{kind}/**", timeout=1.0)
        return [str(reply.ok.key_expr) for reply in replies if reply.ok is not None]

    mangled = "%" + name.replace("/", "%")
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.recv()
        topic.send(Imu.new())
        (owner,) = until(lambda: tokens("NN"))
        pattern = rf"@ros2_lv/{DOMAIN}/([0-9a-f]+)/(\d+)/\2/NN/%/%/(strapdown_\w+)"
        zid, nid, program = re.fullmatch(pattern, owner).groups()
        for kind in ("MS", "MP"):
            (key,) = until(partial(tokens, kind))
            start = f"@ros2_lv/{DOMAIN}/{zid}/{nid}/"
            end = f"/{kind}/%/%/{program}/{mangled}/{TYPE}/{HASH}/::,10:,:,:,,"
            assert key.startswith(start)
            assert key.endswith(end)
            assert key[len(start) : -len(end)].isdecimal()
    assert until(lambda: not tokens("*"))


def test_endpoints_of_ros_programs_are_counted_and_their_type_found(node, backend, name):
    ros2 = import_module("strapdown.transport.links.ros2")
    mangled = "%" + name.replace("/", "%")
    prefix = f"@ros2_lv/{DOMAIN}/aac3178e146ba6f1fc6e6a4085e77f21/0"
    rest = f"%/%/talker/{mangled}/{TYPE}/TypeHashNotSupported/1:2:1,10:,:,:,,"
    assert ros2.find_type(backend, name, 0.2) is None
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.recv()
        publisher = node.liveliness().declare_token(f"{prefix}/10/MP/{rest}")
        subscriber = node.liveliness().declare_token(f"{prefix}/11/MS/{rest}")
        listener = node.declare_subscriber(f"{DOMAIN}/{name}/{TYPE}/{HASH}", print)
        odd = node.liveliness().declare_token(f"{prefix}/12/XX/{rest}x")
        assert topic.wait_for_publisher(5.0)
        assert topic.wait_for_subscriber(5.0)
        publisher.undeclare()
        subscriber.undeclare()
        listener.undeclare()
        odd.undeclare()
        assert until(lambda: topic.stats().publishers == 0)
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.send(Imu.new())
        assert ros2.find_type(backend, name, 5.0) is Imu


def test_another_type_on_a_name_is_refused_naming_both(node, backend, name):
    mangled = "%" + name.replace("/", "%")
    token = node.liveliness().declare_token(
        f"@ros2_lv/{DOMAIN}/aac3178e146ba6f1fc6e6a4085e77f21/0/10/MP/%/%/talker/{mangled}/"
        f"{TYPE}/{HASH}/::,10:,:,:,,"
    )
    with Topic(Imu, name=f"{name}/other", backend=backend) as before:
        before.recv()
        ros2 = import_module("strapdown.transport.links.ros2")
        assert ros2.find_type(backend, name, 5.0) is Imu
        assert until(partial(is_refused, name, backend)), "as soon as its own session knows"
    token.undeclare()


def is_refused(name, backend):
    try:
        Topic(Pose3D, name=name, backend=backend).close()
    except TransportError as error:
        return re.search(r"PoseStamped_, .*Pose3D, others .*Imu_", str(error))
    return False


@pytest.mark.parametrize("qos", ["default", "sensor"])
def test_two_processes_talk(router, backend, name, child, qos):
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.recv()
        assert child(TALKER, router, name, qos).stdout.readline() == "sent\n"
        got = [topic.recv(timeout=5.0).timestamp_ns for _ in range(20)]
        assert got == list(range(20))
        assert topic.stats().lost_transport == 0


def test_who_joins_late_gets_latched_messages(router, name, child):
    assert child(TALKER, router, name, "latched").stdout.readline() == "sent\n"
    latched = Ros2(rmw="zenoh", connect=router, domain=DOMAIN, qos="latched")
    with Topic(Imu, name=name, backend=latched) as topic:
        got = [topic.recv(timeout=5.0).timestamp_ns for _ in range(20)]
        assert got == list(range(20))
        assert topic.recv(timeout=0.2) is None


def test_settings_come_from_the_file_that_ros_programs_read(router, name, tmp_path, monkeypatch):
    settings = tmp_path / "session.json5"
    settings.write_text(
        f'{{mode: "peer", connect: {{endpoints: ["{router}"]}}, '
        'listen: {endpoints: ["tcp/127.0.0.1:0"]}}',
        "utf-8",
    )
    monkeypatch.setenv("ZENOH_SESSION_CONFIG_URI", str(settings))
    with (
        Topic(Imu, name=name, backend=Ros2(rmw="zenoh", domain=DOMAIN)) as one,
        Topic(Imu, name=name, backend=Ros2(rmw="zenoh", domain=DOMAIN, connect=router)) as two,
    ):
        assert one.wait_for_subscriber(5.0)
        one.send(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8))
        assert two.recv(timeout=5.0).timestamp_ns == 8


def test_only_the_loopback_listens(backend, name):
    with Topic(Imu, name=name, backend=backend) as topic:
        topic.recv()
        inodes = set()
        for link in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):
                inodes.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
        addresses = set()
        for table in ("tcp", "tcp6"):
            for line in Path("/proc/self/net", table).read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    addresses.add(fields[1].partition(":")[0])
        assert addresses
        assert addresses <= {"0100007F", "00000000000000000000000001000000"}
