"""Parquet tables, also read by pyarrow as a second reader."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.formats import Recording
from strapdown.formats.arrays import parquet
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
