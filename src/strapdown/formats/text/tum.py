"""TUM trajectories: ``time x y z qx qy qz qw``, decimal seconds, white space, ``#`` comments.

Our files begin with ``# strapdown body=FLU world=ENU``. The format has no attitude without a
position: such a trajectory is written with zero positions and the tag ``position=none`` in the
first line, and reads back without a position.

References
----------
https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.formats.recording import Recording
from strapdown.formats.reports import ReadReport
from strapdown.formats.summary import of_rows
from strapdown.formats.text.lines import opening_of, read_opening
from strapdown.formats.text.rows import Column, Layout
from strapdown.formats.text.table import read_stamps, read_table, write_table
from strapdown.series import Trajectory
from strapdown.units import NS_PER_S, ns_from_decimal_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from strapdown._typing import AnyArray, IntArray
    from strapdown.formats.summary import Summary
    from strapdown.formats.text.lines import Opening
    from strapdown.formats.text.table import Table

__all__ = ["read", "sniff", "summarize", "write"]

_NAMES: Final = ("time", "x", "y", "z", "qx", "qy", "qz", "qw")


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001 (one signature for all formats)
    """Return whether the first row consists of eight numbers."""
    opening = opening_of(head)
    cells = [] if opening is None else opening.line.split()
    try:
        return len([float(cell) for cell in cells]) == len(_NAMES)
    except ValueError:
        return False


def read(path: Path, *, salvage: bool) -> Recording:
    """Read a TUM trajectory.

    Parameters
    ----------
    path : Path
        The file.
    salvage : bool
        Count damaged rows and leave them out, instead of raising an error.

    Returns
    -------
    Recording
        ``trajectories["trajectory"]``; stamps are exact to the nanosecond.

    Raises
    ------
    FormatError
        A row is damaged; the message names line and column.
    TruncatedError
        The file ends inside a row.
    """
    layout, opening = _layout(path)
    return _recording(path, opening, read_table(path, layout, salvage=salvage))


def summarize(path: Path) -> Summary:
    """Summarise a TUM trajectory from its stamps and its first rows.

    Raises
    ------
    FormatError
        No row can be read.
    """
    layout, opening = _layout(path)
    first = _recording(path, opening, read_table(path, layout, salvage=True, blocks=1))
    return of_rows(first, *read_stamps(path, layout))


def _layout(path: Path) -> tuple[Layout, Opening]:
    opening = read_opening(path)
    layout = Layout(
        separator=None,
        width=len(_NAMES),
        stamp=Column("time", 0),
        read_stamp=ns_from_decimal_seconds,
        columns=[Column(name, cell) for cell, name in enumerate(_NAMES[1:], 1)],
        header=0,
        ended=opening.tags is not None,
    )
    return layout, opening


def _recording(path: Path, opening: Opening, table: Table) -> Recording:
    body, world, notes = opening.frames(path)
    attitude_only = (opening.tags or {}).get("position") == "none"
    trajectory = Trajectory(
        table.t_ns,
        table.values[:, 3:],
        position_world=None if attitude_only else table.values[:, :3],
        body=body,
        world=world,
    )
    report = ReadReport("tum", len(trajectory), table.lost, notes=(*notes, *table.notes))
    return Recording(path, report, trajectories={"trajectory": trajectory})


def write(path: Path, trajectory: Trajectory, *, append: bool = False) -> list[str]:
    """Write a trajectory without rows that contain NaN, which other readers refuse.

    Parameters
    ----------
    path : Path
        The file; one that exists is replaced.
    trajectory : Trajectory
        Its velocity and its evaluation mask are not written.
    append : bool
        Append the rows to a file with the same frames.

    Returns
    -------
    list of str
        Content of the trajectory that the file cannot hold, one line each.
    """
    attitude = trajectory.q_world_from_body
    position = trajectory.position_world
    pose = np.column_stack(
        [np.zeros((len(trajectory), 3)) if position is None else position, attitude]
    )
    known = np.all(np.isfinite(pose), axis=1)
    lost = [
        f"{name} of {len(trajectory)} samples"
        for name in ("velocity_world", "moving")
        if getattr(trajectory, name) is not None
    ]
    if not known.all():
        lost.append(
            f"{len(known) - int(known.sum())} of {len(known)} rows, whose pose is not known"
        )
    tag = " position=none" if position is None else ""
    heading = [
        f"# strapdown body={trajectory.body} world={trajectory.world}{tag}",
        "# time x y z qx qy qz qw",
    ]
    columns: list[AnyArray] = [_decimal_seconds(trajectory.t_ns[known]), *pose[known].T]
    write_table(path, [] if append else heading, columns, " ", append=append)
    return lost


def _decimal_seconds(t_ns: IntArray) -> AnyArray:
    """Return stamps as text with nine decimals, computed in integers."""
    texts = []
    for stamp in t_ns.tolist():
        seconds, nanoseconds = divmod(abs(stamp), NS_PER_S)
        texts.append(f"{'-' if stamp < 0 else ''}{seconds}.{nanoseconds:09d}")
    return np.array(texts, dtype=object)
