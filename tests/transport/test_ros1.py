"""Topics on a ROS 1 graph: plain ROS programs at the other end, a real master between them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import ValueRangeError
from strapdown.series import ImuSeries
from strapdown.transport.links.ros1.node import graph_name

pytestmark = pytest.mark.xdist_group("transport")

NUMBERS = [round(0.25 * (i + 1), 2) for i in range(37)]
"""The 37 numbers of sensor_msgs/Imu, all different and exact."""


@pytest.fixture(scope="module")
def ros(need_peer):
    path = Path(__file__).parents[1] / "ros1_graph.py"
    spec = importlib.util.spec_from_file_location("ros1_graph", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    need_peer("ROS 1", all(map(shutil.which, module.PROGRAMS)), module.HOW)
    return module


@pytest.fixture(scope="module")
def shared_graph(ros, tmp_path_factory):
    with ros.Graph(tmp_path_factory.mktemp("graph")) as graph:
        yield graph


@pytest.fixture
def graph(ros, tmp_path):
    with ros.Graph(tmp_path) as graph:
        yield graph


# A program of strapdown, and one of plain rospy, that do what they are told.

OURS = """
import json, os, sys, threading, time
from strapdown.messages import Imu, Pose3D, RosImu, VehicleAttitude
from strapdown.transport.backends import Ros1
from strapdown.transport.topic import Topic
topics, types = {}, {"Imu": Imu, "RosImu": RosImu, "Pose3D": Pose3D, "Attitude": VehicleAttitude}
def fields(message):
    if message is None:
        return None
    if isinstance(message, RosImu):
        return [message.header_stamp_ns, message.frame_id, message.block.tolist()]
    if isinstance(message, Pose3D):
        return [message.timestamp_ns, *message.position, *message.orientation]
    return [message.timestamp_ns, [*message.orientation, *message.orientation_covariance,
            *message.angular_velocity, *message.angular_velocity_covariance,
            *message.linear_acceleration, *message.linear_acceleration_covariance]]
def do(verb, name, *what):
    if verb == "open":
        kind, options = what
        backend = options.pop("backend", None) or Ros1(frame_id=options.pop("frame_id", ""))
        topics[name] = Topic(types[kind], name=name, backend=backend, **options)
        return topics[name].backend_type
    topic = topics[name]
    if verb == "send":
        numbers, stamp_ns = what
        imu = Imu.from_bytes(bytes(296) + stamp_ns.to_bytes(8, "little"))
        imu.orientation, imu.orientation_covariance = numbers[:4], numbers[4:13]
        imu.angular_velocity, imu.angular_velocity_covariance = numbers[13:16], numbers[16:25]
        imu.linear_acceleration, imu.linear_acceleration_covariance = numbers[25:28], numbers[28:]
        return topic.send(imu)
    if verb == "recv":
        return fields(topic.recv(timeout=what[0]))
    if verb == "take":  # so many messages
        messages = [topic.recv(timeout=30.0) for _ in range(what[0])]
        return [message and fields(message) for message in messages]
    if verb == "drain":
        return [message.timestamp_ns for message in iter(topic.recv, None)]
    if verb == "wait":
        who = {"sub": topic.wait_for_subscriber, "pub": topic.wait_for_publisher}
        return who[what[0]](30.0)
    if verb == "stats":
        return {key: getattr(topic.stats(), key) for key in
                ("sent", "received", "lost_overwritten", "lost_transport", "malformed",
                 "publishers", "subscribers", "problem")}
    if verb == "close":
        return topics.pop(name).close()
    if verb == "resources":
        names = sorted(thread.name for thread in threading.enumerate())
        return [threading.active_count(), len(os.listdir("/proc/self/fd")), names]
