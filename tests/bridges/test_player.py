"""Recordings onto topics: the same bytes, in the time in which they came."""

from __future__ import annotations

import hashlib
import math
import time
from threading import Thread

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.bridges.live import LiveOptions, Player, Recorder
from strapdown.errors import FormatError, TransportError, UnknownNameError, ValueRangeError
from strapdown.formats.playback import MessageFile
from strapdown.messages import Imu, Pose3D, RosImu, Vector3
from strapdown.transport import Topic

pytestmark = pytest.mark.xdist_group("transport")

ANY_DISK = LiveOptions(min_free_bytes=0)
MS = 1_000_000


@pytest.fixture
def run(tmp_path):
    """A recording of 1 s: an IMU at 100 Hz, and a pose at 10 Hz."""
    path = tmp_path / "run.mcap"
    with Recorder(path, options=ANY_DISK) as recorder:
        recorder.add("imu", Imu)
        recorder.add("pose", Pose3D)
        for number in range(100):
            t_ns = 10**18 + number * 10 * MS
            recorder.write("imu", Imu(0.0, 0.0, 9.81, 0.1, 0.2, number, t_ns), received_ns=t_ns)
            if number % 10 == 0:
                recorder.write("pose", Pose3D(x=number, timestamp_ns=t_ns), received_ns=t_ns)
    return path


@pytest.fixture
def topics():
    with (
        Topic(Imu, name="out/imu", history=0) as imu,
        Topic(Pose3D, name="out/pose", history=0) as pose,
    ):
        yield {"imu": imu, "pose": pose}


def digest(path) -> str:
    """SHA-256 of the payloads of each topic."""
    sums = {}
    for message in MessageFile(path).messages():
        sums.setdefault(message.topic, hashlib.sha256()).update(message.payload)
    return {topic: each.hexdigest() for topic, each in sums.items()}


def playing(player) -> Thread:
    thread = Thread(target=player.run)
    thread.start()
    return thread


def received(topic) -> list[int]:
    return [round(imu.gyro_z) for imu in topic.recv_all()]


def test_playing_and_recording_again_gives_the_same_bytes(tmp_path, run, topics):
    again = tmp_path / "again.mcap"
    with (
        Topic(Imu, name="out/imu", history=0) as imu,
        Topic(Pose3D, name="out/pose", history=0) as pose,
        Recorder(again, options=ANY_DISK) as recorder,
    ):
        recorder.follow(imu, "imu")
        recorder.follow(pose, "pose")
        report = Player(run, topics, rate=math.inf).run()
    assert report.messages == {"imu": 100, "pose": 10}
    assert not report.lost
    assert report.passes == 1
    assert digest(again) == digest(run)


def test_ros_messages_keep_their_bytes_and_frames_too(tmp_path):
    path, again = tmp_path / "a.mcap", tmp_path / "b.mcap"
    with Recorder(path, options=ANY_DISK) as recorder:
        recorder.add("imu/data", RosImu)
        for number in range(20):
            message = RosImu(number * MS, "link" + "_" * number, linear_acceleration=[0, 0, 9.81])
            message.orientation_covariance[0] = -1.0
            message.angular_velocity[1] = math.nan
            recorder.write("imu/data", message)
    with (
        Topic(RosImu, name="out") as out,
        Topic(RosImu, name="out") as heard,
        Recorder(again, options=ANY_DISK) as recorder,
    ):
        recorder.follow(heard, "imu/data")
        Player(path, {"imu/data": out}, rate=math.inf).run()
    assert digest(again) == digest(path)


def test_messages_keep_their_intervals_at_any_rate(run, topics):
    with Topic(Imu, name="out/imu", history=0) as heard:
        thread = playing(Player(run, topics, rate=4.0))
        times = []
        while len(times) < 100:
            assert heard.recv(timeout=10.0) is not None
            times.append(time.monotonic())
        thread.join()
    assert times[-1] - times[0] > 0.2  # 0.99 s four times as fast
    assert times[-1] - times[0] < 5.0
    assert times[50] - times[0] > 0.1


def test_what_lies_before_the_start_is_left_out(run, topics):
    report = Player(run, topics, rate=math.inf, start_s=0.5).run()
    assert report.messages == {"imu": 50, "pose": 5}
    assert received(topics["imu"]) == list(range(50, 100))


def test_what_lies_from_the_end_on_is_left_out(run, topics):
    report = Player(run, topics, rate=math.inf, start_s=0.2, stop_s=0.5).run()
    assert report.messages == {"imu": 30, "pose": 3}
    assert received(topics["imu"]) == list(range(20, 50))
    with pytest.raises(ValueRangeError, match="an end after the start"):
        Player(run, topics, start_s=0.5, stop_s=0.5)


def test_chosen_topics_alone_are_played(run, topics):
    report = Player(run, topics, rate=math.inf, topics=["pose"]).run()
    assert report.messages == {"pose": 10}


def test_a_topic_that_the_recording_does_not_have_is_an_error(tmp_path, run, topics):
    files.write(tmp_path / "run.npz", files.open(run))
    for path in (run, tmp_path / "run.npz"):
        with pytest.raises(UnknownNameError, match="'pose'"):
            Player(path, topics, rate=math.inf, topics=["poses"]).run()
    assert not topics["pose"].recv_all()


def test_a_loop_begins_again_until_it_is_stopped(run, topics):
    player = Player(run, topics, rate=math.inf, loop=True)
    thread = playing(player)
    end = time.monotonic() + 10.0
    while player.report().passes < 3:
        assert time.monotonic() < end
        time.sleep(0.005)
    player.stop()
    thread.join(10.0)
    assert player.report().messages["imu"] >= 300


