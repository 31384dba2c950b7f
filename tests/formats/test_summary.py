"""Summaries without the data are those of the data, and take little memory."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import Writer
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli._app import app
from strapdown.formats import Recording, summarize
from strapdown.formats import long_files as entry
from strapdown.formats.summary import Source
from strapdown.messages import RosImu
from strapdown.series import GnssSeries, ImuSeries, Increments, Trajectory, timebase
from strapdown.series import steps as steps_module

ROWS = 3000
ANY = [".mcap", ".bag", "", ".ulg", ".npz", ".parquet"]
SOURCES = {
    ".mcap": Source.INDEX,
    ".bag": Source.INDEX,
    "": Source.INDEX,
    ".npz": Source.STAMPS,
    ".parquet": Source.STAMPS,
    ".csv": Source.STAMPS,
    ".tum": Source.STAMPS,
}


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    monkeypatch.setattr(entry, "_LARGE", 0)


def stamps(rate_hz):
    """Return stamps with a gap, one that repeats, and one that goes back [ns]."""
    t_ns = 1_700_000_000_000_000_000 + np.arange(ROWS) * (1_000_000_000 // rate_hz)
    t_ns[ROWS // 2 :] += 250_000_000
    t_ns[7] = t_ns[6]
    t_ns[20] = t_ns[17]
    return t_ns


def imu(rate_hz, **columns):
    vectors = np.random.default_rng(rate_hz).standard_normal((2, ROWS, 3))
    return ImuSeries(stamps(rate_hz), *vectors, **columns)


def track():
    q = np.random.default_rng(3).standard_normal((ROWS, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return Trajectory(stamps(100), q, position_world=q[:, :3])


def write(folder, ending):
    path = folder / f"a{ending}"
    if ending in {".csv", ".tum"}:
        files.write(path, imu(200) if ending == ".csv" else track())
        return path
    topics = {"one/data": imu(200), "two/data": imu(100, magnetic_field=np.ones((ROWS, 3)) / 2e4)}
    if ending == ".ulg":  # whose stamps never go back
        topics = {name: each[np.sort(np.unique(each.t_ns, return_index=True)[1])]
                  for name, each in topics.items()}  # fmt: skip
        files.write(path, Recording(imu=topics))
        return path
    dts = np.full((2, ROWS), 10_000_000)
    increments = Increments(stamps(100), *np.ones((2, ROWS, 3), np.float32), *dts)
    files.write(path, Recording(imu=topics, trajectories={"pose": track()},
                                increments={"vehicle_imu": increments}))  # fmt: skip
    return path


@pytest.mark.parametrize("ending", [*ANY, ".csv", ".tum"])
def test_a_summary_without_the_data_is_that_of_the_data(ending, tmp_path):
    path = write(tmp_path, ending)
    quick, full = summarize(path), summarize(path, full=True)
    assert {each.topic: each for each in quick.topics} == {each.topic: each for each in full.topics}
    assert quick.report.messages >= sum(each.clock.samples for each in quick.topics)
    assert full.source is Source.DATA
    assert quick.source is SOURCES.get(ending, Source.DATA)
    assert quick.report.lossless
    assert quick.topics


def test_stamps_that_arrive_in_pieces_are_counted_as_at_once():
    t_ns = np.cumsum(np.random.default_rng(1).integers(-2, 9, 200_000)) * 1_000_000
    t_ns[70_000:] += 10**11
    whole, tally = timebase.report(t_ns), timebase.TimeTally()
    for piece in np.array_split(t_ns, 77):
        tally.add(piece)
    assert tally.report() == whole
    kept = t_ns[np.append(True, t_ns[1:] > np.maximum.accumulate(t_ns)[:-1])]
    steps = np.diff(kept)
    assert whole.rate_hz == 1e9 / np.median(steps)
    assert whole.duplicates + whole.backward == len(t_ns) - len(kept)
    regular = steps[steps <= whole.gap_after_ns]
    assert whole.jitter_ns == pytest.approx(np.sqrt(np.mean((regular - np.median(steps)) ** 2)))
    assert whole.longest_gap_ns == steps.max()
    assert whole.gaps == np.count_nonzero(steps > whole.gap_after_ns)


def tallied(pieces):
    """Return the tally of stamps that arrive piece by piece."""
    tally = timebase.TimeTally()
    for piece in pieces:
        tally.add(piece)
    return tally


def test_more_steps_than_memory_should_hold_are_counted_in_a_file(monkeypatch):
    rng = np.random.default_rng(2)
    t_ns = np.cumsum(rng.integers(-2, 9, 600_000)) * 1_000_000
    t_ns[70_000:] += 10**11
    t_ns[400_000:] += 10**9
    held = tallied(np.array_split(t_ns, 9)).report()
    monkeypatch.setattr(steps_module, "_MOST_HELD", 2**16)
    tally = tallied(np.array_split(t_ns[:400_000], 7))
    assert tally.report() == timebase.report(t_ns[:400_000])
    tally.add(t_ns[400_000:])
    assert tally.report() == tally.report() == held


def test_a_tally_needs_memory_that_does_not_grow_with_the_stamps(monkeypatch):
    monkeypatch.setattr(steps_module, "_MOST_HELD", 2**17)
    piece = np.cumsum(np.random.default_rng(3).integers(1, 10**6, 50_000))
    peaks = []
    for count in (20, 80):
        tracemalloc.start()
        tallied(piece + k * int(piece[-1]) for k in range(count)).report()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def foreign(path, *, late_ns=0, finish=True):
    """Write messages of another program, recorded later than they are stamped."""
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=4000)
        writer.start("ros2")
        schema = writer.register_schema("sensor_msgs/msg/Imu", "ros2msg", b"")
        channel = writer.register_channel("/imu", "cdr", schema)
        other = writer.register_channel("/other", "json", schema)
        for row in range(100):
            stamp = 10**18 + row * 10**7
            writer.add_message(channel, stamp + late_ns * row, RosImu(stamp).to_cdr(), stamp)
        writer.add_message(other, 10**18, b"{}", 10**18)
        if finish:
            writer.finish()
    return path


def test_an_index_has_the_times_of_recording_and_the_counts_of_other_topics(tmp_path):
    found = summarize(foreign(tmp_path / "a.mcap", late_ns=10**7))
    (topic,) = found.topics
    assert found.source is Source.INDEX
    assert topic.clock.rate_hz == pytest.approx(50.0)
    assert found.report.skipped == {"/other": 1}
    assert "--full" in found.report.notes[0]
    (topic,) = summarize(tmp_path / "a.mcap", full=True).topics
    assert topic.clock.rate_hz == pytest.approx(100.0)


def test_a_file_without_an_index_is_read_once(tmp_path):
    path = foreign(tmp_path / "a.mcap", late_ns=10**7)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    found, whole = summarize(path), files.open(path, on_error="salvage")
    assert found.source is Source.STAMPS
    assert found.topics[0].clock == timebase.report(whole.imu["/imu"].t_ns)
    assert found.report.losses() == whole.report.losses() != []


def test_velocities_of_a_receiver_are_summarised_without_an_index(tmp_path):
    path = tmp_path / "a.mcap"
    place, covariance = np.full((3, ROWS), 0.1), np.tile(np.eye(3), (ROWS, 1, 1))
    fixes = GnssSeries(stamps(10), *place, covariance, velocity_world=np.ones((ROWS, 3)))
    files.write(path, Recording(gnss={"fix": fixes}))
    path.write_bytes(path.read_bytes()[:-300])
    found = summarize(path)
    assert found.source is Source.STAMPS
    assert [each.topic for each in found.topics] == ["fix"]
    assert found.topics[0].clock.samples == ROWS


def test_an_index_that_contradicts_itself_is_not_believed(tmp_path):
    path = foreign(tmp_path / "a.mcap")
    with path.open("rb") as stream:
        index = make_reader(stream).get_summary().chunk_indexes[1]
    data, length = (
        bytearray(path.read_bytes()),
        next(iter(index.message_index_offsets.values())) + 1,
    )
    data[length] ^= 1
    path.write_bytes(data)
    assert summarize(path).source is Source.STAMPS


def test_memory_does_not_depend_on_the_columns(tmp_path):
    series = ImuSeries(np.arange(20_000) * 1_000_000, *np.ones((2, 20_000, 3)))
    for ending in (".mcap", ".npz", ".parquet"):
        files.write(tmp_path / f"a{ending}", series)
        summarize(tmp_path / f"a{ending}")  # imports
        tracemalloc.start()
        summarize(tmp_path / f"a{ending}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000 * 60  # the columns of an IMU message take 296 bytes a row


@pytest.mark.parametrize("ending", ANY)
def test_one_topic_is_read_as_it_is_among_all(ending, tmp_path):
    path = write(tmp_path, ending)
    whole = files.open(path)
    for name in [*whole.imu, *whole.trajectories, *whole.increments]:
        part, same = files.open(path, topic=name), whole.only(name)
        assert (part.imu, part.trajectories, part.increments) == (
            same.imu,
            same.trajectories,
            same.increments,
        )
        assert not part.report.skipped
    assert files.open(path, topic="none").imu.keys() == whole.imu.keys()


@pytest.mark.parametrize("ending", [".mcap", ".bag", "", ".npz", ".parquet"])
def test_memory_is_that_of_the_topic(ending, tmp_path):
    rows = 400
    series = ImuSeries(np.arange(rows) * 1_000_000, *np.ones((2, rows, 3)))
    topics = {f"imu{k}/data": series for k in range(20)}
    files.write(tmp_path / f"a{ending}", Recording(imu=topics))
    peaks = []
    for topic in ("imu7/data", None, "imu7/data"):  # the first call also imports
        tracemalloc.start()
        files.open(tmp_path / f"a{ending}", topic=topic)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] / 3


def test_a_topic_without_an_imu_is_refused_with_the_names_of_imus(tmp_path):
    path = write(tmp_path, ".mcap")
    for topic in ("pose", "one/dat"):
        done = CliRunner().invoke(app, ["allan", str(path), "--topic", topic])
        assert done.exit_code == 1
        assert f"no IMU topic '{topic}'; the nearest names: " in done.output
    done = CliRunner().invoke(app, ["cat", str(path), "--topic", "pose", "--count", "1"])
    assert done.exit_code == 0


def test_info_says_what_it_was_made_from(tmp_path):
    path = foreign(tmp_path / "a.mcap")
    found = [
        json.loads(CliRunner().invoke(app, ["info", str(path), "--json", *more]).stdout)
        for more in ([], ["--full"], ["--from", "0"])
    ]
    assert [each["source"] for each in found] == ["index", "data", "data"]
    assert [each["topics"] for each in found] == [found[1]["topics"]] * 3


def test_a_damaged_archive_is_summarised_as_it_is_salvaged(tmp_path):
    path = write(tmp_path, ".npz")
    path.write_bytes(path.read_bytes()[:-200_000])
    found, back = summarize(path), files.open(path, on_error="salvage")
    assert found.report == back.report
    assert not found.report.lossless
