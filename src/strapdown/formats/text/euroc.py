"""EuRoC: IMU and ground truth in CSV files with one comment line, or their ``mav0`` folder.

* ``imu0/data.csv``: stamp [ns], angular velocity x y z [rad/s], specific force x y z [m/s^2];
* ground truth: stamp [ns], position x y z [m], quaternion **w** x y z; in files of 17 columns also
  velocity x y z [m/s] and two biases, which are not read.

The body axes are those of the sensor, labelled FLU here; the world has z up and an arbitrary
heading, and is labelled ENU.

References
----------
M. Burri et al., The EuRoC micro aerial vehicle datasets, Int. J. Robotics Research 35(10), 2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.errors import FormatError, UnsupportedError
from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.summary import of_rows
from strapdown.formats.text.lines import read_opening
from strapdown.formats.text.rows import Column, Layout
from strapdown.formats.text.table import read_stamps, read_table
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from strapdown.formats.summary import Summary
    from strapdown.formats.text.table import Table

__all__ = ["read", "sniff", "summarize"]

_TRUTHS: Final = ("state_groundtruth_estimate0", "mocap0", "vicon0")
_IMU: Final = ("w_x", "w_y", "w_z", "a_x", "a_y", "a_z")
_POSE: Final = ("p_x", "p_y", "p_z", "q_w", "q_x", "q_y", "q_z")
_VELOCITY: Final = ("v_x", "v_y", "v_z")
_BIASES: Final = 6


def sniff(head: bytes, path: Path) -> bool:
    """Return whether a file begins with ``#timestamp``, or a folder holds EuRoC files."""
    if path.is_dir():
        return bool(_files(path))
    return head.lstrip(b"\xef\xbb\xbf").startswith(b"#timestamp")


def read(path: Path, *, salvage: bool) -> Recording:
    """Read one EuRoC file, or the IMUs and the ground truth of a folder.

    Parameters
    ----------
    path : Path
        A ``data.csv``, the folder ``mav0``, or the folder that holds it.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.

    Returns
    -------
    Recording
        ``imu["imu0"]`` and ``trajectories["ground_truth"]``, as far as they exist.

    Raises
    ------
    FormatError
        A row is damaged, or the folder contains no such file.
    TruncatedError
        A file ends inside a row.
    UnsupportedError
        The columns are those of another sensor.
    """
    files = _files(path) if path.is_dir() else {"": path}
    if not files:
        raise FormatError("expected mav0/imu0/data.csv or a ground truth in the folder", path=path)
    layouts = {name: _layout(file) for name, file in files.items()}
    tables = {
        name: (read_table(files[name], layout, salvage=salvage), layout)
        for name, layout in layouts.items()
    }
    return _recording(path, tables)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder: every IMU, and the first ground truth."""
    root = folder / "mav0" if (folder / "mav0").is_dir() else folder
    imus = {file.parent.name: file for file in sorted(root.glob("imu*/data.csv"))}
    truths = [root / name / "data.csv" for name in _TRUTHS]
    return imus | {file.parent.name: file for file in truths if file.is_file()}


def summarize(path: Path) -> Summary | None:
    """Summarise one file from its stamps and its first rows; None for a folder.

    Raises
    ------
    FormatError
        No row can be read.
    """
    if path.is_dir():
        return None
    layout = _layout(path)
    first = _recording(path, {"": (read_table(path, layout, salvage=True, blocks=1), layout)})
    return of_rows(first, *read_stamps(path, layout))


def _recording(path: Path, files: Mapping[str, tuple[Table, Layout]]) -> Recording:
    """Return the recording of tables by their names."""
    imu, truth = {}, {}
    for name, (table, layout) in files.items():
        series = _series(table, layout)
        if isinstance(series, ImuSeries):
            imu[name or "imu0"] = series
        else:
            truth["ground_truth"] = series
    report = ReadReport(
        "euroc",
        messages=sum(len(table.t_ns) for table, _ in files.values()),
        lost_messages=sum(table.lost for table, _ in files.values()),
        notes=(
            "the axes of the sensor are called FLU, those of the reference ENU",
            *(note for table, _ in files.values() for note in table.notes),
        ),
    )
    return Recording(path, report, imu, truth)


def _layout(path: Path) -> Layout:
    opening = read_opening(path)
    width = len((*opening.comments, opening.line)[0].split(","))
    names = {
        1 + len(_IMU): _IMU,
        1 + len(_POSE): _POSE,
        1 + len(_POSE) + len(_VELOCITY) + _BIASES: _POSE + _VELOCITY,
    }.get(width)
    if names is None:
        raise UnsupportedError(
            f"expected 7 columns (IMU), 8 or 17 (ground truth), got {width}", path=path
        )
    return Layout(
        separator=",",
        width=width,
        stamp=Column("timestamp", 0),
        read_stamp=int,
        columns=[Column(name, cell) for cell, name in enumerate(names, 1)],
        header=0,
        ended=False,
    )


def _series(table: Table, layout: Layout) -> ImuSeries | Trajectory:
    values = table.values
    if len(layout.columns) == len(_IMU):
        return ImuSeries(table.t_ns, values[:, :3], values[:, 3:])
    return Trajectory(
        table.t_ns,
        quaternion.from_wxyz(values[:, 3:7]),
        position_world=values[:, :3],
        velocity_world=values[:, 7:] if values.shape[1] > len(_POSE) else None,
    )
