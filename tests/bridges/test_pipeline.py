"""Pipelines: each part does what it does alone, all begin and end as one, none kills another."""

from __future__ import annotations

import doctest
import json
import os
import threading
import time
import uuid
from importlib import resources
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from mcap.reader import make_reader

import strapdown
from strapdown.bridges.live.pipeline import Pipeline, State, pipeline, stages
from strapdown.calibration import ImuCalibration, save_calibration
from strapdown.errors import FormatError, TransportError
from strapdown.estimation import FILTERS, VqfFilter, VqfParams
from strapdown.messages import Imu, Pose3D, conversion
from strapdown.sensors import load_profile
from strapdown.simulation import find_motion, simulate
from strapdown.transport import Topic
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.batch import measure
from strapdown.webots.world.world import World

PATIENCE_S = 60.0
DEVICE = """
[device.imu]
motion = "wander"
rate = 200
duration = 2.0
seed = 3
speed = inf
start_ns = 1_000_000_000
"""
RECORD = """
[record.file]
from = ["imu"]
file = "run.mcap"
"""


@pytest.fixture
def run(tmp_path):
    """Run a pipeline to its end, and return its report and what was said."""

    def until_the_end(text):
        said = []
        with Pipeline(dedent(text), folder=tmp_path) as running:
            running.start(said.append)
            assert running.wait(PATIENCE_S)
        return {part.name: part for part in running.report().parts}, said

    return until_the_end


@pytest.fixture
def recorded(run, tmp_path):
    """Run a pipeline that writes ``run.mcap``, and return what that holds."""

    def read(text):
        run(text)
        return strapdown.open(tmp_path / "run.mcap")

    return read


def unique():
    return f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# -- what each part does ---------------------------------------------------------------------------


@pytest.mark.xdist_group("transport")
def test_device_filter_topic_and_recorder_agree_with_the_filter_offline(tmp_path):
    name = unique()
    text = f"""
    [device.imu]
    motion = "wander"
    sensor = "MPU-6050"
    rate = 200
    duration = 2.0
    speed = 4.0

    [filter.attitude]
    from = "imu"
    filter = "vqf"
    tau_acc = 2.0

    [topic.out]
    from = "attitude"
    address = "ipc:{name}"

    [topic.back]
    address = "ipc:{name}?type=Pose3D"

    [record.file]
    from = ["imu", "back"]
    file = "run.mcap"
    """
    with Pipeline(dedent(text), folder=tmp_path) as running:
        running.start()
        file = next(part for part in running.parts if part.name == "file")
        wait_until(lambda: file.report().messages == 800)
        running.stop()
        assert running.wait(PATIENCE_S)
    report = running.report()
    assert not report.failed
    assert report.losses == []
    recording = strapdown.open(tmp_path / "run.mcap")
    series, track = recording.imu_series("imu"), recording.trajectory("back")
    offline = VqfFilter(VqfParams(tau_acc=2.0)).run(series)
    assert track.t_ns.tolist() == series.t_ns.tolist()
    np.testing.assert_allclose(
        track.q_world_from_body, offline.q_world_from_body, rtol=0.0, atol=1e-12
    )


def test_a_recording_says_which_pipeline_and_which_seeds_it_is_from(tmp_path):
    text = """
    [sensor.real]
    from = "imu"
    sensor = "BMI088"
    seed = 5

    [device.other]
    motion = "wander"
    duration = 0.1
    seed = 7

    [record.file]
    from = ["real"]
    file = "run.mcap"
    """
    (tmp_path / "noisy.toml").write_text(DEVICE + dedent(text))
    with Pipeline.from_file(tmp_path / "noisy.toml") as running:
        running.start()
        assert running.wait(PATIENCE_S)
    with (tmp_path / "run.mcap").open("rb") as file:
        said = {each.name: each.metadata for each in make_reader(file).iter_metadata()}["strapdown"]
    assert said["pipeline"] == "noisy.toml"
    assert json.loads(said["seeds"]) == {"imu": 3, "real": 5}
    assert said["frames"].startswith("ENU from FLU")
    assert said["started"]


