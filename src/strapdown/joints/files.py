"""Files of joint angles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strapdown.formats._output import check_ending, replacing
from strapdown.formats.text.table import write_table

if TYPE_CHECKING:
    from os import PathLike

    from strapdown.joints.result import JointResult

__all__ = ["save_angles"]


def save_angles(result: JointResult, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write stamps, angles, relative orientation and heading as CSV.

    Columns: ``t_ns``, one of each angle (``flexion_rad``), ``qx`` to ``qw`` of the second sensor in
    the first, ``heading_rad`` and ``heading_sigma_rad``.

    Parameters
    ----------
    result : JointResult
    path : path-like
        Ending in ``.csv``.
    force : bool
        Replace an existing file.

    Raises
    ------
    UnsupportedError
        The ending is another one.
    FileExistsError
        The file exists, and not ``force``.
    """
    path = Path(path)
    check_ending(path, (".csv",))
    names = [f"{name}_rad" for name in result.angle_names]
    header = ["t_ns", *names, "qx", "qy", "qz", "qw", "heading_rad", "heading_sigma_rad"]
    columns = [
        result.t_ns,
        *result.angles.T,
        *result.q_first_from_second.T,
        result.heading,
        result.heading_sigma,
    ]
    with replacing(path, force=force) as partial:
        write_table(partial, [",".join(header)], columns, ",")
