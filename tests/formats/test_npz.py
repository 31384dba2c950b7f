"""Arrays of the BROAD and TUM-VI benchmarks."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from strapdown.formats.arrays import npz
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.foreign import Hints, read_sheet, recognised

if TYPE_CHECKING:
    from pathlib import Path

ROWS = {
    "02_undisturbed_slow_rotation_B": 53240,
    "34_disturbed_attached_magnet_3cm": 48305,
}


def broad(rows: int = 4, **changes) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    vectors = {
        name: rng.standard_normal((rows, 3), np.float32) for name in ("gyr", "acc", "mag", "pos")
    }
    return {
        **vectors,
        "ref": rng.standard_normal((rows, 4), np.float32),
        "mov": np.arange(rows) > 1,
        "fs": np.float64(2000 / 7),
        **changes,
    }


def save(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    np.savez_compressed(path, **arrays)
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "a.npz"


@pytest.mark.parametrize("trial", ROWS)
def test_a_broad_trial_is_read_in_our_units_order_and_exact_times(trial, data_dir):
    file = data_dir / "broad" / f"{trial}.npz"
    recording = npz.read(file, salvage=False)
    imu, reference = recording.imu["imu"], recording.trajectories["reference"]
    with np.load(file) as arrays:
        assert len(imu) == ROWS[trial]
        assert imu.t_ns[[0, 1, 7, -1]].tolist() == [
            0,
            3_500_000,
            24_500_000,
            (len(imu) - 1) * 3_500_000,
        ]
        np.testing.assert_array_equal(imu.angular_velocity, arrays["gyr"])
        np.testing.assert_array_equal(imu.specific_force, arrays["acc"])
        np.testing.assert_allclose(
            imu.magnetic_field, arrays["mag"].astype(float) / 1e6, rtol=1e-15
        )
        np.testing.assert_array_equal(reference.q_world_from_body[:, 3], arrays["ref"][:, 0])
        np.testing.assert_array_equal(reference.q_world_from_body[:, :3], arrays["ref"][:, 1:])
        np.testing.assert_array_equal(reference.position_world, arrays["pos"])
        np.testing.assert_array_equal(reference.moving, arrays["mov"])
    assert (imu.body, reference.world) == ("FLU", "ENU")


def test_gravity_of_a_resting_trial_points_up_in_the_world(data_dir):
    recording = npz.read(data_dir / "broad" / "02_undisturbed_slow_rotation_B.npz", salvage=False)
    imu, reference = recording.imu["imu"], recording.trajectories["reference"]
    row = int(np.flatnonzero(np.isfinite(reference.q_world_from_body[:, 0]))[0])
    x, y, z, w = reference.q_world_from_body[row]
    up_in_body = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(imu.specific_force[row], 9.81 * up_in_body, atol=0.3)


def test_a_room_of_tum_vi_is_read(data_dir):
    file = data_dir / "tumvi" / "room1.npz"
    recording = npz.read(file, salvage=False)
    imu, reference = recording.imu["imu"], recording.trajectories["reference"]
    with np.load(file) as arrays:
        np.testing.assert_array_equal(imu.t_ns, arrays["t_ns"])
        np.testing.assert_array_equal(imu.specific_force, arrays["acc"])
        np.testing.assert_array_equal(reference.t_ns, arrays["gt_t_ns"])
        np.testing.assert_array_equal(reference.position_world, arrays["gt"][:, :3])
        np.testing.assert_array_equal(reference.q_world_from_body, arrays["gt"][:, [4, 5, 6, 3]])
    assert recording.report.messages == 28122 + 16541


def test_stamps_of_another_rate_are_rounded_to_the_nearest_nanosecond(path):
    recording = npz.read(save(path, broad(fs=np.float64(300.0))), salvage=False)
    assert recording.imu["imu"].t_ns.tolist() == [0, 3_333_333, 6_666_667, 10_000_000]


def test_arrays_stored_by_column_and_big_endian_are_the_same(path):
    arrays = broad()
    expected = npz.read(save(path, arrays), salvage=False)
    turned = {
        name: np.asarray(array, np.asarray(array).dtype.newbyteorder(">"), order="F")
        for name, array in arrays.items()
    }
    got = npz.read(save(path, turned), salvage=False)
    assert got.imu == expected.imu
    assert got.trajectories == expected.trajectories


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"acc": np.zeros((5, 3), np.float32)},
            r"expected array acc of shape \(4, 3\), got \(5, 3\)",
        ),
        ({"gyr": np.float32(1.0)}, "expected array gyr of shape"),
        ({"ref": np.zeros((4, 3))}, r"expected array ref of shape \(4, 4\)"),
        ({"mag": np.zeros((4, 3), np.int32)}, "expected array mag of type 'f', got int32"),
        ({"mov": np.zeros(4)}, "expected array mov of type 'b'"),
        ({"gyr": np.zeros((4, 3), object)}, "expected array gyr of type 'f', got object"),
        ({"fs": np.float64(0.0)}, "expected a rate fs of"),
        ({"fs": np.float64(np.nan)}, "expected a rate fs of"),
    ],
)
def test_an_array_of_another_shape_or_type_is_refused(changes, complaint, path):
    with pytest.raises(FormatError, match=complaint):
        npz.read(save(path, broad(**changes)), salvage=False)


def test_arrays_of_another_program_are_recognised_or_asked_about(data_dir):
    path = data_dir / "pyshoe" / "2017-11-22-11-22-03.npz"
    with pytest.raises(FormatError, match="unit of gyr x, gyr y, gyr z"):
        npz.read(path, salvage=False)
    plan = recognised(read_sheet(path), Hints({"angular_velocity": "rad/s"})).plan
    series = npz.read(path, salvage=False, plan=plan).imu["imu"]
    with np.load(path) as arrays:
        np.testing.assert_array_equal(series.specific_force, arrays["acc"].astype(float))
        np.testing.assert_array_equal(series.t_ns, np.rint(arrays["t"] * 1e9))


def test_an_archive_that_is_cut_is_truncated(path):
    data = save(path, broad()).read_bytes()
    for cut in (0, 10, 100, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(TruncatedError, match="zip directory"):
            npz.read(path, salvage=True)


def bomb(path: Path, claimed_rows: int, data: bytes) -> Path:
    """Write an archive whose array ``gyr`` claims more rows than there are."""
    save(path, broad())
    header = (
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({claimed_rows}, 3), }}\n".encode()
    )
    array = io.BytesIO()
    array.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in {**members, "gyr.npy": array.getvalue()}.items():
            new.writestr(name, content)
    return path


def test_a_header_that_claims_more_than_there_is_allocates_nothing(path):
    with pytest.raises(FormatError, match="expected array gyr"):
        npz.read(bomb(path, 10**12, bytes(48)), salvage=False)


def test_an_archive_that_would_unpack_to_a_gigabyte_is_refused(path, monkeypatch):
    monkeypatch.setattr(npz, "_LARGEST_ARRAY", 10_000)
    with pytest.raises(UnsupportedError, match="expected array gyr of 10000 bytes at most"):
        npz.read(bomb(path, 1000, bytes(12_000)), salvage=False)


def test_other_compression_is_not_supported(path):
    arrays = {f"{name}.npy": io.BytesIO() for name in broad()}
    for (name, file), array in zip(arrays.items(), broad().values(), strict=True):
        assert name
        np.save(file, array)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, file in arrays.items():
            archive.writestr(name, file.getvalue())
    with pytest.raises(UnsupportedError, match="stored or deflated"):
        npz.read(path, salvage=False)


def test_an_npz_is_known_by_its_first_member(path):
    head = save(path, broad()).read_bytes()[:512]
    assert npz.sniff(head, path)
    assert not npz.sniff(b"PK\x03\x04" + bytes(500), path)
    assert not npz.sniff(b"", path)


def places(path):
    """Return begin and end of the data of each member."""
    with zipfile.ZipFile(path) as archive:
        found = {}
        for member in archive.infolist():
            with archive.open(member):
                pass
            head = path.read_bytes()[member.header_offset : member.header_offset + 30]
            named, extra = struct.unpack("<HH", head[26:])
            begin = member.header_offset + 30 + named + extra
            found[member.filename] = begin, begin + member.compress_size
    return found


def test_whole_arrays_of_a_cut_archive_are_read(path, recording):
    npz.write(path, recording)
    members, data = places(path), path.read_bytes()
    begin, end = members["imu/data_raw/specific_force.npy"]
    path.write_bytes(data[: (begin + end) // 2])
    with pytest.raises(TruncatedError, match="zip directory"):
        files.open(path)
    back = files.open(path, on_error="salvage")
    assert back.imu["imu/data"] == recording.imu["imu/data"]
    raw, written = back.imu["imu/data_raw"], recording.imu["imu/data_raw"]
    assert raw.t_ns.tolist() == written.t_ns.tolist()
    assert raw.angular_velocity.tolist() == written.angular_velocity.tolist()
    assert np.isnan(raw.specific_force).all()
    assert not back.trajectories
    assert any("imu/data_raw/specific_force: left out" in line for line in back.report.damage)
    assert not back.report.lossless


def test_an_archive_without_its_directory_is_whole_but_damaged(path, recording):
    npz.write(path, recording)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"PK\x01\x02")])
    back = files.open(path, on_error="salvage")
    assert (back.imu, back.trajectories, back.increments) == (
        recording.imu,
        recording.trajectories,
        recording.increments,
    )
    assert back.report.damage == ("the zip directory at the end of the file is lost",)


@pytest.mark.parametrize(
    ("member", "lost_rows"),
    [
        ("imu/data/magnetic_field.npy", 0),
        ("imu/data/t_ns.npy", 60),
        ("vehicle_imu/delta_angle_dt_ns.npy", 60),
    ],
)
def test_a_damaged_array_costs_its_column_or_the_topic_that_needs_it(
    path, recording, member, lost_rows
):
    npz.write(path, recording)
    begin, end = places(path)[member]
    data = bytearray(path.read_bytes())
    data[end - 3] ^= 1
    assert end > begin
    path.write_bytes(data)
    with pytest.raises(ChecksumError, match=r'Bad CRC-32.*on_error="salvage"'):
        files.open(path)
    back = files.open(path, on_error="salvage")
    assert back.report.lost_messages == lost_rows
    assert back.report.damage[0].startswith(member.removesuffix(".npy"))
    topic, _, column = member.removesuffix(".npy").rpartition("/")
    held = {**back.imu, **back.increments}
    assert (topic in held) == (lost_rows == 0)
    if topic in held:
        assert getattr(held[topic], column) is None
    assert back.trajectories == recording.trajectories


def test_a_member_that_claims_half_a_gigabyte_is_read_to_the_end_of_the_file(path, recording):
    npz.write(path, recording)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = struct.pack("<II", 2**29, 2**29)  # both sizes of the first
    path.write_bytes(data)
    tracemalloc.start()
    for way in ("strict", "salvage"):
        with pytest.raises(FormatError):
            files.open(path, on_error=way)
        with pytest.raises(NeedsWhole):
            list(npz.NpzBlocks(path, None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**26