def test_a_device_measures_what_the_simulation_of_its_sensor_gives(recorded):
    series = recorded(DEVICE + 'sensor = "BMI088"\n' + RECORD).imu_series()
    alone = simulate("wander", "BMI088", 2.0, rate_hz=200, seed=3, sampling="point").samples
    expected = alone.series()
    assert (series.t_ns - 1_000_000_000).tolist() == expected.t_ns.tolist()
    np.testing.assert_array_equal(series.angular_velocity, expected.angular_velocity)
    np.testing.assert_array_equal(series.specific_force, expected.specific_force)


def test_a_device_without_start_ns_is_stamped_by_the_wall_clock(recorded):
    before_ns = time.time_ns()
    series = recorded(DEVICE.replace("start_ns", "# ") + RECORD).imu_series()
    assert before_ns <= series.t_ns[0] <= time.time_ns()


def test_a_device_in_a_world_measures_what_the_world_alone_gives(recorded):
    series = recorded(
        """
        [device.imu]
        world = "imu_robot"
        profile = "documented"
        motion = "circle"
        duration = 2.0
        start_ns = 0
        speed = inf
        """
        + RECORD
    ).imu_series()
    world = World(find_world("imu_robot"), motion=find_motion("circle", duration_s=2.0))
    expected = measure(world, 2.0).imu_series()
    assert series.t_ns.tolist() == expected.t_ns.tolist()
    for name in ("angular_velocity", "specific_force", "q_world_from_body"):
        np.testing.assert_allclose(getattr(series, name), getattr(expected, name), atol=1e-9)


def test_a_sensor_adds_the_noise_of_its_data_sheet_and_says_so(recorded):
    text = """
        [device.perfect]
        motion = "static"
        rate = 100
        duration = 40.0
        speed = inf

        [sensor.imu]
        from = "perfect"
        sensor = "ADIS16470"
        """
    series = recorded(text + RECORD).imu_series()
    sigma = load_profile("ADIS16470").spec().gyro.noise_density * 10.0  # at 100 Hz
    # 4000 samples give a deviation to 1.1 %; a bias that wanders adds less.
    np.testing.assert_allclose(series.angular_velocity.std(axis=0), sigma, rtol=0.06)
    stated = np.diagonal(series.angular_velocity_covariance, axis1=1, axis2=2)
    np.testing.assert_allclose(stated, sigma**2, rtol=1e-9)


def test_a_sensor_without_a_rate_takes_that_of_its_source():
    chain = Pipeline(DEVICE + '[sensor.part]\nfrom = "imu"\nsensor = "BMI088"\n')
    assert [part.rate_hz for part in chain.parts] == [200.0, 200.0]


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_runs_in_a_pipeline_as_it_does_on_a_recording(recorded, name):
    text = f'[filter.pose]\nfrom = "imu"\nfilter = "{name}"\nreset_after = 5\n'
    recording = recorded(DEVICE + text + RECORD.replace('["imu"]', '["imu", "pose"]'))
    kind = FILTERS[name]
    offline = kind(type(kind().params)(reset_after=5.0)).run(recording.imu_series("imu"))
    np.testing.assert_allclose(
        recording.trajectory("pose").q_world_from_body, offline.q_world_from_body, atol=1e-12
    )


def test_a_log_is_played_in_its_own_time_or_faster(run, tmp_path):
    series = simulate("wander", "ideal", 2.0, rate_hz=100).samples.series()
    strapdown.write(tmp_path / "old.csv", series)
    began_s = time.monotonic()
    parts, _ = run('[log.imu]\nfile = "old.csv"\nspeed = 4.0\n' + RECORD)
    assert time.monotonic() - began_s > 1.99 / 4.0
    assert parts["imu"].messages == 200
    again = strapdown.open(tmp_path / "run.mcap").imu_series()
    assert again.t_ns.tolist() == series.t_ns.tolist()
    np.testing.assert_array_equal(again.specific_force, series.specific_force)