for line in sys.stdin:
    try:
        answer = do(*json.loads(line))
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
"""

PLAIN = """
import json, sys, threading
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Imu
from std_msgs.msg import String
rospy.init_node("plain", anonymous=True, disable_signals=True)
publishers, heard, arrived = {}, {}, threading.Condition()
types = {"Imu": Imu, "String": String, "PoseStamped": PoseStamped}
class Garbage(Imu):
    def serialize(self, buffer):
        buffer.write(b"garbage!" * 5)
def fields(message):
    h = message.header
    head = [h.seq, h.stamp.to_nsec(), h.frame_id]
    if isinstance(message, PoseStamped):
        p, q = message.pose.position, message.pose.orientation
        return [*head, p.x, p.y, p.z, q.x, q.y, q.z, q.w]
    q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    return [*head, [q.x, q.y, q.z, q.w, *message.orientation_covariance,
                    w.x, w.y, w.z, *message.angular_velocity_covariance,
                    a.x, a.y, a.z, *message.linear_acceleration_covariance]]
def take(message, topic):
    with arrived:
        heard.setdefault(topic, []).append(fields(message))
        arrived.notify_all()
def connected(publisher, number=1):
    end = time.monotonic() + 30.0
    while publisher.get_num_connections() < number and time.monotonic() < end:
        time.sleep(0.01)
    return publisher.get_num_connections()
listeners = []
def do(verb, name, *what):
    if verb == "listen":
        listeners.append(rospy.Subscriber(name, types[what[0]], take, name, tcp_nodelay=True))
        return joined(name)
    if verb == "heard":
        with arrived:
            arrived.wait_for(lambda: len(heard.get(name, ())) >= what[0], 30)
            return heard.pop(name, [])
    if verb == "advertise":
        publishers[name] = rospy.Publisher(name, types[what[0]], queue_size=100000)
        return True
    if verb == "connected":
        return connected(publishers[name], *what)
    if verb == "publish":
        frame_id, stamp_ns, n = what
        message = Imu()
        message.header.frame_id = frame_id
        message.header.stamp = rospy.Time(*divmod(stamp_ns, 10**9))
        (message.orientation.x, message.orientation.y,
         message.orientation.z, message.orientation.w) = n[:4]
        (message.angular_velocity.x, message.angular_velocity.y,
         message.angular_velocity.z) = n[13:16]
        (message.linear_acceleration.x, message.linear_acceleration.y,
         message.linear_acceleration.z) = n[25:28]
        message.orientation_covariance = n[4:13]
        message.angular_velocity_covariance = n[16:25]
        message.linear_acceleration_covariance = n[28:]
        publishers[name].publish(message)
        return True
    if verb == "burst":  # at once, as soon as anybody listens
        publisher = rospy.Publisher(name, Imu, queue_size=what[0])
        end = time.monotonic() + 30.0
        while not publisher.get_num_connections() and time.monotonic() < end:
            pass
        for number in range(what[0]):
            message = Imu()
            message.header.stamp = rospy.Time(1, number)
            publisher.publish(message)
        publishers[name] = publisher
        return True
    if verb == "skip":  # as if messages were lost on the way
        publishers[name].impl.seq += what[0]
        return True
    if verb == "garbage":
        publishers[name].publish(Garbage())
        return True
for line in sys.stdin:
    print(json.dumps(do(*json.loads(line))), flush=True)
