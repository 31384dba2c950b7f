"""Salvage of damaged rosbag2 databases, page by page.

The expected messages are known from the pages that contain the bytes of each message.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Writer

import strapdown.formats as files
from strapdown.errors import FormatError, TruncatedError
from strapdown.series import ImuSeries

IMU, TEXT = "sensor_msgs/msg/Imu", "std_msgs/msg/String"
TOPIC = "/imu/data"
PAGE = 4096


@pytest.fixture
def folder(tmp_path, ros2, imu_numbers):
    """Write a bag of 40 Imu and 4 texts, its pages in their order."""

    def make(mode=None):
        writer = Writer(tmp_path / "bag", version=9)
        if mode is not None:
            writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
        with writer:
            imu = writer.add_connection(TOPIC, IMU, typestore=ros2.store)
            text = writer.add_connection("/chat", TEXT, typestore=ros2.store)
            for row, (stamp, numbers) in enumerate(zip(*imu_numbers, strict=True)):
                raw = ros2.serialize(ros2.imu(int(stamp), numbers))
                writer.write(imu, int(stamp), raw)
                if row % 10 == 5:
                    writer.write(text, int(stamp), ros2.serialize(ros2.text("hi")))
        with closing(sqlite3.connect(tmp_path / "bag" / "bag.db3")) as opened:
            opened.execute("VACUUM")
        return tmp_path / "bag"

    return make


@pytest.fixture
def places(imu_numbers):
    """Return the places of the numbers of each Imu in a database, without stale copies."""

    def cells(data, page):
        count = int.from_bytes(data[page + 3 : page + 5], "big") if data[page] == 13 else 0
        pointers = data[page + 8 : page + 8 + 2 * count]
        return [
            page + int.from_bytes(pointers[at : at + 2], "big") for at in range(0, 2 * count, 2)
        ]

    def find(data):
        starts = [at for page in range(0, len(data), PAGE) for at in cells(data, page)]
        found = [
            max(at for at in starts if 0 <= data[at : at + 400].find(row.tobytes()) < 80)
            for row in imu_numbers[1]
        ]
        assert len(set(found)) == 40
        return found

    return find


def salvage(path, data):
    """Damage a database and read it; strict reading raises an error that mentions salvage."""
    (path / "bag.db3" if path.is_dir() else path).write_bytes(data)
    with pytest.raises(FormatError, match='on_error="salvage" gives'):
        files.open(path)
    return files.open(path, on_error="salvage")


def stamps(recording):
    return recording.imu[TOPIC].t_ns.tolist() if TOPIC in recording.imu else []


def database(folder, *, bare):
    return folder / "bag.db3" if bare else folder


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("mess", [bytes(PAGE), b"\xff" * PAGE])
def test_a_broken_page_costs_its_own_messages(folder, places, imu_numbers, bare, mess):
    path = database(folder(), bare=bare)
    data = (path if bare else path / "bag.db3").read_bytes()
    pages = [at // PAGE for at in places(data)]
    broken = pages[20]
    back = salvage(path, data[: broken * PAGE] + mess + data[(broken + 1) * PAGE :])
    left = [stamp for page, stamp in zip(pages, imu_numbers[0], strict=True) if page != broken]
    assert 20 < len(left) < 40
    assert stamps(back) == left
    texts = back.report.skipped["/chat"]
    assert back.report.lost_messages == 44 - len(left) - texts
    assert texts >= 2
    assert back.report.damage


@pytest.mark.parametrize("bare", [True, False])
def test_a_cut_database_gives_the_messages_of_its_whole_pages(folder, places, imu_numbers, bare):
    path = database(folder(), bare=bare)
    data = (path if bare else path / "bag.db3").read_bytes()
    pages = [at // PAGE for at in places(data)]
    last = pages[-1]
    assert last > pages[0]
    back = salvage(path, data[: last * PAGE])
    left = [stamp for page, stamp in zip(pages, imu_numbers[0], strict=True) if page < last]
    assert 0 < len(left) < 40
    assert stamps(back) == left
    assert f"expected {len(data)} bytes" in back.report.damage[0]
    if not bare:
        assert back.report.lost_messages == 44 - len(left) - back.report.skipped["/chat"]
    with pytest.raises(TruncatedError) as caught:
        files.open(path)
    assert caught.value.offset == last * PAGE


@pytest.mark.slow
def test_whatever_the_cut_messages_of_whole_pages_are_read_and_none_is_invented(
    folder, places, imu_numbers
):
    path = folder() / "bag.db3"
    data = path.read_bytes()
    whole = files.open(path).imu[TOPIC]
    cells = np.array(places(data))
    counts = set()
    for size in [*range(100, len(data), 997), len(data) - 1]:
        try:
            back = salvage(path, data[:size])
        except FormatError:
            assert size < 8 * PAGE  # the topics are missing
            continue
        rows = np.isin(imu_numbers[0], stamps(back))
        sure = (cells // PAGE + 1) * PAGE <= size
        possible = cells + 3 + 330 <= size  # bytes of size and number, and of a row at least
        assert (rows >= sure).all()
        assert (rows <= possible).all()
        assert not rows.any() or back.imu[TOPIC] == whole[rows]
        counts.add(int(rows.sum()))
    assert len(counts) > 10


@pytest.mark.parametrize(("number", "hidden"), [(100, ()), (1, (15,))])
def test_a_row_whose_number_is_wrong_hides_no_others(folder, places, imu_numbers, number, hidden):
    path = folder() / "bag.db3"
    data = bytearray(path.read_bytes())
    pages = [at // PAGE for at in places(data)]
    at = places(data)[15] + 2  # after the size of the row, of two bytes
    assert data[at] == 17  # it follows 15 Imu and a text
    data[at] = number
    broken = pages[30]
    assert broken != pages[15]
    back = salvage(path, data[: broken * PAGE] + bytes(PAGE) + data[(broken + 1) * PAGE :])
    left = [each for each in range(40) if pages[each] != broken and each not in hidden]
    assert stamps(back) == imu_numbers[0][left].tolist()


def test_messages_that_are_packed_one_by_one_are_unpacked(folder, imu_numbers):
    path = folder("MESSAGE")
    data = (path / "bag.db3").read_bytes()
    starts = [at for at in range(len(data)) if data[at : at + 4] == b"\x28\xb5\x2f\xfd"]
    broken = sorted(at // PAGE for at in starts)[len(starts) // 2]
    mess = bytearray(data[: broken * PAGE] + bytes(PAGE) + data[(broken + 1) * PAGE :])
    back = salvage(path, mess)
    assert 0 < len(stamps(back)) < 40
    assert set(stamps(back)) < set(imu_numbers[0].tolist())
    assert back.report.lost_messages == 44 - len(stamps(back)) - back.report.skipped["/chat"]
    whole = next(at for at in reversed(starts) if at // PAGE != broken)
    mess[whole + 4 : whole + 100] = b"\xff" * 96
    assert len(stamps(salvage(path, mess))) == len(stamps(back)) - 1


@pytest.mark.parametrize("table", ["topics", "messages"])
def test_without_topics_or_the_root_of_the_messages_nothing_is_invented(folder, table):
    path = folder() / "bag.db3"
    with closing(sqlite3.connect(path)) as opened:
        (page,) = opened.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
    data = path.read_bytes()
    path.write_bytes(data[: (page - 1) * PAGE] + bytes(PAGE) + data[page * PAGE :])
    with pytest.raises(FormatError):
        files.open(path)
    if table == "topics":
        with pytest.raises(FormatError):
            files.open(path, on_error="salvage")
    else:
        report = files.open(path, on_error="salvage").report
        assert report.messages == 40  # their own pages are whole
        assert report.damage


def test_messages_of_a_topic_that_is_gone_are_counted_as_lost(folder):
    path = folder()
    with closing(sqlite3.connect(path / "bag.db3")) as opened:
        opened.execute("DELETE FROM topics WHERE name = '/imu/data'")
        opened.commit()
    back = salvage(path, (path / "bag.db3").read_bytes())
    assert back.report.messages == 0
    assert back.report.lost_messages == 40
    assert back.report.skipped == {"/chat": 4}


@pytest.mark.parametrize("rows", [400, pytest.param(16_000, marks=pytest.mark.slow)])
def test_much_damage_takes_no_longer_than_little(rows, tmp_path):
    rng = np.random.default_rng(1)
    series = ImuSeries(np.arange(1, rows + 1) * 10**7, *rng.normal(size=(2, rows, 3)))
    files.write(tmp_path / "bag", series)
    data = np.fromfile(tmp_path / "bag" / "bag.db3", np.uint8)
    pages = data.reshape(-1, PAGE).copy()
    pages[4::2] = rng.integers(256, size=pages[4::2].shape)
    scattered = data.copy()
    scattered[rng.integers(2 * PAGE, len(data), len(data) // 200)] ^= 0xFF
    upper = data.reshape(-1, PAGE).copy()
    upper[2:][np.isin(upper[2:, 0], (2, 5))] = 0  # of the trees all but the leaves
    for mess, least in ((pages, rows // 3), (scattered, rows // 2), (upper, rows)):
        (tmp_path / "a.db3").write_bytes(mess.tobytes())
        start = time.process_time()
        report = files.open(tmp_path / "a.db3", on_error="salvage").report
        assert time.process_time() - start < 0.5 + rows * 1e-4
        assert least <= report.messages <= rows
        assert report.messages + report.lost_messages == pytest.approx(rows, rel=0.02)
