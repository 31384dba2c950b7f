"""Parquet tables, also read by pyarrow as a second reader."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strapdown.formats as files
from strapdown.errors import ChecksumError, FormatError
from strapdown.formats import Recording
from strapdown.formats.arrays import parquet, parquet_writer
from strapdown.series import Trajectory


def test_every_column_is_found_under_its_name_by_another_reader(tmp_path, recording):
    parquet.write(tmp_path / "a.parquet", recording)
    table = pq.read_table(tmp_path / "a.parquet")
    for topic, series in recording.imu.items():
        rows = table.filter(pa.compute.equal(table["topic"], topic))
        np.testing.assert_array_equal(rows["t_ns"].to_numpy(), series.t_ns)
        for column, axis in enumerate("xyz"):
            found = rows[f"specific_force_{axis}"].to_numpy()
            np.testing.assert_array_equal(found, series.specific_force[:, column])
    track = next(iter(recording.trajectories))
    rows = table.filter(pa.compute.equal(table["topic"], track))
    assert rows["specific_force_x"].null_count == rows.num_rows


def test_a_table_of_another_program_without_a_sensor_is_refused(tmp_path):
    pq.write_table(pa.table({"t": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="unit of the time 't'"):
        files.open(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "said",
    [
        "{",
        "[]",
        '{"topics": {"a": {"holds": "shoes", "columns": []}}}',
        '{"topics": {"a": {"holds": "imu", "columns": ["t_ns", "gyro"]}}}',
        '{"topics": {"a": {"holds": "imu", "columns": ["t_ns"]}}}',
    ],
)
def test_metadata_that_make_no_sense_are_damage(tmp_path, said):
    columns = {"topic": pa.array(["a"]), "t_ns": pa.array([1])}
    schema = pa.table(columns).schema.with_metadata({"strapdown": said})
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "a.parquet")
    with pytest.raises(FormatError):
        files.open(tmp_path / "a.parquet")


def test_a_cut_file_is_damage(tmp_path, recording):
    parquet.write(tmp_path / "a.parquet", recording)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="damage"):
        files.open(tmp_path / "b.parquet")


def test_columns_that_repeat_themselves_cost_little(tmp_path):
    n = 100_000
    track = Trajectory(np.arange(n), np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)))
    parquet.write(tmp_path / "a.parquet", Recording(trajectories={"truth": track}))
    assert (tmp_path / "a.parquet").stat().st_size < n * 5
    metadata = pq.read_schema(tmp_path / "a.parquet").metadata
    assert json.loads(metadata[b"strapdown"])["topics"]["truth"]["world"] == "ENU"


def track(rows):
    q = np.random.default_rng(1).standard_normal((rows, 4))
    return Trajectory(np.arange(rows), q)


def test_pages_have_checksums_and_a_damaged_row_group_costs_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_writer, "_ROWS", 100)
    path, whole = tmp_path / "a.parquet", track(1000)
    parquet.write(path, Recording(trajectories={"truth": whole}))
    with pq.ParquetFile(path) as file:
        column = file.metadata.row_group(3).column(4)
        data = bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size - 9] ^= 4
    path.write_bytes(data)
    with pytest.raises(ChecksumError, match=r'CRC checksum.*on_error="salvage" gives'):
        files.open(path)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)
    back = files.open(path, on_error="salvage")
    kept = np.r_[0:300, 400:1000]
    assert back.trajectories["truth"] == whole[kept]
    assert back.report.lost_messages == 100
    assert back.report.damage[0].startswith("row group 3: 100 rows left out")


def test_a_row_group_that_is_missing_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_writer, "_ROWS", 100)
    path = tmp_path / "a.parquet"
    parquet.write(path, Recording(trajectories={"truth": track(300)}))
    with pq.ParquetFile(path) as file:
        metadata = file.schema_arrow.metadata | {b"strapdown.rows": b'{"truth": 300}'}
        table = file.read_row_groups([0, 2]).replace_schema_metadata(metadata)
    pq.write_table(table, path)
    with pytest.raises(FormatError, match="expected 300 rows, got 200"):
        files.open(path)
    assert files.open(path, on_error="salvage").report.lost_messages == 100


def test_a_table_of_an_older_release_without_checksums_is_read(tmp_path, recording):
    path = tmp_path / "a.parquet"
    parquet.write(path, recording)
    with pq.ParquetFile(path) as file:
        table, metadata = file.read(), dict(file.schema_arrow.metadata)
    del metadata[b"strapdown.crc32"]
    pq.write_table(table.replace_schema_metadata(metadata), path)
    back = files.open(path)
    assert (back.imu, back.trajectories) == (recording.imu, recording.trajectories)
    assert back.report.lossless


def test_headers_of_topics_have_a_checksum(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write(path, Recording(trajectories={"truth": track(3)}))
    with pq.ParquetFile(path) as file:
        table, metadata = file.read(), dict(file.schema_arrow.metadata)
    metadata[b"strapdown"] = metadata[b"strapdown"].replace(b"ENU", b"NED")
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(FormatError, match="checksum of the headers"):
        files.open(path)