def test_a_damaged_log_is_played_as_far_as_it_goes_and_that_is_counted(run, tmp_path):
    series = simulate("wander", "ideal", 2.0, rate_hz=100).samples.series()
    strapdown.write(tmp_path / "old.csv", series)
    lines = (tmp_path / "old.csv").read_text().splitlines(keepends=True)
    (tmp_path / "old.csv").write_text("".join([*lines[:-1], "broken\n"]))
    parts, _ = run('[log.imu]\nfile = "old.csv"\nspeed = inf\n' + RECORD)
    assert parts["imu"].messages == 199
    assert len(parts["imu"].losses) > 0


def test_a_pipeline_that_keeps_no_time_loses_nothing_however_slow_a_part_is(run, monkeypatch):
    monkeypatch.setattr(pipeline, "_CAPACITY", 16)
    parts, _ = run(DEVICE + '[sensor.part]\nfrom = "imu"\nsensor = "BMI088"\n')
    assert parts["part"].received == parts["imu"].sent == 400
    assert parts["part"].losses == ()


def test_what_a_slow_part_loses_is_counted_to_the_message(run, monkeypatch):
    monkeypatch.setattr(pipeline, "_CAPACITY", 16)
    take = stages.SensorStage._take

    def slowly(self, message):
        time.sleep(0.002)
        take(self, message)

    monkeypatch.setattr(stages.SensorStage, "_take", slowly)
    device = DEVICE.replace("speed = inf", "speed = 1000")
    parts, _ = run(device + '[sensor.part]\nfrom = "imu"\nsensor = "BMI088"\n')
    assert parts["imu"].sent == 400
    assert parts["part"].lost > 0
    assert parts["part"].received + parts["part"].lost == 400
    assert parts["part"].losses == (
        f"part: {parts['part'].lost} messages lost before they were received",
    )


# -- beginning and ending as one -------------------------------------------------------------------

ENDLESS = """
[device.imu]
motion = "wander"
rate = 500

[filter.pose]
from = "imu"
filter = "madgwick"

[record.file]
from = "pose"
file = "run.mcap"
"""


def test_when_it_is_stopped_everything_that_was_sent_is_worked_off(tmp_path):
    with Pipeline(ENDLESS, folder=tmp_path) as running:
        running.start()
        time.sleep(0.5)
        running.stop()
        assert running.wait(PATIENCE_S)
    parts = {part.name: part for part in running.report().parts}
    assert parts["imu"].sent > 50
    assert parts["imu"].sent == parts["pose"].sent == parts["file"].sent
    assert len(strapdown.open(tmp_path / "run.mcap").trajectory()) == parts["imu"].sent


def test_leaving_the_with_statement_stops_all_parts(tmp_path):
    with Pipeline(ENDLESS, folder=tmp_path) as running:
        running.start()
    assert {part.state for part in running.report().parts} == {State.ENDED}


def test_nothing_is_left_of_a_pipeline_that_has_ended(run):
    run(DEVICE)  # which imports what there is to import
    threads, files = {*threading.enumerate()}, open_files()
    run(DEVICE + FILTER + RECORD)
    assert {*threading.enumerate()} == threads
    assert open_files() == files


def test_a_pipeline_is_started_once(tmp_path):
    with Pipeline(ENDLESS, folder=tmp_path) as running:
        running.start()
        with pytest.raises(TransportError, match="started before"):
            running.start()


def test_who_is_told_may_fail_and_the_pipeline_runs_and_ends_all_the_same(tmp_path):
    def say(_line):
        raise BrokenPipeError

    with Pipeline(DEVICE + RECORD, folder=tmp_path) as running:
        running.start(say)
        assert running.wait(PATIENCE_S)
    assert not running.report().failed
    assert running.report().parts[1].messages == 400


