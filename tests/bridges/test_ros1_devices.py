"""Simulated robots on a ROS 1 graph: what plain ROS programs see, call and read."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.bridges.ros1 import Ros1Devices
from strapdown.bridges.ros1.messages import imu_message, ros_name, suffix_of
from strapdown.bridges.ros1.services import SERVICES
from strapdown.errors import ValueRangeError
from strapdown.formats import open as open_recording
from strapdown.simulation import find_motion
from strapdown.webots.api.robot import Robot
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.profiles import PROFILES, find_profile
from strapdown.webots.world.world import World

pytestmark = pytest.mark.xdist_group("transport")

ABSENT = [-1.0] + [0.0] * 8
UNKNOWN = [0.0] * 9
MD5 = {  # of the package webots_ros in its binary releases
    "set_int": "bc437afb45673379bdb9f299f9cbbc9e",
    "get_int": "73dfae6ec9145dcc45d5ed973079e912",
    "get_float": "896e758cc9f93e6fc99057486a02ac6a",
    "get_float_array": "7aae320d0f914d7069b041ff192847e1",
    "get_bool": "155bbaa7eff4769d41b3327e2ec91080",
    "get_string": "3bf99d9257a34f6cdd01cd192a62b3df",
    "get_uint64": "d531f9d37648dc4de8bf2e757ee280a0",
}

# -- without ROS ---------------------------------------------------------------------------------


def test_a_name_for_ros_has_underscores_where_ros_allows_nothing_else():
    assert ros_name("a-b.c d(e)") == "a_b_c_d_e_"
    assert ros_name("left motor::2") == "left_motor__2"


def test_an_accelerometer_fills_one_block_and_marks_the_others_absent():
    message = imu_message("Accelerometer", [1.0, 2.0, 9.81], find_profile("R2025a"))
    np.testing.assert_array_equal(message.linear_acceleration, [1.0, 2.0, 9.81])
    np.testing.assert_array_equal(message.linear_acceleration_covariance, UNKNOWN)
    np.testing.assert_array_equal(message.orientation, [0.0] * 4)
    np.testing.assert_array_equal(message.orientation_covariance, ABSENT)
    np.testing.assert_array_equal(message.angular_velocity, [0.0] * 3)
    np.testing.assert_array_equal(message.angular_velocity_covariance, ABSENT)


@pytest.mark.parametrize("profile", PROFILES)
def test_only_the_documented_profile_says_what_the_noise_of_angles_amounts_to(profile):
    values = [0.1, 0.2, 0.3] if profile == "R2020a" else [0.0, 0.0, 0.0, 1.0]
    message = imu_message("InertialUnit", values, find_profile(profile), noise=0.01)
    variance = (0.01 * math.pi / 2) ** 2 if profile == "documented" else 0.0
    np.testing.assert_allclose(
        message.orientation_covariance.reshape(3, 3), np.eye(3) * variance, rtol=1e-15
    )


def test_R2020a_publishes_its_angles_with_swapped_axes():
    roll, pitch, yaw = 0.2, -0.3, 1.1
    profile = find_profile("R2020a")
    message = imu_message("InertialUnit", [roll, pitch, yaw], profile)
    expected = Rotation.from_euler("YXZ", [pitch, roll, yaw]).as_quat()
    np.testing.assert_allclose(message.orientation, expected, atol=1e-15)
    assert suffix_of("InertialUnit", profile) == "roll_pitch_yaw"


def test_NaN_is_published_as_NaN():
    message = imu_message("Gyro", [math.nan] * 3, find_profile("R2025a"))
    assert np.isnan(message.angular_velocity).all()


# -- with ROS ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ros():
    path = Path(__file__).parents[1] / "ros1_graph.py"
    spec = importlib.util.spec_from_file_location("ros1_graph", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def package(ros, need_peer, tmp_path_factory):
    need_peer("ROS 1", all(map(shutil.which, ros.PROGRAMS)), ros.HOW)
    return str(ros.webots_ros(tmp_path_factory.mktemp("package")))


@pytest.fixture(scope="module")
def shared_graph(ros, package, tmp_path_factory):  # noqa: ARG001 (looks whether ROS is there)
    with ros.Graph(tmp_path_factory.mktemp("graph")) as graph:
        yield graph


CLASSES = """
import io, json
from strapdown.bridges.ros1.services import SERVICES, service_class
import genmsg.msg_loader, genmsg.gentools, genpy.dynamic
VALUES = {"bool": True, "int32": -5, "uint64": 2**63, "float64": 0.1, "float64[]": [1.0, -2.5],
          "string": "gyro \\u00e9"}