rospy.signal_shutdown("over")
"""


@pytest.fixture(scope="module")
def ours(shared_graph):
    return shared_graph.ours(OURS)


@pytest.fixture(scope="module")
def plain(ros, shared_graph):
    return shared_graph.plain(ros.JOINED + PLAIN)


def test_names_that_ros_does_not_allow_are_refused():
    assert graph_name("imu/data_raw") == "/imu/data_raw"
    for name, character in (("imu.data", "."), ("my-imu", "-"), ("2nd", "2"), ("_x", "_")):
        with pytest.raises(ValueRangeError, match=f"got '[{character}]' in"):
            graph_name(name)


def test_a_plain_subscriber_reads_every_field_and_the_header(ours, plain):
    ours.ask(["open", "out/data", "Imu", {"frame_id": "imu_link"}])
    assert plain.ask(["listen", "/out/data", "Imu"]) == 1
    stamp_ns = 1_700_000_000_123_456_789
    assert ours.ask(["wait", "out/data", "sub"]) is True
    assert ours.ask(["send", "out/data", NUMBERS, stamp_ns]) is True
    assert ours.ask(["send", "out/data", NUMBERS, stamp_ns + 1]) is True
    assert plain.ask(["heard", "/out/data", 2]) == [
        [0, stamp_ns, "imu_link", NUMBERS],
        [1, stamp_ns + 1, "imu_link", NUMBERS],
    ]
    assert ours.ask(["recv", "out/data", 0.0]) == [stamp_ns, NUMBERS], "the sender hears itself"
    assert ours.ask(["stats", "out/data"])["subscribers"] == 1 + 1, "this handle and theirs"


def test_a_plain_publisher_is_read_in_every_field(ours, plain):
    for name, kind in (("in/ros", "RosImu"), ("in/horus", "Imu")):
        ours.ask(["open", name, kind, {}])
        plain.ask(["advertise", f"/{name}", "Imu"])
        assert plain.ask(["connected", f"/{name}"]) == 1
        plain.ask(["publish", f"/{name}", "base", 5_000_000_007, NUMBERS])
    assert ours.ask(["recv", "in/ros", 10.0]) == [5_000_000_007, "base", NUMBERS]
    assert ours.ask(["recv", "in/horus", 10.0]) == [5_000_000_007, NUMBERS]


def test_every_message_that_a_publisher_sends_at_once_when_it_is_connected_arrives(ours, plain):
    for number in range(5):
        name = f"burst_{number}"
        ours.ask(["open", name, "RosImu", {}])
        plain.ask(["burst", f"/{name}", 200])
        stamps = [message[0] for message in ours.ask(["take", name, 200])]
        assert stamps == [10**9 + number for number in range(200)]
        assert ours.ask(["stats", name])["lost_transport"] == 0


def test_an_absent_orientation_is_said_in_the_words_of_each_side(ours, plain):
    ours.ask(["open", "absent", "Imu", {}])
    plain.ask(["advertise", "/absent", "Imu"])
    assert plain.ask(["listen", "/absent", "Imu"])
    assert plain.ask(["connected", "/absent", 2]) == 2, "itself and ours"
    theirs = [*NUMBERS[:4], -1.0, *[0.0] * 8, *NUMBERS[13:]]
    horus = [*NUMBERS[:4], *[-1.0] * 9, *NUMBERS[13:]]
    plain.ask(["publish", "/absent", "", 1, theirs])
    assert ours.ask(["recv", "absent", 10.0]) == [1, horus]
    plain.ask(["heard", "/absent", 1])
    ours.ask(["send", "absent", horus, 2])
    ((_, stamp_ns, _, numbers),) = plain.ask(["heard", "/absent", 1])
    assert (stamp_ns, numbers) == (2, theirs)


def test_numbers_that_are_missing_count_as_lost_and_garbage_as_malformed(ours, plain):
    ours.ask(["open", "gaps", "Imu", {}])
    plain.ask(["advertise", "/gaps", "Imu"])
    plain.ask(["connected", "/gaps"])
    assert ours.ask(["recv", "gaps", 0.0]) is None
    for stamp_ns in (1, 2):
        plain.ask(["publish", "/gaps", "", stamp_ns, NUMBERS])
    plain.ask(["skip", "/gaps", 5])
    plain.ask(["publish", "/gaps", "", 3, NUMBERS])
    plain.ask(["garbage", "/gaps"])
    plain.ask(["publish", "/gaps", "", 4, NUMBERS])
    assert ours.ask(["take", "gaps", 4]) == [[stamp_ns, NUMBERS] for stamp_ns in (1, 2, 3, 4)]
    stats = ours.ask(["stats", "gaps"])
    assert (stats["received"], stats["malformed"]) == (4, 1)
    assert stats["lost_transport"] == 5


def test_another_type_on_the_name_is_refused_with_both_names(ours, plain):
    plain.ask(["advertise", "/taken", "String"])
    error = ours.ask(["open", "taken", "Imu", {}])["error"]
    assert error.startswith("TransportError: topic /taken")
    assert "std_msgs/String" in error
    assert "sensor_msgs/Imu" in error
    error = ours.ask(["open", "attitude", "Attitude", {}])["error"]
    assert error.startswith("TransportError: ROS 1 has no message for VehicleAttitude")


def test_the_type_of_a_topic_is_found(shared_graph, plain):
    plain.ask(["advertise", "/found/imu", "Imu"])
    plain.ask(["advertise", "/found/pose", "PoseStamped"])
    plain.ask(["advertise", "/found/text", "String"])
    program = shared_graph.ours(
        "from strapdown.transport.backends import Ros1\n"
        "from strapdown.transport.links.ros1 import find_type\n"
        "import json\n"
        "kinds = [find_type(Ros1(), f'/found/{x}', 1.0) for x in ('imu', 'pose', 'none')]\n"
        "try: find_type(Ros1(), '/found/text', 1.0)\n"
        "except Exception as error: said = str(error)\n"
        "print(json.dumps([*(kind and kind.__name__ for kind in kinds), said]))"
    )
    *kinds, said = program.hear()
    assert kinds == ["Imu", "Pose3D", None]
    assert "carries std_msgs/String; expected one of sensor_msgs/msg/Imu" in said


def test_a_magnetic_field_goes_to_a_ros_program_and_back(shared_graph):
    shared_graph.plain(
        "import rospy\n"
        "from sensor_msgs.msg import MagneticField\n"
        "rospy.init_node('echo', disable_signals=True)\n"
        "back = rospy.Publisher('/mag/back', MagneticField, queue_size=1, latch=True)\n"
        "listener = rospy.Subscriber('/mag/out', MagneticField, back.publish)\n"
        "import sys; sys.stdin.read()"
    )
    ours = shared_graph.ours(
        "from strapdown import Topic\n"
        "from strapdown.messages import MagneticField\n"
        "sent = MagneticField(12_000_000_034, 'here', (2e-5, 0.0, -4e-5), (1e-14, *[0.5] * 8))\n"
        "out, back = (Topic(MagneticField, name=f'mag/{x}', backend='ros1')"
        " for x in ('out', 'back'))\n"
        "assert out.wait_for_subscriber(30.0)\n"
        "out.send(sent)\n"
        "print('true' if back.recv(timeout=30.0) == sent else 'false')"
    )
    assert ours.hear() is True


def test_the_tools_of_ros_see_a_topic(shared_graph, ours):
    ours.ask(["open", "seen/imu", "Imu", {"frame_id": "here"}])
    echo = shared_graph.plain(
        "import subprocess, json\n"
        "command = ['rostopic', 'echo', '-n', '1', '-p', '/seen/imu']\n"
        "print(json.dumps(subprocess.run(command, capture_output=True, text=True).stdout))"
    )
    assert ours.ask(["wait", "seen/imu", "sub"]) is True
    ours.ask(["send", "seen/imu", NUMBERS, 12_000_000_034])
    names, row = (line.split(",") for line in echo.hear().splitlines())
    said = dict(zip(names, row, strict=True))
    assert said["field.header.stamp"] == "12000000034"
    assert said["field.header.frame_id"] == "here"
    assert float(said["field.linear_acceleration.z"]) == NUMBERS[27]


def test_a_program_that_ends_delivers_what_it_sent_and_does_not_hang(shared_graph, ours):
    ours.ask(["open", "last/poses", "Pose3D", {}])
    program = shared_graph.ours(
        "from strapdown.messages import Pose3D\n"
        "from strapdown.transport.topic import Topic\n"
        "topic = Topic(Pose3D, name='last/poses', backend='ros1')\n"
        "assert topic.wait_for_subscriber(30.0)\n"
        "for i in range(300):\n"
        "    topic.send(Pose3D(1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5, i))\n"
    )
    poses = ours.ask(["take", "last/poses", 300])
    assert poses == [[i, 1.0, 2.0, 3.0, 0.5, -0.5, 0.5, 0.5] for i in range(300)]
    assert program.end() == 0, program.errors


def test_a_fork_is_told_that_it_has_no_node(shared_graph):
    program = shared_graph.ours(
        "import os, json\n"
        "from strapdown.errors import TransportError\n"
        "from strapdown.messages import Imu\n"
        "from strapdown.transport.topic import Topic\n"
        "topic = Topic(Imu, name='forked', backend='ros1')\n"
        "topic.send(Imu.new())\n"
        "read, write = os.pipe()\n"
        "if not os.fork():\n"
        "    try:\n"
        "        Topic(Imu, name='another', backend='ros1').send(Imu.new())\n"
        "    except TransportError as error:\n"
        "        os.write(write, str(error).encode())\n"
        "    os._exit(0)\n"
        "print(json.dumps(os.read(read, 1000).decode()))\n"
        "os.wait()\n"
        "topic.send(Imu.new())\n"
    )
    assert "starts no second one in a process or its forks" in program.hear()
    assert program.end() == 0, program.errors


LISTENING = """
import json, os
from pathlib import Path
from strapdown.messages import Imu
from strapdown.transport.topic import Topic
topic = Topic(Imu, name="loopback", backend="ros1")
topic.recv(timeout=0.0)
mine = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")}
rows = [line.split() for name in ("tcp", "tcp6", "udp", "udp6")
        for line in Path("/proc/net", name).read_text().splitlines()[1:]]
