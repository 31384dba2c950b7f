"""PROTO files in folders and archives."""

import io
import os
import tarfile
import zipfile

import pytest

from strapdown.errors import FormatError
from strapdown.webots.file.proto_library import ProtoLibrary
from strapdown.webots.file.world_file import devices_of, read_world

HEAD = "#VRML_SIM R2025a utf8\n"
BOARD = 'EXTERNPROTO "Chip.proto"\nPROTO Board [ ] { Group { children [ Chip { } Gyro { } ] } }'
WORLD = (
    f'{HEAD}EXTERNPROTO "https://example.org/r/protos/Board.proto"\n'
    "Robot { children Board { } }"
)


def packed(path, **files):
    """Write a zip or tar archive with PROTOs."""
    data = {f"r/protos/{name}.proto": (HEAD + text).encode() for name, text in files.items()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
            for name, content in data.items():
                pack.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as pack:
            for name, content in data.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                pack.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["protos.zip", "protos.tar", "protos.tar.gz"])
def test_archives_are_read_without_unpacking(tmp_path, name):
    archive = packed(tmp_path / name, Board=BOARD, Chip="PROTO Chip [ ] { Accelerometer { } }")
    world = read_world(WORLD, proto_dirs=[archive])
    assert [device.type for device in devices_of(world.robots[0])] == ["Accelerometer", "Gyro"]
    assert list(tmp_path.iterdir()) == [archive]


def test_the_environment_names_places(tmp_path, monkeypatch):
    archive = packed(tmp_path / "b.zip", Board="PROTO Board [ ] { Gyro { } }")
    (tmp_path / "c").mkdir()
    monkeypatch.setenv("STRAPDOWN_PROTO_PATH", f"{tmp_path / 'c'}{os.pathsep}{archive}")
    assert len(devices_of(read_world(WORLD).robots[0])) == 1


def test_the_address_decides_between_files_with_one_name(tmp_path):
    for folder in ("a/protos", "b/protos"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "Board.proto").write_text(HEAD)
    library = ProtoLibrary([tmp_path])
    assert library.find("Board", "webots://x/b/protos/Board.proto").path.parts[-3] == "b"
    assert library.find("Board").path.parts[-3] == "a"
    assert library.find("Nothing") is None


def test_a_place_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such folder or archive of PROTOs"):
        read_world(WORLD, proto_dirs=[tmp_path / "absent"])


@pytest.mark.parametrize("keep", [0, 10, 100])
def test_a_damaged_archive_is_an_error(tmp_path, keep):
    archive = packed(tmp_path / "b.tar.gz", Board=BOARD)
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(FormatError, match="a zip or tar archive, with PROTO files"):
        read_world(WORLD, proto_dirs=[archive])


def test_a_file_of_great_size_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        pack.writestr("Board.proto", b" " * (33 * 2**20))
    with pytest.raises(FormatError, match="at most 32 MiB each"):
        read_world(WORLD, proto_dirs=[tmp_path / "b.zip"])


def test_a_link_to_nothing_in_an_archive_is_an_error(tmp_path):
    with tarfile.open(tmp_path / "b.tar", "w") as pack:
        link = tarfile.TarInfo("Board.proto")
        link.type, link.linkname = tarfile.SYMTYPE, "Nothing.proto"
        pack.addfile(link)
    with pytest.raises(FormatError, match="a zip or tar archive, with PROTO files"):
        read_world(WORLD, proto_dirs=[tmp_path / "b.tar"])


def test_an_encrypted_archive_is_an_error(tmp_path):
    archive = packed(tmp_path / "b.zip", Board=BOARD)
    data = bytearray(archive.read_bytes())
    data[6] |= 1  # the flags of the member, and those in the directory
    data[data.find(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(FormatError, match="encrypted"):
        read_world(WORLD, proto_dirs=[archive])