def data(message):
    buffer = io.BytesIO()
    message.serialize(buffer)
    return buffer.getvalue()
for name, texts in SERVICES.items():
    ours = service_class(name)
    context = genmsg.msg_loader.MsgContext.create_default()
    spec = genmsg.msg_loader.load_srv_from_string(context, "\\n---\\n".join(texts), ours._type)
    same = []
    for text, kind in zip(texts, (ours._request_class, ours._response_class)):
        value = VALUES[text.split()[0]]
        theirs = genpy.dynamic.generate_dynamic(kind._type, text)[kind._type]
        message = kind(value)
        again = kind().deserialize(data(message))
        same.append(data(message) == data(theirs(value)))
        same.append(getattr(again, text.split()[1]) == value)
        same.append(kind._md5sum == theirs._md5sum and kind._slot_types == theirs._slot_types)
    print(json.dumps([name, ours._type, ours._md5sum,
                      genmsg.gentools.compute_md5(context, spec), same]))
"""


def test_services_made_at_run_time_are_those_of_the_generators_of_ros(shared_graph):
    program = shared_graph.ours(
        "import sys; sys.path.append('/usr/lib/python3/dist-packages')\n" + CLASSES
    )
    for _ in range(8):
        name, full_name, ours, theirs, same = program.hear()
        assert full_name == f"webots_ros/{name}"
        assert ours == theirs == MD5.get(name, theirs)
        assert all(same), name


CLIENT = """
import json, sys, threading
from sensor_msgs.msg import Imu
from webots_ros import srv
rospy.init_node("client", anonymous=True, disable_signals=True)
heard, arrived = {}, threading.Condition()
def take(message, topic):
    h, q, w, a = (message.header, message.orientation, message.angular_velocity,
                  message.linear_acceleration)
    with arrived:
        heard.setdefault(topic, []).append({
            "seq": h.seq, "stamp": h.stamp.to_nsec(), "frame": h.frame_id,
            "orientation": [q.x, q.y, q.z, q.w], "angular_velocity": [w.x, w.y, w.z],
            "linear_acceleration": [a.x, a.y, a.z],
            "covariances": [list(message.orientation_covariance),
                            list(message.angular_velocity_covariance),
                            list(message.linear_acceleration_covariance)],
            "type": message._connection_header["type"]})
        arrived.notify_all()
subscribers, kept = {}, {}
def do(verb, *what):
    if verb == "keep":  # a connection to a service, so that no master is asked for it
        name, kind, value = what
        rospy.wait_for_service(name, 30)
        kept[name] = rospy.ServiceProxy(name, getattr(srv, kind), persistent=True)
        verb, what = "call", (name, kind, value)
    if verb == "call":
        name, kind, value = what
        if name not in kept:
            rospy.wait_for_service(name, 30)
        answer = (kept.get(name) or rospy.ServiceProxy(name, getattr(srv, kind)))(value)
        return getattr(answer, answer.__slots__[0])
    if verb == "listen":
        (topic,) = what
        subscribers[topic] = rospy.Subscriber(topic, Imu, take, topic, tcp_nodelay=True)
        return joined(topic)
    if verb == "heard":
        topic, number = what
        with arrived:
            arrived.wait_for(lambda: len(heard.get(topic, ())) >= number, 30)
            return heard.pop(topic, [])
    if verb == "topics":
        return sorted(name for name, _ in rospy.get_published_topics())
    if verb == "param":
        name, value = what
        return rospy.delete_param(name) if value is None else rospy.set_param(name, value)