print(json.dumps([row[1].split(":")[0] for row in rows
                  if row[3] == "0A" and f"socket:[{row[9]}]" in mine]))
"""


def test_a_node_with_its_master_on_this_host_listens_to_this_host_only(shared_graph):
    program = shared_graph.ours(f"import os; del os.environ['ROS_IP']\n{LISTENING}")
    addresses = program.hear()
    assert len(addresses) >= 2
    assert set(addresses) == {"0100007F"}


def test_without_a_master_or_ros_one_line_says_what_to_do(shared_graph, tmp_path):
    code = (
        "import json\n"
        "from strapdown.errors import TransportError\n"
        "from strapdown.messages import Imu\n"
        "from strapdown.transport.topic import Topic\n"
        "try:\n"
        "    Topic(Imu, name='imu', backend='ros1').send(Imu.new())\n"
        "except TransportError as error:\n"
        "    print(json.dumps(str(error)))\n"
    )
    nowhere = "http://127.0.0.1:1"
    missing = shared_graph.ours(code, STRAPDOWN_ROS1_PATH=str(tmp_path))
    nobody = shared_graph.ours(code, ROS_MASTER_URI=nowhere)
    assert "apt install --no-install-recommends python3-rospy" in missing.hear()
    assert nobody.hear().startswith(f"no ROS master answers at {nowhere}")
    assert nobody.end() == 0, nobody.errors


@pytest.mark.slow
def test_topics_go_on_without_their_master_and_are_known_again_when_it_returns(ros, graph):
    sender, receiver = graph.ours(OURS), graph.ours(OURS)
    for program in (sender, receiver):
        program.ask(["open", "imu", "Imu", {}])
    assert sender.ask(["wait", "imu", "sub"]) is True
    receiver.ask(["recv", "imu", 0.0])
    graph.kill_master()
    sender.wait_for_error("does not answer")
    assert "master does not answer" in sender.ask(["stats", "imu"])["problem"]
    sender.ask(["send", "imu", NUMBERS, 1])
    assert receiver.ask(["recv", "imu", 10.0]) == [1, NUMBERS]
    graph.start_master()
    end = time.monotonic() + 15.0
    while True:
        publishers, subscribers, _ = (dict(part) for part in graph.master("getSystemState"))
        if len(publishers.get("/imu", ())) == len(subscribers.get("/imu", ())) == 2:
            break
        assert time.monotonic() < end, (publishers, subscribers)
        time.sleep(0.05)
    late = graph.plain(ros.JOINED + PLAIN)
    assert late.ask(["listen", "/imu", "Imu"]) >= 1
    sender.ask(["send", "imu", NUMBERS, 2])
    assert [row[1] for row in late.ask(["heard", "/imu", 1])] == [2]
    assert receiver.ask(["recv", "imu", 10.0]) == [2, NUMBERS]
    assert receiver.ask(["stats", "imu"])["lost_transport"] == 0
    assert not sender.ask(["stats", "imu"])["problem"]


VICTIMS = """
import json, os, signal, sys, time
from strapdown.messages import Imu
from strapdown.transport.topic import Topic
import strapdown.transport.links.ros1.node as node
node.load("sensor_msgs.msg"), node.load("rospy.impl.registration")
def victim(ready, sends):
    topic = Topic(Imu, name="shot", backend="ros1")
    found = topic.wait_for_subscriber(30.0) if sends else topic.wait_for_publisher(30.0)
    os.write(ready, b"y" if found else b"n")
    while True:
        if sends:
            topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, os.getpid()))
        else:
            topic.recv(timeout=0.0)
        time.sleep(0.05)
