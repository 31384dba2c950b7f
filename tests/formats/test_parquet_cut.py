"""Parquet files that are cut: every whole row group is read, and the loss is counted."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import strapdown.formats as files
from strapdown.errors import TruncatedError
from strapdown.formats import Recording, long_files
from strapdown.formats.arrays import parquet_writer
from strapdown.formats.recovery import recover
from strapdown.series import ImuSeries, Trajectory

ROWS = 100


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A file of two topics in row groups of 100 rows, its series, and the end of each group."""
    monkeypatch.setattr(parquet_writer, "_ROWS", ROWS)
    rng, path = np.random.default_rng(1), tmp_path / "whole.parquet"
    imu = ImuSeries(
        np.arange(450), *rng.standard_normal((2, 450, 3)), gyro_clipping=np.arange(450) % 8
    )
    moving = rng.integers(0, 2, 230).astype(bool)
    truth = Trajectory(np.arange(230), rng.standard_normal((230, 4)), moving=moving)
    with files.block_writer(path) as writer:
        for k in range(2):
            part, rest = (slice(None, 200), slice(200, None))[k], (slice(0), slice(None))[k]
            writer.write(Recording(imu={"imu": imu[part]}, trajectories={"truth": truth[rest]}))
    return path, imu, truth


def groups_of(path):
    """Return end, topic and number of rows of each row group by the directory of the library."""
    found = []
    with pq.ParquetFile(path) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            first, last = group.column(0), group.column(group.num_columns - 1)
            start = last.dictionary_page_offset or last.data_page_offset
            if group.num_rows:
                end = start + last.total_compressed_size
                found.append(
                    (first.dictionary_page_offset, end, first.statistics.min, group.num_rows)
                )
    return found


def test_every_whole_row_group_of_a_cut_file_comes_back(written, stride, tmp_path):
    path, imu, truth = written
    data, groups = path.read_bytes(), groups_of(path)
    assert sum(rows for *_, rows in groups) == 680
    ends = [end for _, end, *_ in groups]
    step = max(97, 29 * stride)
    cuts = {*range(groups[0][0], len(data), step), *ends, *(end - 1 for end in ends), len(data) - 1}
    for cut in sorted(cuts):
        short = tmp_path / "cut.parquet"
        short.write_bytes(data[:cut])
        with pytest.raises(TruncatedError, match=r'on_error="salvage" gives'):
            files.open(short)
        back = files.open(short, on_error="salvage")
        kept = {"imu": 0, "truth": 0}
        for _, end, topic, rows in groups:
            kept[topic] += rows if end <= cut else 0
        assert back.imu["imu"] == imu[: kept["imu"]], cut
        assert back.trajectories["truth"] == truth[: kept["truth"]], cut
        assert back.report.messages == sum(kept.values())
        start = max([groups[0][0], *(end for end in ends if end <= cut)])
        assert back.report.lost_bytes <= cut - start  # groups without rows are whole, too
        assert back.report.damage[0].startswith(f"the file is cut, {back.report.lost_bytes} byte")
        for start, end, _, rows in groups:
            if start < cut < end:
                known = cut > start + 200  # the first column is short
                lost = back.report.lost_messages
                assert lost == rows if known else lost <= rows


def test_before_its_declaration_is_whole_nothing_can_be_read(written, tmp_path):
    path, *_ = written
    data, (first, *_) = path.read_bytes(), groups_of(path)[0]
    for cut in range(13, first - 1, 101):
        (tmp_path / "cut.parquet").write_bytes(data[:cut])
        with pytest.raises(TruncatedError, match=r"is lost$"):
            files.open(tmp_path / "cut.parquet", on_error="salvage")


def test_a_page_that_is_damaged_before_the_cut_costs_its_row_group(written, tmp_path):
    path, imu, _ = written
    data, (_, (_, end, *_), (_, last, *_), *_) = bytearray(path.read_bytes()), groups_of(path)
    data[end - 5] ^= 1
    (tmp_path / "cut.parquet").write_bytes(data[:last])
    back = files.open(tmp_path / "cut.parquet", on_error="salvage")
    assert back.imu["imu"] == imu[np.r_[0:100, 200:300]]
    assert back.report.lost_messages == ROWS
    assert "row group 1: 100 rows left out" in back.report.damage[1]


def test_a_cut_file_is_summarised_read_in_blocks_and_recovered(written, tmp_path, monkeypatch):
    path, imu, _ = written
    monkeypatch.setattr(long_files, "_LARGE", 0)
    monkeypatch.setattr(long_files, "_BLOCKWISE", 0)
    short, (_, _, (_, end, *_), *_) = tmp_path / "cut.parquet", groups_of(path)
    short.write_bytes(path.read_bytes()[: end + 300])
    summary = long_files.summarize(short)
    assert {each.topic: each.clock.samples for each in summary.topics} == {"imu": 300, "truth": 0}
    assert (summary.report.lost_messages, summary.report.lost_bytes) == (100, 300)
    report = recover(short, tmp_path / "mended.parquet")
    assert (report.messages, report.lost_messages, report.lost_bytes) == (300, 100, 300)
    assert files.open(tmp_path / "mended.parquet").imu["imu"] == imu[:300]


def test_a_cut_file_of_another_writer_says_only_that_it_is_cut(written, tmp_path):
    path, *_ = written
    table, other = pq.read_table(path), tmp_path / "other.parquet"
    pq.write_table(table, other)
    other.write_bytes(other.read_bytes()[:-9])
    with pytest.raises(TruncatedError, match=r"is lost$"):
        files.open(other, on_error="salvage")
    with pytest.raises(TruncatedError, match=r"is lost$"):
        long_files.summarize(other)