for line in sys.stdin:
    try:
        answer = do(*json.loads(line))
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
rospy.signal_shutdown("over")
"""


class Client:
    """A plain rospy program that does what it is told."""

    def __init__(self, ros, graph, package: str) -> None:
        self._program = graph.plain(ros.JOINED + CLIENT, PYTHONPATH=package)

    def call(
        self, name: str, value: object, kind: str = "set_int", *, keep: bool = False
    ) -> object:
        return self._program.ask(["keep" if keep else "call", name, kind, value])

    def listen(self, topic: str) -> None:
        assert self._program.ask(["listen", topic]) == 1

    def heard(self, topic: str, number: int) -> list[dict]:
        """Return what came on a topic, as soon as it is so many messages."""
        return self._program.ask(["heard", topic, number])

    def topics(self) -> list[str]:
        return self._program.ask(["topics"])

    def set_param(self, name: str, value: object) -> None:
        self._program.ask(["param", name, value])


@pytest.fixture(scope="module")
def client(ros, shared_graph, package):
    return Client(ros, shared_graph, package)


@pytest.fixture
def robot(shared_graph):
    """Start a robot with a namespace of its own; it has gone when the test is over."""
    started = []

    def start(*arguments: str, namespace: str) -> object:
        options = ["--namespace", namespace] if namespace else []
        started.append(shared_graph.verb("ros1", "serve", "--world", *arguments, *options))
        return started[-1]

    yield start
    for program in started:
        errors = program.errors
        program.stop()
        assert "Traceback" not in errors


def controller(profile: str, steps: int, periods: dict[str, int], read: str):
    """Return what a controller in this process reads from a device after each step."""
    motion = find_motion("circle")
    world = World(find_world("imu_robot"), profile=profile, motion=motion, seed=3)
    robot = Robot(world)
    for name, period in periods.items():
        robot.devices[name].enable(period)
    device, _, getter = read.partition(".")
    rows = []
    for _ in range(steps):
        robot.step()
        rows.append(getattr(robot.devices[device], getter)())
    return rows


DEVICES = {  # topic, block of the message, what a controller calls
    "inertial unit": ("/inertial_unit/quaternion", "orientation", "getQuaternion"),
    "accelerometer": ("/accelerometer/values", "linear_acceleration", "getValues"),
    "gyro": ("/gyro/values", "angular_velocity", "getValues"),
}
BLOCKS = ["orientation", "angular_velocity", "linear_acceleration"]


@pytest.mark.parametrize("profile", ["documented", pytest.param("R2020a", marks=pytest.mark.slow)])
def test_a_rospy_client_reads_what_a_controller_reads(shared_graph, client, robot, profile):
    options = ["--motion", "circle", "--seed", "3", "--profile", profile, "--synchronize"]
    robot("imu_robot", *options, namespace=profile)
    steps, periods = 4, dict.fromkeys(DEVICES, 10)
    topics = {name: f"/{profile}{topic}" for name, (topic, _, _) in DEVICES.items()}
    if profile == "R2020a":
        topics["inertial unit"] = f"/{profile}/inertial_unit/roll_pitch_yaw"
    for name, topic in topics.items():
        assert client.call(f"/{profile}/{ros_name(name)}/enable", 10) is True
        client.listen(topic)
    before_ns = time.time_ns()
    for _ in range(steps):
        assert client.call(f"/{profile}/robot/time_step", 10) is True
    for name, (_, block, getter) in DEVICES.items():
        angles = profile == "R2020a" and name == "inertial unit"
        rows = controller(
            profile, steps, periods, f"{name}.{'getRollPitchYaw' if angles else getter}"
        )
        messages = client.heard(topics[name], steps)
        assert [message["seq"] for message in messages] == list(range(steps))
        for message, row in zip(messages, rows, strict=True):
            expected = Rotation.from_euler("YXZ", np.array(row)[[1, 0, 2]]).as_quat()
            np.testing.assert_allclose(
                message[block], expected if angles else row, rtol=1e-15, atol=1e-15
            )
            assert message["frame"] == f"{profile}/{ros_name(name)}"
            assert message["type"] == "sensor_msgs/Imu"
            assert before_ns < message["stamp"] < time.time_ns()
            for other, covariance in zip(BLOCKS, message["covariances"], strict=True):
                if other != block:
                    assert set(message[other]) == {0.0}
                    assert covariance == ABSENT
                elif (profile, block) != ("documented", "orientation"):
                    assert covariance == UNKNOWN
                else:
                    expected = (0.001 * math.pi / 2) ** 2 * np.eye(3).ravel()
                    np.testing.assert_allclose(covariance, expected, rtol=1e-12)
    services = shared_graph.run("rosservice", "list").split()
    assert (f"/{profile}/inertial_unit/get_noise" in services) is (profile != "R2020a")


def test_a_period_has_to_be_a_multiple_of_the_step(client, robot):
    served = robot("turntable", "--synchronize", namespace="multiple")
    unit, topic = "/multiple/inertial_unit", "/multiple/inertial_unit/quaternion"
    for period in (13, 4, -8, -1):
        assert client.call(f"{unit}/enable", period) is False
        served.wait_for_error(
            f"Wrong sampling period: {period} for device: inertial unit. Pass a multiple of the "
            "world's basic step, 8 ms; 0 disables it."
        )
    assert client.call(f"{unit}/get_sampling_period", True, "get_int") == 0
    assert topic not in client.topics()
    assert client.call(f"{unit}/enable", 24) is True
    assert client.call(f"{unit}/enable", 16) is True
    assert client.call(f"{unit}/get_sampling_period", True, "get_int") == 16
    assert client.call("/multiple/robot/time_step", 8) is True, "nobody listens yet"
    client.listen(topic)
    for _ in range(5):
        assert client.call("/multiple/robot/time_step", 8) is True
    # at 16, 24, 32 and 48 ms: multiples of one or the other, each once
    assert [message["seq"] for message in client.heard(topic, 4)] == [0, 1, 2, 3]
    assert client.call(f"{unit}/enable", 0) is True
    assert client.call(f"{unit}/get_sampling_period", True, "get_int") == 0
    assert topic not in client.topics()
    assert client.call("/multiple/robot/time_step", 7) is False
    served.wait_for_error(
        "Wrong time step: 7 for robot: turntable. Pass a multiple of the world's basic step, 8 ms."
    )


@pytest.mark.slow
def test_a_step_with_a_fraction_of_a_ms_counts_as_a_controller_counts_it(client, robot, tmp_path):
    world = tmp_path / "fraction.wbt"
    world.write_text(
        "#VRML_SIM R2025a utf8\nWorldInfo { basicTimeStep 7.5 }\n"
        'Robot { name "r" children [ Accelerometer { name "a" } ] }\n',
        "utf-8",
    )
    robot(str(world), "--synchronize", namespace="fraction")
    assert client.call("/fraction/a/enable", 14) is True
    client.listen("/fraction/a/values")
    for _ in range(6):
        assert client.call("/fraction/robot/time_step", 7) is True
    assert len(client.heard("/fraction/a/values", 3)) == 3


def test_stamps_count_simulated_time_and_services_tell_about_devices(client, robot):
    client.set_param("/use_sim_time", True)
    try:
        robot("imu_robot", "--motion", "circle", "--synchronize", namespace="told")
        assert client.call("/told/gyro/enable", 20) is True
    finally:
        client.set_param("/use_sim_time", None)
    client.listen("/told/gyro/values")
    for _ in range(6):
        client.call("/told/robot/time_step", 10)
    stamps = [message["stamp"] for message in client.heard("/told/gyro/values", 3)]
    assert stamps == [20_000_000, 40_000_000, 60_000_000]
    table = [-200.0, -200.0, 0.004, 200.0, 200.0, 0.004]
    assert client.call("/told/accelerometer/get_lookup_table", True, "get_float_array") == table
    assert client.call("/told/inertial_unit/get_noise", True, "get_float") == 0.001
    assert client.call("/told/inertial_unit/get_name", True, "get_string") == "inertial unit"
    assert client.call("/told/led/get_model", True, "get_string") == ""
    for name, number in {"inertial_unit": 46, "gyro": 45, "accelerometer": 35, "gps": 44}.items():
        assert client.call(f"/told/{name}/get_node_type", True, "get_int") == number


def test_a_rospy_client_drives_a_robot_and_reads_how_it_turns(client, robot):
    served = robot("turntable", namespace="lab/one")
    table = "/lab/one/table_motor"
    assert client.call(f"{table}/set_position", math.inf, "set_float") is True
    assert client.call(f"{table}/set_velocity", 2.0, "set_float") is True
    assert client.call("/lab/one/gyro/enable", 8) is True
    client.listen("/lab/one/gyro/values")
    messages = client.heard("/lab/one/gyro/values", 60)
    np.testing.assert_allclose(np.abs(messages[-1]["angular_velocity"]).max(), 2.0, rtol=0.05)
    assert messages[-1]["frame"] == "lab/one/gyro"
    # in its own time: 60 messages of 8 ms are 0.48 s
    assert messages[59]["stamp"] - messages[0]["stamp"] > 0.3e9
    served.process.send_signal(signal.SIGINT)
    assert served.end() == 130


LISTENER = """
import json
from strapdown import Topic
from strapdown.messages import RosImu
names = ["slashes/gyro/values", "/slashes/gyro/values"]
with (Topic(RosImu, name=names[0], backend="ros1") as bare,
      Topic(RosImu, name=names[1], backend="ros1") as slashed):
    messages = [topic.recv(timeout=30.0) for topic in (bare, slashed)]
    print(json.dumps([bare.name, slashed.name, *(message.frame_id for message in messages)]))