for line in sys.stdin:
    number, sends = json.loads(line)
    read, write = os.pipe()
    pids = []
    for _ in range(number):
        pid = os.fork()
        if not pid:
            try:
                victim(write, sends)
            finally:
                os.write(write, b"x")
                os._exit(1)
        pids.append(pid)
    said = b""
    while len(said) < number:
        said += os.read(read, number)
    print(json.dumps([said.decode(), pids]), flush=True)
    sys.stdin.readline()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(read), os.close(write)
    print("0", flush=True)
"""


@pytest.mark.slow
def test_a_hundred_killed_publishers_and_subscribers_leave_nothing_behind(graph):
    survivor, victims = graph.ours(OURS), graph.ours(VICTIMS)
    survivor.ask(["open", "shot", "Imu", {}])
    survivor.ask(["recv", "shot", 0.0])

    def shoot(number: int, *, sends: bool) -> None:
        graph.forget_dead_nodes("/shot")  # or masters and nodes call whoever has their ports now
        said, pids = victims.ask([number, sends])
        assert said == "y" * number
        missing, end = set(pids if sends else ()), time.monotonic() + 60.0
        while missing:
            missing -= set(survivor.ask(["drain", "shot"]))
            assert time.monotonic() < end, f"nothing came from {missing}"
            time.sleep(0.02)
        assert victims.ask(0) == 0

    for sends in (True, False):
        shoot(3, sends=sends)
    time.sleep(0.5)
    *few, _ = survivor.ask(["resources", "shot"])
    for _ in range(5):
        shoot(10, sends=True)
        shoot(10, sends=False)
    survivor.ask(["send", "shot", NUMBERS, 1])
    end = time.monotonic() + 60.0
    while True:
        *now, names = survivor.ask(["resources", "shot"])
        if now[0] <= few[0] + 5 and now[1] <= few[1] + 5:  # the master keeps some connections
            break
        assert time.monotonic() < end, f"{few} threads and files became {now}: {names}"
        time.sleep(0.2)
    stats = survivor.ask(["stats", "shot"])
    assert stats["lost_overwritten"] == 0
    # rospy may connect twice to a busy publisher, and drops the first connection with what it holds
    assert stats["lost_transport"] < 50, "none is lost because a publisher has gone"


def test_the_rosbag_of_the_system_reads_a_bag_of_ours(shared_graph, tmp_path):
    bag = tmp_path / "y.bag"
    samples = np.random.default_rng(1).standard_normal((2000, 6))
    series = ImuSeries(10**18 + np.arange(2000) * 2_500_001, samples[:, :3], samples[:, 3:])
    files.write(bag, series)
    info = shared_graph.run("rosbag", "info", "--yaml", str(bag))
    assert "type: sensor_msgs/Imu" in info
    assert "md5: 6a62c6daae103f4ff57a132d6f95cec2" in info
    reader = shared_graph.plain(
        "import json, sys, rosbag\n"
        "with rosbag.Bag(sys.argv[1]) as bag:\n"
        "    rows = [[m.header.seq, m.header.stamp.to_nsec(), m.angular_velocity.x,\n"
        "             m.linear_acceleration.z] for topic, m, t in bag.read_messages()\n"
        "            if m._type == 'sensor_msgs/Imu']\n"
        "print(json.dumps(rows))".replace("sys.argv[1]", json.dumps(str(bag)))
    )
    rows = reader.hear()
    assert [row[0] for row in rows] == list(range(len(series)))
    assert [row[1] for row in rows] == series.t_ns.tolist()
    assert [row[2] for row in rows] == series.angular_velocity[:, 0].tolist()
    assert [row[3] for row in rows] == series.specific_force[:, 2].tolist()


@pytest.mark.slow
def test_verbs_bridge_and_record_between_the_graph_and_this_host(ros, graph, tmp_path):
    name = f"bridged_{os.getpid()}"
    plain, here = graph.plain(ros.JOINED + PLAIN), graph.ours(OURS)
    path = tmp_path / "run.mcap"
    plain.ask(["advertise", "/robot/imu", "Imu"])
    into = graph.verb("bridge", "ros1:/robot/imu", f"ipc:{name}_in")
    out = graph.verb("bridge", f"ipc:{name}_out", "ros1:/back", "--frame-id", "there")
    recorder = graph.verb("record", "ros1:/robot/imu", "--output", str(path), "--count", "2")
    here.ask(["open", f"{name}_in", "Imu", {"backend": "ipc"}])
    here.ask(["open", f"{name}_out", "Imu", {"backend": "ipc"}])
    here.ask(["recv", f"{name}_in", 0.0])
    number = plain.ask(["connected", "/robot/imu", 2])
    assert number == 2, into.errors + recorder.errors
    for stamp_ns in (1, 2):
        plain.ask(["publish", "/robot/imu", "base", stamp_ns, NUMBERS])
    assert here.ask(["recv", f"{name}_in", 30.0]) == [1, NUMBERS]
    assert here.ask(["wait", f"{name}_out", "sub"]) is True
    assert plain.ask(["listen", "/back", "Imu"]) == 1
    here.ask(["send", f"{name}_out", NUMBERS, 7])
    assert [row[1:] for row in plain.ask(["heard", "/back", 1])] == [[7, "there", NUMBERS]]
    assert recorder.end() == 0, recorder.errors
    for program in (into, out):
        program.process.send_signal(signal.SIGTERM)
        assert program.end() == 0, program.errors
    (series,) = files.open(path).imu.values()
    assert series.t_ns.tolist() == [1, 2]


@pytest.mark.slow
def test_the_promises_of_every_backend_are_kept(graph):
    suite = Path(__file__).with_name("test_conformance.py")
    # a process of its own: rospy has one node, and neither it nor its warnings are ever gone
    options = ["-q", "-n0", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", str(suite)]
    said = graph.run(sys.executable, "-m", "pytest", *options, STRAPDOWN_ROS1_GRAPH="1")
    assert "passed" in said
