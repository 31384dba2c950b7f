"""Block-by-block writing of recordings."""

from __future__ import annotations

import tracemalloc
import zipfile

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.formats import Recording, block_writer
from strapdown.series import ImuSeries, Trajectory

WHOLE = (".mcap", ".npz", ".parquet")


def rows_of(recording: Recording, rows: slice) -> Recording:
    return Recording(
        imu={topic: series[rows] for topic, series in recording.imu.items()},
        trajectories={topic: track[rows] for topic, track in recording.trajectories.items()},
        increments={topic: series[rows] for topic, series in recording.increments.items()},
    )


def imu(rows: int, seed: int = 0) -> ImuSeries:
    rng = np.random.default_rng(seed)
    return ImuSeries(
        np.arange(rows) * 5_000_000,
        rng.standard_normal((rows, 3)),
        rng.standard_normal((rows, 3)),
        angular_velocity_covariance=np.broadcast_to(np.eye(3), (rows, 3, 3)),
        specific_force_covariance=np.broadcast_to(np.eye(3), (rows, 3, 3)),
        magnetic_field=rng.standard_normal((rows, 3)),
    )


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_a_whole_recording_reads_back_equal(tmp_path, recording, ending):
    report = files.write(tmp_path / f"a{ending}", recording)
    back = files.open(tmp_path / f"a{ending}")
    assert not report.lost
    assert back.imu == recording.imu
    assert back.trajectories == recording.trajectories
    assert back.increments == recording.increments
    assert back.report.messages == report.messages


@pytest.mark.parametrize("ending", WHOLE)
@pytest.mark.parametrize("size", [1, 7, 60])
def test_blocks_read_back_as_the_whole(tmp_path, ending, size):
    whole = Recording(
        imu={"a/data": imu(60), "b/data": imu(60, 1)},
        trajectories={"truth": Trajectory(imu(60).t_ns, np.tile([0, 0, 0, 1.0], (60, 1)))},
    )
    with block_writer(tmp_path / f"a{ending}") as writer:
        for start in range(0, 60, size):
            writer.write(rows_of(whole, slice(start, start + size)))
    assert not writer.lost
    back = files.open(tmp_path / f"a{ending}")
    assert back.imu == whole.imu
    assert back.trajectories["truth"] == whole.trajectories["truth"]


def test_a_csv_file_grows_by_blocks_to_the_same_bytes(tmp_path):
    series = imu(60)
    at_once = files.write(tmp_path / "a.csv", series)
    with block_writer(tmp_path / "b.csv") as writer:
        for start in range(0, 60, 7):
            writer.write(Recording(imu={"imu/data": series[start : start + 7]}))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert writer.messages == at_once.messages == 60


def test_losses_of_blocks_add_up(tmp_path):
    track = Trajectory(np.arange(10), np.zeros((10, 4)), moving=np.ones(10, np.bool_))
    with block_writer(tmp_path / "a.csv") as writer:
        for start in (0, 5):
            half = {"truth": track[start : start + 5]}
            writer.write(Recording(trajectories=half))
        writer.write(Recording(trajectories={"truth": track[:1], "other": track[1:4]}))
    assert writer.lost == ["moving of 11 samples", "other: 3 rows of Trajectory"]


@pytest.mark.parametrize("ending", WHOLE)
def test_a_topic_keeps_its_frames_and_columns(tmp_path, ending):
    series = imu(4)
    blocks = (series, series.in_frames(body="FRD"))

    def write_all() -> None:
        with block_writer(tmp_path / f"a{ending}") as writer:
            for block in blocks:
                writer.write(Recording(imu={"imu": block}))

    with pytest.raises((ShapeError, ValueRangeError), match="imu"):
        write_all()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_a_file_without_blocks_is_an_empty_recording(tmp_path, ending):
    with block_writer(tmp_path / f"a{ending}"):
        pass
    back = files.open(tmp_path / f"a{ending}")
    assert (back.imu, back.trajectories, back.increments) == ({}, {}, {})


def test_a_column_of_equal_rows_is_stored_once_and_opens_in_numpy(tmp_path):
    files.write(tmp_path / "a.npz", imu(1000))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        size = archive.getinfo("imu/data/angular_velocity_covariance.npy").file_size
    assert size == 128 + 72
    with np.load(tmp_path / "a.npz") as arrays:
        np.testing.assert_array_equal(arrays["imu/data/t_ns"], imu(1000).t_ns)


def test_a_column_may_turn_from_constant_to_varying_between_blocks(tmp_path):
    series = imu(10)
    rate = series.angular_velocity.copy()
    rate[:7] = np.nan
    series = series.replace(angular_velocity=rate)
    with block_writer(tmp_path / "a.npz") as writer:
        for start in range(0, 10, 5):
            writer.write(Recording(imu={"imu": series[start : start + 5]}))
    assert files.open(tmp_path / "a.npz").imu["imu"] == series


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_memory_does_not_grow_with_the_number_of_blocks(tmp_path, ending):
    block = Recording(imu={"imu": imu(600).replace(magnetic_field=None)})
    with block_writer(tmp_path / f"a{ending}") as writer:
        writer.write(block)
        tracemalloc.start()
        for _ in range(2):
            writer.write(block)
        _, few = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(8):
            writer.write(block)
        _, many = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert many < 1.5 * few + 200_000


def test_an_unknown_ending_names_the_known_ones(tmp_path):
    with (
        pytest.raises(UnknownNameError, match=r"\.npz"),
        block_writer(tmp_path / "a.npy"),
    ):
        pass


@pytest.mark.parametrize("ending", [".mcap", ".bag", ".ulg", ".csv", ".tum", ".npz", ".parquet"])
def test_every_writer_gives_an_account_of_what_it_wrote(tmp_path, ending):
    track = Trajectory(imu(3).t_ns, np.tile([0, 0, 0, 1.0], (3, 1)), name="pose")
    with block_writer(tmp_path / f"a{ending}") as writer:
        writer.write(Recording(trajectories={"pose": track}))
    renamed = ["pose: written as vehicle_attitude.0"] if ending == ".ulg" else []
    assert (writer.messages, list(writer.notes)) == (3, renamed)
