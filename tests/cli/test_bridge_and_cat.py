"""``strapdown bridge`` and ``strapdown cat``: topics between processes, and files."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown import ImuSeries, Increments, Trajectory
from strapdown.cli._app import app
from strapdown.cli._meaning import meaning
from strapdown.cli._rows import message_fields
from strapdown.errors import TransportError
from strapdown.formats import Recording
from strapdown.messages import Imu, Pose3D, RosImu, VehicleAttitude, VehicleImu
from strapdown.transport import Topic
from strapdown.transport.wire import MESSAGE_TYPES

pytestmark = pytest.mark.xdist_group("transport")

COMMAND = str(Path(sys.executable).with_name("strapdown"))
MS = 1_000_000
runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, list(map(str, arguments)))


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout[done.stdout.index("{\n") :]), done


@pytest.fixture
def name():
    return f"t{os.getpid()}_{uuid4().hex[:8]}"


@pytest.fixture
def sending():
    """Send a message on a topic again and again, until the test ends."""
    stop = threading.Event()
    threads = []

    def begin(topic, message):
        def send():
            with suppress(TransportError):  # the test has closed it
                while not stop.wait(0.005):
                    topic.send(message)

        threads.append(threading.Thread(target=send))
        threads[-1].start()

    yield begin
    stop.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def imu_file(tmp_path):
    rows = np.arange(4.0)[:, None] * np.ones(3)
    series = ImuSeries(np.arange(4) * MS, rows * 0.1, rows + 9.0)
    strapdown.write(tmp_path / "imu.csv", series)
    return tmp_path / "imu.csv"


@pytest.fixture
def mixed_file(tmp_path):
    rows = np.ones((3, 3))
    recording = Recording(
        imu={"a": ImuSeries(np.arange(3) * 2 * MS, rows, rows)},
        increments={
            "b": Increments(
                np.array([MS, 3 * MS, 5 * MS]), rows, rows, np.full(3, MS), np.full(3, MS)
            )
        },
    )
    strapdown.write(tmp_path / "mixed.npz", recording)
    return tmp_path / "mixed.npz"


# bridge


def test_messages_pass_from_one_topic_to_another(name, sending):
    imu = Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7)
    with (
        Topic(Imu, name=name, backend="local") as source,
        Topic(Imu, name=f"{name}_out", backend="local") as out,
    ):
        sending(source, imu)
        report, done = run_json("bridge", f"local:{name}", f"local:{name}_out", "--duration", "0.5")
        got = out.recv_all()
    assert done.exit_code == 0, done.output
    assert report["types"] == ["Imu", "Imu"]
    assert report["received"] == report["sent"] == len(got) > 10
    assert set(map(bytes, got)) == {bytes(imu)}


def test_types_and_a_frame_are_taken_from_the_command_line(name, sending):
    with (
        Topic(Imu, name=name, backend="local") as source,
        Topic(RosImu, name=f"{name}_out", backend="local") as out,
    ):
        sending(source, Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7))
        target = f"local:{name}_out?type=RosImu"
        arguments = ["--duration", "0.3", "--frame-id", "imu_link"]
        report, done = run_json("bridge", f"local:{name}", target, *arguments)
        assert done.exit_code == 0, done.output
        assert out.recv().frame_id == "imu_link"
    assert report["types"] == ["Imu", "RosImu"]


def test_fields_that_do_not_fit_are_named(name, sending):
    with (
        Topic(RosImu, name=name, backend="local") as source,
        Topic(Imu, name=f"{name}_out", backend="local"),
    ):
        sending(source, RosImu(7, "imu_link"))
        done = run(
            "bridge",
            f"local:{name}?type=RosImu",
            f"local:{name}_out?type=Imu",
            *("--duration", "0.3"),
        )
    assert done.exit_code == 0
    assert "left out: frame" in done.stdout


def test_messages_that_cannot_be_converted_are_a_loss(name, sending):
    with (
        Topic(Imu, name=name, backend="local") as source,
        Topic(VehicleImu, name=f"{name}_out", backend="local"),
    ):
        sending(source, Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7))  # all at the same time
        target = f"local:{name}_out?type=VehicleImu"
        report, done = run_json("bridge", f"local:{name}", target, "--duration", "0.3")
    assert done.exit_code == 3
    assert report["refused"] == report["received"] - 1 > 0
    assert "could not be sent" in report["lost"][0]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["local:a", "local:a"], "two topics"),
        (["local:a", "auto:/a"], "two topics"),
        (["local:a", "local:b", "--duration", "0"], "--duration"),
        (["local:a", "local:b", "--duration", "nan"], "--duration"),
        (["local:a", "local:b", "--frame-id", "x"], "--frame-id"),
        (["ros1:/a", "ros1:a", "--frame-id", "x"], "two topics"),
        (["ros2:/a?domain=0", "ros2:/a?qos=sensor&frame_id=x"], "two topics"),
    ],
)
def test_a_bridge_that_makes_no_sense_is_a_usage_error(arguments, reason):
    done = run("bridge", "--duration", "1", *arguments)
    assert done.exit_code == 2
    assert reason in done.stderr


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("imu.mcap", "local:b", "expected BACKEND:NAME"),
        ("locl:a", "local:b", "nearest names: 'local'"),
        ("local:a?domain=1", "local:b", "no option of local 'domain'"),
        ("local:a", "local:b?type=Pose3D", "Imu and Pose3D"),
        ("local:a b", "local:b", "unexpected ' '"),
        ("local:a", "zenoh:b", "expected an endpoint"),
    ],
)
def test_a_wrong_address_is_one_line(source, target, reason, monkeypatch):
    monkeypatch.delenv("STRAPDOWN_ZENOH_CONNECT", raising=False)
    monkeypatch.delenv("STRAPDOWN_ZENOH_LISTEN", raising=False)
    done = run("bridge", source, target, "--duration", "1")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()[-1:]
    assert reason in line


def test_domains_are_two_places(monkeypatch):
    monkeypatch.setattr("strapdown.cli.bridge.await_type", lambda *_, **__: (None, False))
    report, done = run_json("bridge", "ros2:/a?domain=1", "ros2:/a?domain=2")
    assert done.exit_code == 0
    assert (report["source"], report["target"]) == ("ros2:/a?domain=1", "ros2:/a?domain=2")
    assert (report["types"], report["received"], report["refused"]) == ([], 0, 0)


@pytest.mark.parametrize("verb", ["cat", "bridge"])
def test_what_cannot_be_read_is_a_loss(verb, name, monkeypatch):
    monkeypatch.setattr("strapdown.cli.cat.GLANCE_S", 0.1)
    with Topic(Imu, name=name, backend="local") as topic:
        topic._ring.note(malformed=2)  # as links do
        line = [f"local:{name}"]
        done = run(verb, *line, *([f"local:{name}_out", "--duration", "0.1"] * (verb == "bridge")))
    assert done.exit_code == 3
    assert "2 messages could not be read" in done.stderr


def test_the_time_of_a_bridge_includes_that_of_waiting(name, need_peer):
    need_peer("iceoryx2", find_spec("iceoryx2"), "pip install iceoryx2")
    report, done = run_json("bridge", f"ipc:{name}", f"local:{name}", "--duration", "0.5")
    assert (done.exit_code, report["received"]) == (0, 0)
    assert f"waiting for ipc:{name}\n" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_bridge_waits_for_its_source_and_ends_with_a_signal(name, need_peer, number, code):
    need_peer("iceoryx2", find_spec("iceoryx2"), "pip install iceoryx2")
    command = [COMMAND, "bridge", f"ipc:{name}", f"ipc:{name}_out", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr.readline() == f"waiting for ipc:{name}\n"
            pose = Pose3D(1.0, 2.0, 3.0, timestamp_ns=4)
            with Topic(Pose3D, name=name, backend="ipc") as source:
                source.send(pose)
                line = f"forwarding ipc:{name} (Pose3D) to ipc:{name}_out (Pose3D)\n"
                assert process.stderr.readline() == line
                with Topic(Pose3D, name=f"{name}_out", backend="ipc") as out:
                    assert out.recv(timeout=30.0) == pose
            process.send_signal(number)
            report = json.loads(process.communicate(timeout=30)[0])
        finally:
            process.kill()
    assert process.returncode == report["exit"] == code
    assert report["sent"] == 1


def test_a_bridge_joins_horus_and_a_local_topic(name, need_peer, sending):
    need_peer("horus", find_spec("horus"), "pip install 'strapdown[horus]'")
    imu = Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7)
    with (
        Topic(Imu, name=name, backend="local") as source,
        subprocess.Popen(
            [sys.executable, "-c", HORUS_READER, name], stdout=subprocess.PIPE, text=True
        ) as reader,
    ):
        try:
            sending(source, imu)
            assert reader.stdout.readline() == "ready\n"
            done = run("bridge", f"local:{name}", f"horus:{name}", "--duration", "0.5")
            assert done.exit_code == 0, done.output
            assert reader.communicate(timeout=30)[0] == "1.0 0.3 7\n"
        finally:
            reader.kill()


HORUS_READER = """
import sys, time, horus
topic = horus.Topic(horus.Imu, endpoint=sys.argv[1])
topic.recv()
print("ready", flush=True)
while (imu := topic.recv()) is None:
    time.sleep(0.01)