def test_a_pause_holds_everything_back_and_a_seek_goes_elsewhere(run, topics):
    player = Player(run, topics)
    player.paused = True
    thread = playing(player)
    time.sleep(0.3)
    assert not player.report().messages
    player.seek(0.9)
    player.paused = False
    thread.join(10.0)
    assert received(topics["imu"]) == list(range(90, 100))
    assert player.position_s == pytest.approx(0.99)
    assert player.duration_s == pytest.approx(0.99)


def test_the_rate_may_change_on_the_way(run, topics):
    player = Player(run, topics, rate=0.01)
    thread = playing(player)
    time.sleep(0.1)
    assert player.position_s < 0.5
    player.rate = math.inf
    thread.join(10.0)
    assert received(topics["imu"]) == list(range(100))


def test_topics_that_nobody_wants_are_counted(run, topics):
    report = Player(run, {"imu": topics["imu"]}, rate=math.inf).run()
    assert report.messages == {"imu": 100}
    assert report.skipped == {"pose": 10}


def test_a_topic_of_another_dialect_gets_converted_messages(run):
    with Topic(RosImu, name="out/ros") as out:
        Player(run, {"imu": out}, rate=math.inf, topics=["imu"]).run()
        message = out.recv()
    assert message.header_stamp_ns == 10**18
    assert message.linear_acceleration.tolist() == [0.0, 0.0, 9.81]


def test_what_a_topic_of_another_dialect_cannot_hold_is_counted(tmp_path):
    path = tmp_path / "run.mcap"
    with Recorder(path, options=ANY_DISK) as recorder:
        recorder.add("imu/data", RosImu)
        for frame in ("", "link", "link"):
            recorder.write("imu/data", RosImu(1, frame))
    with Topic(Imu, name="out/plain") as out:
        report = Player(path, {"imu/data": out}, rate=math.inf).run()
    assert report.messages == {"imu/data": 3}
    assert report.left_out == {"frame_id": 2}


def test_a_topic_that_there_is_no_conversion_to_is_an_error(run):
    with (
        Topic(Vector3, name="out/vector") as out,
        pytest.raises(TransportError, match="Imu and Vector3"),
    ):
        Player(run, {"imu": out}, rate=math.inf).run()


def test_every_other_format_is_played_in_the_order_of_its_stamps(tmp_path, run, topics):
    bag = tmp_path / "run.bag"
    files.write(bag, files.open(run))
    with Topic(RosImu, name="out/ros") as ros:
        targets = {"imu": ros, "pose": topics["pose"]}
        report = Player(bag, targets, rate=math.inf).run()
        stamps = [message.header_stamp_ns for message in ros.recv_all()]
    assert report.messages == {"imu": 100, "pose": 10}
    assert stamps == [10**18 + number * 10 * MS for number in range(100)]


def test_a_file_that_was_not_finished_is_played_to_its_end(tmp_path, run, topics):
    raw = run.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(raw[: raw.rindex(b"\x0f\x04\0\0\0\0\0\0\0")])  # without data end and summary
    report = Player(cut, topics, rate=math.inf).run()
    assert report.messages == {"imu": 100, "pose": 10}
    assert report.lost  # it says so


def test_damage_is_counted_and_the_rest_is_played(tmp_path, run, topics):
    raw = bytearray(run.read_bytes())
    raw[len(raw) // 3] ^= 0x40
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(raw)
    report = Player(broken, topics, rate=math.inf).run()
    assert report.lost


def test_a_message_that_a_topic_refuses_is_counted_and_the_others_are_sent(
    run, topics, monkeypatch
):
    send = Topic.send

    def refuse(self, message):
        if isinstance(message, Imu) and message.gyro_z == 7.0:
            raise ValueRangeError("beyond its field")
        return send(self, message)

    monkeypatch.setattr(Topic, "send", refuse)
    report = Player(run, topics, rate=math.inf).run()
    assert report.messages == {"imu": 99, "pose": 10}
    assert report.lost == ("imu: 1 message refused: beyond its field",)


def test_to_look_where_playing_is_reads_nothing(run, topics, monkeypatch):
    player = Player(run, topics, rate=math.inf)
    with monkeypatch.context() as patched:
        patched.setattr(MessageFile, "messages", None)
        assert player.position_s == 0.0
        assert player.duration_s is None
    player.run()
    assert player.duration_s == pytest.approx(0.99)


def test_nonsense_is_refused(tmp_path, run):
    with pytest.raises(ValueRangeError, match="rate above 0"):
        Player(run, {}, rate=0.0)
    for start_s in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueRangeError, match="0 s or more"):
            Player(run, {}, start_s=start_s)
    with pytest.raises(FileNotFoundError):
        Player(tmp_path / "none.mcap", {})
    (tmp_path / "text").write_text("no recording")
    with pytest.raises(FormatError, match="expected"):
        Player(tmp_path / "text", {}).run()


def test_hostile_files_raise_format_errors_only(tmp_path, run, topics):
    raw, rng = run.read_bytes(), np.random.default_rng(5)
    bad = tmp_path / "bad.mcap"
    for _ in range(100):
        mutant = bytearray(raw[: rng.integers(9, len(raw) + 1)])
        for at in rng.integers(8, len(mutant), rng.integers(1, 17)):
            mutant[at] ^= 1 << rng.integers(8)
        bad.write_bytes(mutant)
        try:
            Player(bad, topics, rate=math.inf, start_s=rng.choice([0.0, 0.5])).run()
        except FormatError:
            continue
