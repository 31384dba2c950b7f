"""Topics to a file: what comes back, and what is counted."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.bridges.live import LiveOptions, Recorder
from strapdown.errors import RecordError
from strapdown.formats.playback import MessageFile
from strapdown.messages import (
    FluidPressure,
    Imu,
    MagneticField,
    NavSatFix,
    Odometry,
    Pose2D,
    Pose3D,
    Quaternion,
    RosImu,
    SensorAccel,
    SensorAccelFifo,
    SensorCombined,
    SensorGyro,
    SensorGyroFifo,
    SensorSelection,
    Twist,
    TwistWithCovarianceStamped,
    Vector3,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleImuStatus,
    VehicleOdometry,
)
from strapdown.transport import Ipc, Topic, Zenoh
from strapdown.transport.wire import MESSAGE_TYPES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("transport")

ANY_DISK = LiveOptions(min_free_bytes=0)


def messages() -> list[object]:
    """One of every type, its numbers different."""
    rng = np.random.default_rng(4)

    def px4(kind):
        made = kind(timestamp=1_000_000)
        if "timestamp_sample" in kind.dtype.names:
            made.timestamp_sample = 999_000
        for field in kind.fields:
            if field.kind == "float32":
                values = rng.normal(size=field.times or 1).astype(np.float32)
                setattr(made, field.name, values if field.times else float(values[0]))
        return made

    imu = Imu(*rng.normal(size=6), timestamp_ns=1_000_000_000)
    imu.angular_velocity_covariance = rng.normal(size=9)
    ros = RosImu(1_000_000_000, "imu_link", angular_velocity=rng.normal(size=3))
    odometry = Odometry(1.0, 2.0, 0.5)
    odometry.timestamp_ns = 1_000_000_000
    odometry.frame_id = "odom"
    kinds = (
        SensorAccel,
        SensorAccelFifo,
        SensorCombined,
        SensorGyro,
        SensorGyroFifo,
        SensorSelection,
        VehicleAcceleration,
        VehicleAngularVelocity,
        VehicleAttitude,
        VehicleImu,
        VehicleImuStatus,
        VehicleOdometry,
    )
    fix = NavSatFix(1_000_000_000, "gps", latitude=47.4, longitude=8.5, altitude=480.0)
    return [
        imu,
        ros,
        fix,
        FluidPressure(1_000_000_000, "baro", 95_000.0),
        MagneticField(1_000_000_000, "imu_link", (2e-5, 0.0, -4e-5)),
        odometry,
        Pose3D(*rng.normal(size=7), timestamp_ns=1_000_000_000),
        Pose2D(1.0, 2.0, 0.5),
        Twist(),
        TwistWithCovarianceStamped(1_000_000_000, "gps", (1.0, 2.0, 0.5), covariance=(0.1,) * 36),
        Vector3(*rng.normal(size=3)),
        Quaternion(*rng.normal(size=4)),
        *map(px4, kinds),
    ]


def test_a_message_of_every_type_reads_back_equal(tmp_path):
    path, sent = tmp_path / "run.mcap", messages()
    assert {type(message) for message in sent} == set(MESSAGE_TYPES.values())
    with Recorder(path, options=ANY_DISK) as recorder:
        for message in sent:
            recorder.add(type(message).__name__, type(message))
            assert recorder.write(type(message).__name__, message, received_ns=5)
    played = {each.topic: each for each in MessageFile(path).messages()}
    for message in sent:
        back = played[type(message).__name__]
        assert back.t_ns == 5
        assert back.form.decode(back.payload) == message


def test_series_are_read_of_the_types_that_have_one(tmp_path):
    path = tmp_path / "run.mcap"
    with Recorder(path, options=ANY_DISK) as recorder:
        for message in messages():
            recorder.add(type(message).__name__, type(message))
            recorder.write(type(message).__name__, message)
    recording = files.open(path)
    assert {"Imu", "RosImu", "SensorCombined"} <= set(recording.imu)
    assert {"Pose3D", "Odometry", "VehicleAttitude", "VehicleOdometry"} == set(
        recording.trajectories
    )
    assert list(recording.increments) == ["VehicleImu"]
    assert recording.gnss["NavSatFix"].altitude.tolist() == [480.0]
    assert recording.barometers["FluidPressure"].pressure.tolist() == [95_000.0]
    assert recording.report.skipped.keys() == {
        "Pose2D",
        "Quaternion",
        "Twist",
        "TwistWithCovarianceStamped",  # of no receiver
        "Vector3",
        "SensorAccelFifo",
        "SensorGyroFifo",
        "SensorSelection",
        "VehicleImuStatus",
    }
    assert recording.trajectories["Odometry"].position_world.tolist() == [[1.0, 2.0, 0.0]]


def test_everything_that_topics_carry_is_recorded_with_when_it_came(tmp_path):
    path = tmp_path / "run.mcap"
    before = time.time_ns()
    with (
        Topic(Imu, name="imu") as imu,
        Topic(RosImu, name="imu/data") as ros,
        Recorder(path, [imu, ros], options=ANY_DISK) as recorder,
        Topic(Imu, name="imu") as first,
        Topic(RosImu, name="imu/data") as second,
    ):
        for number in range(300):
            first.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, number, number))
            second.send(RosImu(number, "imu_link"))
        recorder.close()
        assert recorder.report().messages == {"imu": 300, "imu/data": 300}
    recording = files.open(path)
    assert recording.imu["imu"].angular_velocity[:, 2].tolist() == list(range(300))
    assert recording.imu["imu/data"].t_ns.tolist() == list(range(300))
    assert recording.imu["imu/data"].sensor.name == "imu_link"
    for message in MessageFile(path).messages():
        assert before <= message.t_ns <= time.time_ns()


def test_a_recorder_ends_after_as_many_messages_as_wanted(tmp_path):
    with (
        Topic(Imu) as topic,
        Recorder(tmp_path / "run.mcap", [topic], count=10, options=ANY_DISK) as recorder,
    ):
        assert not recorder.wait(0.0)
        for number in range(50):
            topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        assert recorder.wait(10.0)
    assert files.open(tmp_path / "run.mcap").imu["imu"].t_ns.tolist() == list(range(10))


def test_what_gave_way_before_it_was_received_is_counted(tmp_path, monkeypatch):
    with Topic(Imu, capacity=8) as topic:
        recorder = Recorder(tmp_path / "run.mcap", options=ANY_DISK)
        write = recorder.write

        def slowly(*args, **options):
            time.sleep(0.05)
            return write(*args, **options)

        monkeypatch.setattr(recorder, "write", slowly)
        recorder.follow(topic)
        with Topic(Imu) as sender:
            for number in range(101):
                sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
                until(lambda: recorder.messages)  # it has begun
            report = recorder.close()
    kept = report.messages["imu"]
    assert kept < 101
    assert report.lost == (f"imu: {101 - kept} messages overwritten before they were received",)


def test_a_topic_begins_behind_what_gives_way_while_it_is_joined(tmp_path):
    path, numbers, calls = tmp_path / "run.mcap", itertools.count(), itertools.count()
    bursts = {1: 150, 40: 100}  # sent between two calls, before the recorder has caught up

    def send(count):
        for number in itertools.islice(numbers, count):
            sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))

    class Busy(Topic):
        def recv_with_info(self, timeout=0.0):
            send(bursts.get(next(calls), 0))
            return super().recv_with_info(timeout)

    with Busy(Imu, capacity=64) as topic, Topic(Imu) as sender:
        send(64)
        with Recorder(path, [topic], options=ANY_DISK) as recorder:
            until(lambda: recorder.messages)
            send(10)
            until(lambda: recorder.messages >= 74)
        report = recorder.report()
    kept = files.open(path).imu["imu"].t_ns.tolist()
    assert kept == list(range(250, 324))  # 64 of 314, and those that came later
    assert report.lost == ()
    assert report.notes == (
        (
            "imu: begins with message 250: retained ones before it were overwritten while the "
            "topic was joined"
        ),
    )


PUBLISHER = """
import sys, time
from strapdown.messages import Imu
from strapdown.transport import *
with Topic(Imu, name=sys.argv[1], backend=eval(sys.argv[2])) as topic:
    number, due = 0, time.monotonic()
    while True:
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        number += 1
        due += 0.001
        if number == 1500:
            print("full", flush=True)
        time.sleep(max(0.0, due - time.monotonic()))