print(imu.accel_x, imu.gyro_z, imu.timestamp_ns)
"""


# cat, of files


def test_a_file_is_printed_as_a_table(imu_file):
    done = run("cat", imu_file, "--count", "2")
    assert done.exit_code == 0
    topic, heading, *rows = done.stdout.splitlines()
    assert topic == "imu"
    assert heading.split() == [
        "t_ns",
        *(f"{n}_{axis}" for n in ("gyro", "accel") for axis in "xyz"),
    ]
    assert len(heading) == len(rows[0])
    assert [list(map(float, row.split())) for row in rows] == [
        [0, 0, 0, 0, 9, 9, 9],
        [MS, 0.1, 0.1, 0.1, 10, 10, 10],
    ]
    assert "2 messages" in done.stderr


def test_a_file_is_printed_as_csv(imu_file):
    done = run("cat", imu_file, "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [int(row["t_ns"]) for row in rows] == [0, MS, 2 * MS, 3 * MS]
    assert float(rows[3]["specific_force_z"]) == 12.0
    assert float(rows[3]["angular_velocity_x"]) == 0.1 * 3.0


def test_a_file_is_printed_as_json_lines_of_all_topics_in_time(mixed_file):
    done = run("cat", mixed_file, "--format", "ndjson")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["topic"], row["t_ns"] // MS) for row in rows] == [
        (topic, k) for k, topic in enumerate("ababab")
    ]
    assert rows[1]["delta_angle"] == [1.0, 1.0, 1.0]
    assert rows[1]["delta_angle_dt_ns"] == MS


def test_a_table_begins_anew_where_the_topic_changes(mixed_file):
    lines = run("cat", mixed_file).stdout.splitlines()
    assert lines[::3] == ["a", "b"] * 3


def test_one_topic_of_a_file_is_chosen(mixed_file):
    rows = run("cat", mixed_file, "--topic", "b", "--format", "csv").stdout.splitlines()
    assert len(rows) == 4
    done = run("cat", mixed_file, "--topic", "c")
    assert done.exit_code == 1
    assert "nearest names" in done.stderr
    done = run("cat", mixed_file, "--format", "csv")
    assert done.exit_code == 2
    assert "--topic" in done.stderr


def test_what_is_not_finite_is_null_in_json(tmp_path):
    series = ImuSeries([0], [[np.nan, np.inf, 1.0]], [[0.0, 0.0, 0.0]])
    strapdown.write(tmp_path / "imu.npz", series)
    (line,) = run("cat", tmp_path / "imu.npz", "--format", "ndjson").stdout.splitlines()
    assert json.loads(line)["angular_velocity"] == [None, None, 1.0]


def test_a_damaged_file_gives_what_it_holds(imu_file):
    imu_file.write_text(imu_file.read_text() + "broken\n")
    done = run("cat", imu_file, "--format", "csv")
    assert (done.exit_code, len(done.stdout.splitlines())) == (3, 5)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    zero = np.zeros((20_000, 3))
    strapdown.write(tmp_path / "imu.npz", ImuSeries(np.arange(20_000), zero, zero))
    command = f"{COMMAND} cat {tmp_path}/imu.npz --format csv | head -n 2"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False, timeout=60
    )
    assert len(done.stdout.splitlines()) == 2
    assert (done.returncode, b"Error" in done.stderr) == (0, False)


def test_a_closed_output_is_no_error(imu_file):
    for closed in (">&-", ">&- 2>&-"):
        done = subprocess.run(
            ["bash", "-c", f"{COMMAND} cat {imu_file} {closed}"],
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, b"Error" in done.stderr) == (0, False)


def test_a_report_that_nobody_reads_to_its_end_is_no_error():
    command = f"{COMMAND} sensors | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_each_topic_of_a_file_says_what_its_numbers_mean(mixed_file):
    done = run("cat", mixed_file, "--format", "ndjson")
    assert done.stderr.splitlines()[:2] == [
        "a: ImuSeries, rad/s and m/s^2, body FLU",
        "b: Increments, rad and m/s, body FLU",
    ]
    assert run("cat", mixed_file, "--quiet").stderr == ""


def test_the_frames_of_a_file_are_said(tmp_path):
    rows = np.zeros((1, 3))
    attitude = {"q_world_from_body": [[0.0, 0.0, 0.0, 1.0]], "world": "NED", "body": "FRD"}
    recording = Recording(
        imu={"imu": ImuSeries([0], rows, rows, magnetic_field=rows, **attitude)},
        trajectories={"path": Trajectory([0], position_world=rows, **attitude)},
    )
    strapdown.write(tmp_path / "all.npz", recording)
    imu, path = run("cat", tmp_path / "all.npz").stderr.splitlines()[:2]
    assert imu.startswith("imu: ImuSeries, rad/s and m/s^2, body FRD; magnetic field in T; ")
    assert imu.endswith("; orientation xyzw, NED from FRD")
    assert path == "path: Trajectory, m and m/s, NED; orientation xyzw, NED from FRD"


@pytest.mark.parametrize("kind", MESSAGE_TYPES.values())
def test_every_type_of_messages_says_what_its_numbers_mean(kind):
    name, _, text = meaning(kind).partition(", ")
    assert name == kind.__name__
    assert text != meaning(type("Own", (), {})).partition(", ")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["imu.csv", "-f"], 2, "--follow"),
        (["local:imu", "--topic", "imu"], 2, "--topic"),
        (["local:imu", "--count", "0"], 2, "--count"),
        (["nothing.mcap"], 1, "No such file"),
        (["zenho:imu"], 1, "nearest names: 'zenoh'"),
        (["-"], 1, "standard input: expected MCAP"),
    ],
)
def test_what_cannot_be_printed_is_one_line(arguments, code, reason):
    done = run("cat", *arguments)
    assert done.exit_code == code
    assert reason in done.stderr


# cat, live


def test_a_live_topic_is_printed_until_there_are_enough(name, sending):
    imu = Imu(1.0, 2.0, np.nan, 0.1, 0.2, 0.3, 7)
    with Topic(Imu, name=name, backend="local") as source:
        sending(source, imu)
        done = run("cat", f"local:{name}", "--count", "3", "--format", "ndjson")
    assert done.stderr.splitlines()[0] == (
        f"{name}: Imu, rad/s and m/s^2, body FLU; orientation xyzw, ENU from FLU"
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.exit_code, len(rows)) == (0, 3)
    assert rows[0]["topic"] == name
    assert rows[0]["linear_acceleration"] == [1.0, 2.0, None]
    assert rows[0]["orientation_covariance"] == [-1.0] * 9
    assert rows[0]["timestamp_ns"] == 7


def test_a_table_of_a_live_topic_leaves_covariances_out(name, sending):
    with Topic(RosImu, name=name, backend="local") as source:
        sending(source, RosImu(7, "a\x1b[31mb", angular_velocity=[1.0, 2.0, 3.0]))
        done = run("cat", f"local:{name}?type=RosImu", "--count", "1")
    topic, heading, row = done.stdout.splitlines()
    assert topic == name
    assert row.split()[:2] == ["7", "a\N{REPLACEMENT CHARACTER}[31mb"]
    assert len(heading.split()) == len(row.split()) == 2 + 4 + 3 + 3


def test_long_names_are_whole_and_quaternions_of_px4_begin_with_w(name, sending):
    with Topic(VehicleAttitude, name=name, backend="local") as source:
        message = VehicleAttitude(timestamp=7)
        message.q[:] = [1.0, 2.0, 3.0, 4.0]
        sending(source, message)
        done = run("cat", f"local:{name}?type=VehicleAttitude", "--count", "1")
    _, heading, row = done.stdout.splitlines()
    cells = dict(zip(heading.split(), row.split(), strict=True))
    assert [float(cells[f"q_{axis}"]) for axis in "wxyz"] == [1.0, 2.0, 3.0, 4.0]
    assert len(heading) == len(row)
    assert "delta_q_reset_w" in cells


def test_without_more_words_a_live_topic_is_looked_at_for_a_second(name, monkeypatch):
    began = time.monotonic()
    done = run("cat", f"local:{name}")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "0 messages in 1 s; --follow waits for more\n"
    assert 0.9 < time.monotonic() - began < 20.0
    monkeypatch.setattr("strapdown.cli.cat.GLANCE_S", 0.1)
    with Topic(Imu, name=name, backend="local") as source:
        source.send(Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 7))
        report, _ = run_json("cat", f"local:{name}")
    assert report["messages"] == 1


def test_what_is_lost_on_the_way_is_said(name, monkeypatch):
    monkeypatch.setattr("strapdown.cli.cat.GLANCE_S", 0.1)
    with Topic(Imu, 4, name=name, backend="local") as source:
        source.send(Imu.new())
        flood = iter(range(10))

        def fields(message):
            for _ in flood:  # while the first is printed
                source.send(message)
            return message_fields(message)

        monkeypatch.setattr("strapdown.cli.cat.message_fields", fields)
        done = run("cat", f"local:{name}")
    assert done.exit_code == 3
    assert "6 messages overwritten" in done.stderr


def test_following_a_topic_of_another_process_ends_with_a_signal(name, need_peer):
    need_peer("iceoryx2", find_spec("iceoryx2"), "pip install iceoryx2")
    command = [COMMAND, "cat", f"ipc:{name}", "-f", "--format", "ndjson"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr.readline() == f"waiting for ipc:{name}\n"
            with Topic(Pose3D, name=name, backend="ipc") as topic:
                for k in range(3):
                    topic.send(Pose3D(float(k), 2.0, 3.0))
                    assert json.loads(process.stdout.readline())["position"] == [k, 2.0, 3.0]
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