def test_a_part_that_fails_is_reported_and_the_others_go_on(run, tmp_path):
    text = DEVICE + RECORD + RECORD.replace("file]", "full]").replace("run.", "full.")
    parts, said = run(text + "min_free_bytes = 1_000_000_000_000_000_000\n")
    assert parts["full"].state is State.FAILED
    assert "bytes left" in parts["full"].error
    assert any(line.startswith("full: failed: ") for line in said)
    assert parts["file"].state is State.ENDED
    assert len(strapdown.open(tmp_path / "run.mcap").imu_series()) == 400


def test_a_part_that_fails_on_the_way_ends_those_behind_it_and_no_other(run, monkeypatch):
    def break_down(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(stages.SensorStage, "_take", break_down)
    text = '[sensor.part]\nfrom = "imu"\nsensor = "BMI088"\n[filter.pose]\nfrom = "part"\n'
    parts, said = run(DEVICE + text + RECORD)
    assert parts["part"].error == "broken"
    assert "part: failed: broken" in said
    assert parts["pose"].state is State.ENDED
    assert parts["file"].messages == 400


def test_a_source_ends_when_nobody_is_left_who_takes_its_messages(run):
    parts, _ = run(ENDLESS + "min_free_bytes = 1_000_000_000_000_000_000\n")
    assert [parts[name].state for name in ("imu", "pose", "file")] == [
        State.ENDED,
        State.ENDED,
        State.FAILED,
    ]


def test_a_topic_feeds_a_pipeline_and_another_takes_what_it_makes(tmp_path):
    name = unique()
    text = f"""
    [topic.imu]
    address = "local:{name}/imu"

    [filter.pose]
    from = "imu"

    [topic.out]
    from = "pose"
    address = "local:{name}/pose"
    """
    series = simulate("wander", "ideal", 1.0, rate_hz=100).samples.series()
    with (
        Pipeline(dedent(text), folder=tmp_path) as running,
        Topic(Imu, name=f"{name}/imu", backend="local") as sender,
        Topic(Pose3D, name=f"{name}/pose", backend="local") as receiver,
    ):
        running.start()
        for record in conversion.imu_from_series(series):
            sender.send(Imu.from_record(record))
        poses = [receiver.recv(timeout=PATIENCE_S) for _ in range(100)]
    assert [pose.timestamp_ns for pose in poses] == series.t_ns.tolist()


def test_what_came_before_all_parts_were_ready_is_neither_taken_nor_lost(tmp_path, monkeypatch):
    name = unique()
    ready, opens = threading.Event(), stages.FilterStage.open

    def slowly(self, stack):
        opens(self, stack)
        assert ready.wait(PATIENCE_S)

    monkeypatch.setattr(stages.FilterStage, "open", slowly)
    text = f"""
    [topic.imu]
    address = "local:{name}"

    [filter.pose]
    from = "imu"
    """
    with (
        Pipeline(dedent(text), folder=tmp_path) as running,
        Topic(Imu, name=name, backend="local") as sender,
    ):
        source = running.parts[0]
        starting = threading.Thread(target=running.start)
        starting.start()
        wait_until(source.outside)
        source.outside()[0].try_recv()  # from now on it counts what it loses
        for number in range(3000):
            sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, number))
        ready.set()
        starting.join()
        wait_until(lambda: source.state is State.RUNNING)
        sender.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 3000))
        wait_until(lambda: source.report().messages)
        running.stop()
        assert running.wait(PATIENCE_S)
    report = running.report()
    assert [part.messages for part in report.parts] == [1, 1]
    assert report.losses == []


def test_latency_and_rates_are_those_of_the_work(run):
    parts, _ = run(DEVICE + '[filter.pose]\nfrom = "imu"\n')
    assert 0.0 < parts["pose"].latency_s <= parts["pose"].longest_s < 1.0
    assert np.isnan(parts["imu"].latency_s)
    assert parts["pose"].rate_hz == pytest.approx(400 / parts["pose"].running_s)


def test_the_example_of_the_class_runs():
    assert doctest.testmod(pipeline).failed == 0


# -- bad files -------------------------------------------------------------------------------------