"""


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("Ipc()", Ipc()),
        pytest.param(
            "Zenoh(listen=('tcp/127.0.0.1:17447',))",
            Zenoh(connect=("tcp/127.0.0.1:17447",)),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["ipc", "zenoh"],
)
def test_a_recording_of_a_live_topic_has_the_holes_that_it_reports(
    tmp_path, there, here, need_peer
):
    if here.name == "zenoh":
        need_peer("zenoh", find_spec("zenoh"), "pip install 'strapdown[network]'")
    name = f"live{os.getpid()}"
    command = [sys.executable, "-c", PUBLISHER, name, there]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "full\n"  # it retains as much as it can
            for attempt in range(3):
                path = tmp_path / f"{attempt}.mcap"
                with (
                    Topic(Imu, name=name, backend=here) as topic,
                    Recorder(path, [topic], options=ANY_DISK) as recorder,
                ):
                    until(lambda: recorder.messages > 300)
                    lost = recorder.close().lost
                steps = np.diff(files.open(path).imu[name].t_ns)
                assert (steps >= 1).all()
                words = [int(word) for line in lost for word in line.split() if word.isdigit()]
                assert sum(words) == (steps - 1).sum()
        finally:
            process.kill()


def until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def test_what_waits_at_the_end_is_written_however_long_that_takes(tmp_path, monkeypatch):
    with Topic(Imu) as topic, Topic(Imu) as sender:
        recorder = Recorder(tmp_path / "run.mcap", options=ANY_DISK)
        write = recorder.write

        def slowly(*args, **options):
            time.sleep(0.001)
            return write(*args, **options)

        monkeypatch.setattr(recorder, "write", slowly)
        topic.try_recv()
        for number in range(600):
            sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        recorder.follow(topic)
        report = recorder.close()
    assert report.messages == {"imu": 600}
    assert not report.lost


def test_a_message_that_does_not_fit_the_file_is_counted_and_the_others_are_written(tmp_path):
    path = tmp_path / "run.mcap"
    with Recorder(path, options=ANY_DISK) as recorder:
        recorder.add("pose", Pose3D)
        assert recorder.write("pose", Pose3D(timestamp_ns=1))
        assert not recorder.write("pose", Pose3D(timestamp_ns=2**63))  # beyond 32 bits of seconds
        assert recorder.write("pose", Pose3D(timestamp_ns=3))
    (line,) = recorder.report().lost
    assert line.startswith("pose: 1 message refused: ")
    assert files.open(path).trajectories["pose"].t_ns.tolist() == [1, 3]


def test_a_name_stands_for_one_type(tmp_path):
    with Recorder(tmp_path / "run.mcap", options=ANY_DISK) as recorder:
        recorder.add("imu", Imu)
        recorder.add("imu", Imu)
        with pytest.raises(TypeError, match="imu is recorded as Imu, got RosImu"):
            recorder.add("imu", RosImu)
        with pytest.raises(TypeError, match="imu takes Imu, got Pose3D"):
            recorder.write("imu", Pose3D())


def test_what_comes_after_the_end_is_refused_and_not_counted(tmp_path):
    with Recorder(tmp_path / "run.mcap", options=ANY_DISK) as recorder:
        recorder.add("imu", Imu)
        recorder.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
    with pytest.raises(RecordError, match="was closed"):
        recorder.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
    assert recorder.messages == 1


def test_a_topic_that_ends_first_is_counted_and_the_file_is_whole(tmp_path):
    path = tmp_path / "run.mcap"
    with Topic(Imu) as topic:
        recorder = Recorder(path, [topic], options=ANY_DISK)
        topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 5))
        end = time.monotonic() + 10.0
        while not recorder.messages:
            assert time.monotonic() < end
            time.sleep(0.01)
    (line,) = recorder.close().lost
    assert line.startswith("imu: ended early: ")
    assert "closed" in line
    assert files.open(path).imu["imu"].t_ns.tolist() == [5]


def test_an_error_while_receiving_is_counted_and_other_topics_are_recorded(tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    with Topic(Imu, name="a") as bad, Topic(Imu, name="b") as good:
        recorder = Recorder(path, options=ANY_DISK)
        write = recorder.write

        def fail(name, *args, **options):
            if name == "a":
                raise RuntimeError("broken")
            return write(name, *args, **options)

        monkeypatch.setattr(recorder, "write", fail)
        for topic in (bad, good):
            recorder.follow(topic)
            topic.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 5))
        report = recorder.close()
    assert report.lost == ("a: ended early: broken",)
    assert report.messages == {"b": 1}


def test_types_of_a_users_own_are_refused(tmp_path):
    class Mine:
        pass

    with (
        Recorder(tmp_path / "run.mcap", options=ANY_DISK) as recorder,
        pytest.raises(TypeError, match=r"Mine: its messages cannot be written"),
    ):
        recorder.add("mine", Mine)


def test_the_end_of_the_disk_ends_the_recorder_and_leaves_the_publisher_alone(tmp_path):
    path = tmp_path / "run.mcap"
    with Topic(Imu) as topic, Topic(Imu) as sender:
        recorder = Recorder(path, [topic], options=ANY_DISK)
        sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
        path.unlink()
        end = time.monotonic() + 10.0
        while not recorder.wait(0.01):
            sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
            assert time.monotonic() < end
        assert sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1))
        with pytest.raises(RecordError, match="removed"):
            recorder.close()
        assert not path.exists()
        recorder.close()  # said once


# A recorder that is killed

KILLED = """
import os, sys, time
from pathlib import Path
import strapdown.formats.mcap.bulk
from strapdown import Topic
from strapdown.bridges.live import LiveOptions, Recorder
from strapdown.messages import Imu