"""


def test_names_are_the_same_with_and_without_a_leading_slash(shared_graph, client, robot):
    robot("turntable", namespace="/slashes/")
    assert client.call("/slashes/gyro/enable", 8) is True
    heard = shared_graph.ours(LISTENER).hear()
    assert heard == ["slashes/gyro/values"] * 2 + ["slashes/gyro"] * 2


def test_several_robots_have_their_names_before_those_of_their_devices(client, robot):
    robot("two_arms", namespace="")
    for side in ("left", "right"):
        assert client.call(f"/{side}/motor/get_node_type", True, "get_int") == 57
        assert client.call(f"/{side}/motor/set_position", 0.1, "set_float") is True


@pytest.mark.slow
def test_tools_of_ros_see_the_robot_and_a_signal_keeps_its_recording(
    shared_graph, client, robot, package, tmp_path
):
    path = tmp_path / "run.bag"
    served = robot("imu_robot", "--motion", "circle", "--record", str(path), namespace="seen")
    assert client.call("/seen/gyro/enable", 10) is True
    call = ["rosservice", "call", "/seen/accelerometer/enable", "20"]
    assert shared_graph.run(*call, PYTHONPATH=package).strip() == "success: True"
    echo = shared_graph.run("rostopic", "echo", "-n", "1", "/seen/accelerometer/values")
    assert 'frame_id: "seen/accelerometer"' in echo
    assert "orientation_covariance: [-1.0, 0.0," in echo
    served.process.send_signal(signal.SIGTERM)
    assert served.end() == 143
    assert max(map(len, open_recording(path).imu.values())) >= 20


@pytest.mark.slow
def test_a_robot_goes_on_without_its_master_and_comes_back_with_it(ros, package, tmp_path):
    with ros.Graph(tmp_path) as graph:
        client = Client(ros, graph, package)
        robot = graph.verb("ros1", "serve", "--world", "imu_robot", "--motion", "circle")
        assert client.call("/gyro/enable", 10) is True
        client.listen("/gyro/values")
        assert client.call("/accelerometer/enable", 0, keep=True) is True
        graph.kill_master()
        robot.wait_for_error("does not answer")
        assert "no ROS master answers" in client.call("/accelerometer/enable", 10)["error"]
        client.heard("/gyro/values", 1)
        assert len(client.heard("/gyro/values", 50)) >= 50, "connected topics go on"
        graph.start_master()
        robot.wait_for_error("is back")
        late = Client(ros, graph, package)
        assert late.call("/gyro/get_sampling_period", True, "get_int") == 10
        assert late.call("/accelerometer/enable", 10) is True
        late.listen("/gyro/values")
        assert len(late.heard("/gyro/values", 10)) >= 10
        graph.pause_master()  # it takes connections and says nothing
        robot.process.send_signal(signal.SIGTERM)
        assert robot.end() == 143
        assert "Traceback" not in robot.errors
        assert "out of sync" not in robot.errors


def test_what_cannot_be_served_is_refused_in_one_line(robot, shared_graph, tmp_path):
    world = tmp_path / "twins.wbt"
    world.write_text(
        "#VRML_SIM R2025a utf8\nWorldInfo { }\n"
        'Robot { name "r" children [ Gyro { name "a b" } Gyro { name "a-b" } ] }\n',
        "utf-8",
    )
    twins = robot(str(world), namespace="")
    nowhere = "http://127.0.0.1:1"
    alone = shared_graph.verb("ros1", "serve", "--world", "imu_robot", ROS_MASTER_URI=nowhere)
    assert (twins.end(), alone.end()) == (1, 1)
    assert "service /a_b/get_name twice" in twins.errors
    assert alone.errors.startswith(f"strapdown: no ROS master answers at {nowhere}")
    assert len(alone.errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("robots", "options", "words"),
    [
        (["left", "right"], {"synchronize": True}, "expected one robot"),
        (["left"], {"rate": 0.0}, "expected a rate above 0, got 0"),
        (["left"], {"namespace": "a b"}, "expected a ROS 1 name"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(robots, options, words):
    with pytest.raises(ValueRangeError, match=words):
        Ros1Devices(World(find_world("two_arms")), robots, **options)


def test_a_world_with_a_step_below_a_millisecond_is_refused(tmp_path):
    path = tmp_path / "quick.wbt"
    path.write_text("#VRML_SIM R2025a utf8\nWorldInfo { basicTimeStep 0.5 }\nRobot { }\n", "utf-8")
    with pytest.raises(
        ValueRangeError, match=r"expected a basicTimeStep of 1 ms or more, got 0\.5"
    ):
        Ros1Devices(World(path), ["robot"])


def test_services_are_those_of_the_package_by_their_sums():
    for name, expected in MD5.items():
        text = "".join(SERVICES[name]).encode()
        assert hashlib.md5(text, usedforsecurity=False).hexdigest() == expected