FILTER = '[filter.pose]\nfrom = "imu"\n'
BAD = {
    "": "expected parts, such as",
    "a = 1": "line 1: a: there is no kind of part 'a'",
    "\n[device.imu": "line 2: expected TOML: ",
    "[device]\nmotion = 'static'": "line 2: device.motion: expected a table [device.NAME]",
    "[fliter.a]": "line 1: fliter: there is no kind of part 'fliter'; the nearest names: 'filter'",
    "[device.'a b']": "line 1: device.a b: expected a name of letters",
    "[device.imu]\nmotoin = 'static'": "line 2: device.imu.motoin: expected motion = a text",
    "[device.imu]\nmotion = 3": "line 2: device.imu.motion: expected a text, got 3",
    "[device.imu]\nmotion = 'wandr'": "line 2: device.imu.motion: there is no motion or file",
    DEVICE.replace("200", "-1"): "line 4: device.imu.rate: expected a positive rate, got -1",
    DEVICE.replace("200", "inf"): "line 4: device.imu.rate: expected finite rate_hz",
    DEVICE.replace("2.0", "inf"): "line 5: device.imu.duration: expected a positive",
    DEVICE.replace("seed = 3", "seed = -3"): "line 6: device.imu.seed: expected a seed",
    DEVICE.replace("inf", "0"): "line 7: device.imu.speed: expected a positive speed, got 0",
    DEVICE + "robot = 'x'": "line 9: device.imu.robot: there is no key 'robot'",
    DEVICE + "sensor = 'bmi99'": "line 9: device.imu.sensor: there is no sensor profile 'bmi99'",
    DEVICE + "from = 'x'": "line 9: device.imu.from: expected no part in from, got x",
    "[device.imu]\nworld = 'pendulm'": "line 2: device.imu.world: there is no world",
    "[device.imu]\nworld = 'two_arms'": "line 2: device.imu.world: expected one robot",
    "[device.imu]\nworld = 'pendulum'": "got one without Accelerometer",
    "[device.imu]\nworld = 'imu_robot'\nrate = 333": "line 3: device.imu.rate: expected a rate",
    "[device.imu]\nworld = 'imu_robot'\nrate = inf": "line 3: device.imu.rate: expected a rate",
    DEVICE + FILTER + "filter = 'vfq'": "line 11: filter.pose.filter: there is no filter 'vfq'",
    DEVICE + FILTER + "filter = 'vqf'\ntau = 1": "line 12: filter.pose.tau: there is no key 'tau'",
    DEVICE + FILTER + "reset_after = -1": "line 11: filter.pose.reset_after: expected reset_after",
    DEVICE + FILTER + "reset_after = true": "line 11: filter.pose.reset_after: expected a number",
    FILTER: "line 2: filter.pose.from: there is no part 'imu'",
    "[filter.pose]": "line 1: filter.pose: expected one part or two in from, got none",
    DEVICE + FILTER + "[filter.b]\nfrom = 'pose'": (
        "line 12: filter.b.from: expected parts of Imu and optionally of MagneticField, got Pose3D"
    ),
    DEVICE + FILTER + "[odometry.b]\nfrom = 'pose'": "expected messages of type Imu, got Pose3D",
    DEVICE + FILTER + "[calibrate.b]\nfrom = 'pose'\nfile = 'imu.toml'": (
        "line 12: calibrate.b.from: expected messages of type Imu or MagneticField, got Pose3D"
    ),
    DEVICE + FILTER + "[filter.imu]": "line 11: filter.imu: expected another name, [device.imu]",
    "[sensor.a]\nsensor = 'BMI088'\nfrom = 'b'\n[sensor.b]\nsensor = 'BMI088'\nfrom = 'a'": (
        "line 3: sensor.a.from: expected no cycle, got a -> b -> a: remove one of these"
    ),
    DEVICE
    + "[topic.in]\naddress = 'ipc:x'\n[sensor.b]\nsensor = 'BMI088'\nfrom = 'in'\n"
    + "[topic.out]\nfrom = 'b'\naddress = 'ipc:/x'": "expected no cycle, got in -> b -> out -> in",
    "[topic.a]\naddress = 'ipc:a'\n[sensor.b]\nsensor = 'BMI088'\nfrom = 'a'": (
        "line 3: sensor.b: expected a rate"
    ),
    "[topic.a]\naddress = 'ipc:a//b'": "line 2: topic.a.address: topic name 'a//b': unexpected",
    "[topic.a]\naddress = 'serial:/dev/x?protocol=ximu3'": (
        "line 2: topic.a.address: there is no protocol 'ximu3'; the nearest names: 'x-imu3'"
    ),
    "[topic.a]\naddress = 'serial:/dev/x?protocol=none.toml'": "none.toml: No such file",
    "[topic.a]\naddress = 'udp:imu?protocol=csv'": "line 2: topic.a.address: expected the number",
    "[topic.a]\naddress = 'iio:0?mode=fast'": "line 2: topic.a.address: expected mode as auto or",
    DEVICE + "[topic.a]\nfrom = 'imu'\naddress = 'udp:5005?protocol=csv'": (
        "line 11: topic.a.address: expected a topic to publish on, udp only receives"
    ),
    "[topic.a]\naddress = 'icp:a'": "line 2: topic.a.address: there is no backend 'icp'",
    DEVICE + "[topic.a]\nfrom = 'imu'\naddress = 'ipc:a?type=Pose3D'": (
        "line 11: topic.a.address: expected Pose3D messages, got Imu from 'imu'"
    ),
    DEVICE + "[topic.a]\nfrom = ['imu', 'imu']\naddress = 'ipc:a'": "expected one part in from",
    DEVICE + "[record.a]\nfrom = 'imu'\nfile = 'a.bag'": "line 11: record.a.file: ",
    DEVICE + "[record.a]\nfrom = 'imu'\nfile = 'none/a.mcap'": "expected a folder that exists",
    DEVICE + "[record.a]\nfrom = 'imu'\nfile = 'there.mcap'": "there.mcap: exists already",
    DEVICE + RECORD + "split_s = nan": "line 13: record.file.split_s: expected split_s above 0",
    DEVICE + RECORD + "split_bytes = 0": "line 13: record.file.split_bytes: expected split_bytes",
    DEVICE + RECORD + "min_free_bytes = -1": "line 13: record.file.min_free_bytes: expected",
    DEVICE + RECORD + "[record.a]\nfrom = 'file'\nfile = 'a.mcap'": "part that gives messages",
    "[log.a]\nfile = 'none.mcap'": "line 2: log.a.file: ",
    "[log.a]\nfile = 'there.mcap'": "line 2: log.a.file: ",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_wrong_in_a_file_is_said_with_its_line(tmp_path, text):
    (tmp_path / "there.mcap").write_bytes(b"no recording")
    save_calibration(ImuCalibration(), tmp_path / "imu.toml")
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        Pipeline.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_file_of_a_protocol_is_sought_in_the_folder_of_the_pipeline(tmp_path):
    text = '[topic.imu]\naddress = "udp:5005?protocol=mine.toml"\n'
    text += '[record.a]\nfrom = "imu"\nfile = "a.mcap"\n'
    path = tmp_path / "pipeline.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"line 2: topic.imu.address: .*mine.toml: No such file"):
        Pipeline.from_file(path)
    declared = resources.files("strapdown.transport.links.hardware") / "protocols" / "csv.toml"
    (tmp_path / "mine.toml").write_text(declared.read_text())
    assert [part.name for part in Pipeline.from_file(path).parts] == ["imu", "a"]


def test_a_file_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="expected a pipeline in TOML"):
        Pipeline.from_file(path)


def test_paths_in_a_file_begin_in_its_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = tmp_path / "here.toml"
    path.write_text(DEVICE + RECORD)
    with Pipeline.from_file(path) as running:
        running.start()
        assert running.wait(PATIENCE_S)
    assert (tmp_path / "run.mcap").exists()
    with pytest.raises(FormatError, match="exists already"):
        Pipeline.from_file(path)
    Pipeline.from_file(path, force=True)
