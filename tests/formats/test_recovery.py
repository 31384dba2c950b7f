"""Recovery of damaged recordings, compared with the written messages."""

from __future__ import annotations

import io
import json
import sqlite3
import time
import zlib

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.rosbag1 import Reader as BagReader
from rosbags.rosbag1 import Writer as BagWriter
from typer.testing import CliRunner

import strapdown.formats as files
from strapdown.cli._app import app
from strapdown.errors import FormatError
from strapdown.formats.mcap.live import LiveMcap, LiveOptions
from strapdown.formats.recovery import recover
from strapdown.messages import Imu

runner = CliRunner()


@pytest.fixture(params=["zstd", "lz4", "none", "unchunked"])
def foreign(request, tmp_path):
    """A file of another writer, with unknown types; and its messages."""
    path = tmp_path / "foreign.mcap"
    packing = getattr(CompressionType, request.param.upper(), CompressionType.NONE)
    with path.open("wb") as stream:
        writer = Writer(
            stream,
            chunk_size=2000,
            compression=packing,
            use_chunking=request.param != "unchunked",
        )
        writer.start(profile="theirs", library="their library")
        text = writer.register_schema("their/Text", "protobuf", b"\1\2\3")
        channels = [
            writer.register_channel(topic, "bytes", text, {"key": topic}) for topic in ("a", "b")
        ]
        writer.add_attachment(5, 6, "photo.jpg", "image/jpeg", b"jpeg" * 9)
        writer.add_metadata("notes", {"pilot": "Ada"})
        noise = np.random.default_rng(1)
        for number in range(300):
            writer.add_message(channels[number % 2], 1000 + number, noise.bytes(40), number, number)
        writer.finish()
    return path


def content(path):
    """Return everything that the library mcap reads, with checksums verified."""
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        messages = [
            (
                channel.topic,
                channel.message_encoding,
                channel.metadata,
                schema.name,
                schema.encoding,
                schema.data,
                message.sequence,
                message.log_time,
                message.publish_time,
                message.data,
            )
            for schema, channel, message in reader.iter_messages()
        ]
        attachments = [
            (each.name, each.media_type, each.data, each.log_time, each.create_time)
            for each in reader.iter_attachments()
        ]
        metadata = {each.name: each.metadata for each in reader.iter_metadata()}
        return messages, attachments, metadata, reader.get_header().profile


def test_a_whole_file_is_copied_with_everything_in_it(tmp_path, foreign):
    report = recover(foreign, tmp_path / "whole.mcap")
    before, after = content(foreign), content(tmp_path / "whole.mcap")
    assert after[0] == before[0]
    assert after[1] == before[1]
    assert after[2]["notes"] == {"pilot": "Ada"}
    assert after[3] == "theirs"
    assert report.messages == 300
    assert not report.lost


@pytest.mark.parametrize("lengths", [(40,), (40, 40), (40, 17), (0, 1, 2, 300)])
def test_topics_of_equal_and_other_lengths_keep_their_messages_and_their_index(tmp_path, lengths):
    path, noise = tmp_path / "mixed.mcap", np.random.default_rng(2)
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=20_000)
        writer.start()
        channels = [
            writer.register_channel(f"t{number}", "bytes", 0) for number in range(len(lengths))
        ]
        for number in range(900):
            turn = int(noise.integers(len(lengths)))
            writer.add_message(channels[turn], 10_000 - number, noise.bytes(lengths[turn]), number)
        writer.finish()
    recover(path, tmp_path / "copy.mcap")
    for topics in (None, ["t0"]):  # the second by the index
        before, after = (
            [
                (channel.topic, message.log_time, message.publish_time, message.data)
                for _, channel, message in make_reader(io.BytesIO(file.read_bytes())).iter_messages(
                    topics
                )
            ]
            for file in (path, tmp_path / "copy.mcap")
        )
        assert after == before
    summaries = [
        make_reader(io.BytesIO(file.read_bytes())).get_summary().statistics
        for file in (path, tmp_path / "copy.mcap")
    ]
    assert summaries[0].channel_message_counts == summaries[1].channel_message_counts
    assert summaries[0].message_start_time == summaries[1].message_start_time
    assert summaries[0].message_end_time == summaries[1].message_end_time


@pytest.mark.parametrize("part", [0.3, 0.6, 0.97])
def test_everything_whole_before_the_end_of_a_cut_file_is_kept(tmp_path, foreign, part):
    raw = foreign.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(raw[: int(part * len(raw))])
    report = recover(cut, tmp_path / "whole.mcap")
    before, after = content(foreign), content(tmp_path / "whole.mcap")
    assert after[0] == before[0][: len(after[0])]
    assert report.messages == len(after[0])
    assert files.open(cut, on_error="salvage").report.skipped.keys() <= {"a", "b"}
    assert sum(files.open(cut, on_error="salvage").report.skipped.values()) == report.messages
    assert report.lost
    assert after[2]["strapdown/recovered"]["lost"] == "\n".join(report.lost)
    assert after[1] == before[1]