def record(path):
    heard, topic = (Topic(Imu, backend="local") for _ in range(2))
    recorder = Recorder(path, [heard], options=LiveOptions(min_free_bytes=0))
    due = time.monotonic()
    for number in range(1, 100_000):
        topic.send(Imu(*[number / 7] * 6, number))
        os.write(1, b"%s %d %d\\n" % (path.stem.encode(), number, time.monotonic_ns()))
        due += 0.001
        time.sleep(max(0.0, due - time.monotonic()))

for path in map(Path, sys.argv[1:]):
    child = os.fork()
    if not child:
        record(path)
    os.write(1, b"%s pid %d\\n" % (path.stem.encode(), child))
for _ in sys.argv[1:]:
    os.wait()
"""


@pytest.mark.slow
def test_twenty_killed_recorders_at_1_khz_lose_no_more_than_a_quarter_of_a_second(tmp_path):
    worst = 0.0
    for batch in range(5):
        paths = [tmp_path / f"{batch}{letter}.mcap" for letter in "abcd"]
        delays = {path.stem: 0.3 + 0.137 * n + 0.031 * batch for n, path in enumerate(paths)}
        ledgers = kill_each(paths, delays)
        for path in paths:
            given = ledgers[path.stem]
            recording = files.open(path, on_error="salvage")  # as it is, without repair
            kept = recording.imu["imu"].t_ns.tolist()
            assert kept == list(range(1, len(kept) + 1))
            lost = given[len(kept) :]
            lost_s = (lost[-1] - lost[0]) / 1e9 if lost else 0.0
            worst = max(worst, lost_s)
            assert lost_s <= 0.25 or len(lost) * Imu.dtype.itemsize <= 2**16
            assert len(given) > 50
    assert worst > 0.0  # they were killed at work


def kill_each(paths: list[Path], delays: dict[str, float]) -> dict[str, list[int]]:
    """Start a writer for each path, kill it in its time; return when it wrote each message."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, *paths], stdout=subprocess.PIPE, bufsize=0
    )
    ledgers: dict[str, list[int]] = {path.stem: [] for path in paths}
    pids: dict[str, int] = {}
    starts: dict[str, float] = {}
    for raw in process.stdout:
        name, *words = raw.decode().split()
        if words[0] == "pid":
            pids[name] = int(words[1])
            continue
        starts.setdefault(name, time.monotonic())
        ledgers[name].append(int(words[1]))
        for other in [each for each in pids if each in starts]:
            if time.monotonic() - starts[other] > delays[other]:
                os.kill(pids.pop(other), signal.SIGKILL)
    assert process.wait(10) == 0
    process.stdout.close()
    return ledgers