def test_reading_goes_on_behind_damage(tmp_path, foreign):
    raw = bytearray(foreign.read_bytes())
    raw[len(raw) // 2] ^= 0x10
    broken = tmp_path / "broken.mcap"
    broken.write_bytes(raw)
    recover(broken, tmp_path / "whole.mcap")
    before, after = content(foreign)[0], content(tmp_path / "whole.mcap")[0]
    assert set(map(str, after)) <= set(map(str, before)) or len(after) == len(before)
    assert after[-1] == before[-1]
    assert len(after) > len(before) // 2


def test_what_a_killed_recorder_left_loses_nothing_but_gains_a_summary(tmp_path):
    path = tmp_path / "run.mcap"
    with LiveMcap(path, options=LiveOptions(min_free_bytes=0)) as file:
        channel = file.add_channel("imu", "horus/Imu")
        for number in range(500):
            file.write(channel, bytes(Imu(*[0.0] * 6, number)), publish_ns=number, log_ns=number)
        while file.messages < 500:
            time.sleep(0.01)
        killed = tmp_path / "killed.mcap"
        killed.write_bytes(path.read_bytes())
    report = recover(killed, tmp_path / "whole.mcap")
    assert (report.messages, report.lost_messages, report.lost_bytes) == (500, 0, 0)
    assert (len(report.mended), report.lost) == (1, [])
    done = runner.invoke(app, ["recover", str(killed), "-o", str(tmp_path / "again.mcap")])
    assert (done.exit_code, "mended: at byte" in done.stdout) == (0, True)
    recording = files.open(tmp_path / "whole.mcap")  # strictly
    assert recording.imu["imu"].t_ns.tolist() == list(range(500))


def test_messages_of_undefined_channels_are_left_out_and_counted(tmp_path):
    made = io.BytesIO()
    writer = Writer(made, compression=CompressionType.NONE)
    writer.start()
    schema = writer.register_schema("their/Text", "", b"")
    known = writer.register_channel("known", "bytes", schema)
    for number in range(4):
        writer.add_message(known, number, b"known", number)
    writer.finish()
    raw = made.getvalue()
    payload = raw.index(b"\x05", raw.index(b"known", raw.index(b"\x06")))
    at = raw.index(b"\x05\x1b\0\0\0\0\0\0\0", payload - 40)  # the first message of 27 bytes
    changed = bytearray(raw)
    changed[at + 9] = 7  # of an undefined channel
    chunk = raw.index(b"\x06", 8)
    length = int.from_bytes(raw[chunk + 1 : chunk + 9], "little")
    start = chunk + 9 + 28 + 4 + 8
    changed[chunk + 9 + 24 : chunk + 9 + 28] = zlib.crc32(
        changed[start : chunk + 9 + length]
    ).to_bytes(4, "little")
    (tmp_path / "odd.mcap").write_bytes(changed)
    report = recover(tmp_path / "odd.mcap", tmp_path / "whole.mcap")
    assert report.lost_messages == 1
    assert [message[-3] for message in content(tmp_path / "whole.mcap")[0]] == [1, 2, 3]


@pytest.fixture
def active(tmp_path, ros1, imu_numbers):
    """The bag of a recorder that was killed: no index, and an unknown type."""
    path, active = tmp_path / "a.bag", tmp_path / "a.bag.active"
    with BagWriter(path) as bag:
        imu = bag.add_connection("/imu", "sensor_msgs/msg/Imu", typestore=ros1.store)
        words = bag.add_connection("/words", "std_msgs/msg/String", typestore=ros1.store)
        for number, (t_ns, row) in enumerate(zip(*imu_numbers, strict=True)):
            bag.write(imu, int(t_ns) + 5, ros1.serialize(ros1.imu(int(t_ns), row)))
            bag.write(words, int(t_ns) + 6, ros1.serialize(ros1.text(f"word {number}")))
    raw = bytearray(path.read_bytes())
    at = raw.index(b"index_pos=") + len(b"index_pos=")
    end = int.from_bytes(raw[at : at + 8], "little")
    raw[at : at + 8] = bytes(8)
    active.write_bytes(raw[:end])
    return active


def of_bag(path):
    with BagReader(path) as bag:
        return [
            (each.topic, each.msgtype, each.digest, each.msgdef.data, time, raw)
            for each, time, raw in bag.messages()
        ]


def test_a_bag_without_its_index_becomes_one_with_every_message(tmp_path, active):
    report = recover(active, tmp_path / "whole.bag")
    assert of_bag(tmp_path / "whole.bag") == of_bag(tmp_path / "a.bag")
    assert report.format == "rosbag1"
    assert report.messages == 80
    assert not report.lost
    assert "expected an index" in report.mended[0]


def test_a_bag_becomes_another_file_with_what_is_read_of_it(tmp_path, active):
    report = recover(active, tmp_path / "whole.mcap")
    assert report.skipped == {"/words": 40}
    assert "/words: 40 messages of a type that is not read" in report.lost
    assert len(files.open(tmp_path / "whole.mcap").imu["/imu"]) == 40


def test_a_cut_bag_keeps_whole_chunks_and_nothing_is_invented(tmp_path, active):
    raw = active.read_bytes()
    active.write_bytes(raw[: len(raw) // 2])
    report = recover(active, tmp_path / "whole.bag")
    before, after = of_bag(tmp_path / "a.bag"), of_bag(tmp_path / "whole.bag")
    assert after == before[: len(after)]
    assert report.lost


def test_a_database_and_a_log_are_recovered_too(tmp_path, recording, flight_log):
    files.write(tmp_path / "bag", recording)
    (database,) = (tmp_path / "bag").glob("*.db3")
    raw = database.read_bytes()
    database.write_bytes(raw[: len(raw) // 2])
    report = recover(database, tmp_path / "db3.mcap")
    assert report.format == "rosbag2"
    assert report.messages > 0
    assert report.lost
    log = flight_log.read_bytes()
    (tmp_path / "cut.ulg").write_bytes(log[: len(log) * 2 // 3])
    report = recover(tmp_path / "cut.ulg", tmp_path / "log.mcap")
    assert report.format == "ulog"
    assert report.messages > 0
    assert report.lost


def test_the_command_says_what_is_lost_and_exits_with_3(tmp_path, foreign):
    raw = foreign.read_bytes()
    cut, whole = tmp_path / "cut.mcap", tmp_path / "whole.mcap"
    cut.write_bytes(raw[: len(raw) // 2])
    done = runner.invoke(app, ["recover", str(cut), "-o", str(whole), "--json"])
    assert done.exit_code == 3
    said = json.loads(done.stdout)
    assert said["exit"] == 3
    assert said["messages"] == len(content(whole)[0])
    assert said["lost"]
    again = runner.invoke(app, ["recover", str(cut), "-o", str(whole)])
    assert again.exit_code == 1
    assert "--force" in again.stderr
    done = runner.invoke(app, ["recover", str(foreign), "-o", str(whole), "--force"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"wrote {whole}: 300 messages")


def test_a_file_is_not_recovered_onto_itself(foreign):
    with pytest.raises(FormatError, match="another file than the input"):
        recover(foreign, foreign, force=True)


def test_where_nothing_can_be_read_nothing_is_written(tmp_path):
    (tmp_path / "text").write_text("no recording\n")
    with pytest.raises(FormatError):
        recover(tmp_path / "text", tmp_path / "whole.mcap")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_hostile_bytes_raise_format_errors_only(tmp_path, foreign):
    raw, rng = foreign.read_bytes(), np.random.default_rng(3)
    bad, out = tmp_path / "bad.mcap", tmp_path / "out.mcap"
    for _ in range(40):
        mutant = bytearray(raw[: rng.integers(1, len(raw))])
        for at in rng.integers(0, len(mutant), rng.integers(1, 17)):
            mutant[at] ^= 1 << rng.integers(8)
        bad.write_bytes(mutant)
        try:
            recover(bad, out, force=True)
        except FormatError:
            continue
        content(out)  # the new file is intact


def test_hostile_bags_raise_format_errors_only(tmp_path, active):
    raw, rng = active.read_bytes(), np.random.default_rng(5)
    bad, out = tmp_path / "bad.bag", tmp_path / "out.bag"
    for _ in range(60):
        mutant = bytearray(raw[: rng.integers(13, len(raw))])
        for at in rng.integers(13, len(mutant) + 1, rng.integers(1, 17)):
            mutant[min(at, len(mutant) - 1)] ^= 1 << rng.integers(8)
        bad.write_bytes(mutant)
        try:
            recover(bad, out, force=True)
        except FormatError:
            continue
        of_bag(out)


def test_the_database_of_a_bag_can_be_read_by_anybody(tmp_path, recording):
    files.write(tmp_path / "bag", recording)
    with sqlite3.connect(tmp_path / "bag" / "bag.db3") as database:
        names = {row[0] for row in database.execute("SELECT name FROM topics")}
    assert {"imu/data", "imu/data_raw", "truth", "vehicle_imu"} <= names
