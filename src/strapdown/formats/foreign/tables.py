"""Entry points: a table of another program by its path, or a data frame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from strapdown.formats.arrays import npz, parquet
from strapdown.formats.foreign import folder, text_table
from strapdown.formats.foreign.array_table import ArrayTable, columns_of_frame

if TYPE_CHECKING:
    from os import PathLike

    from strapdown.formats.foreign.plan import ImportPlan
    from strapdown.formats.foreign.sheet import Sheet
    from strapdown.formats.recording import Recording

__all__ = ["import_frame", "read_sheet"]


def read_sheet(path: str | PathLike[str]) -> Sheet:
    """Return names, units and first values of a table of another program.

    Parameters
    ----------
    path : path-like
        A text table, npz, Parquet, or a folder of one file per sensor.

    Raises
    ------
    FormatError
        It is no table.
    """
    path = Path(path)
    if path.is_dir():
        return folder.table(path, salvage=True).sheet()
    with path.open("rb") as file:
        head = file.read(300)
    if parquet.sniff(head, path):
        return parquet.foreign_table(path).sheet()
    if npz.sniff(head, path):
        return npz.foreign_table(path).sheet()
    return text_table.sheet(path)


def import_frame(frame: Any, plan: ImportPlan | None = None) -> Recording:  # noqa: ANN401 (pandas, Polars or Arrow)
    """Return a data frame of another program as a recording.

    Parameters
    ----------
    frame : DataFrame
        Of pandas or Polars, or an Arrow table.
    plan : ImportPlan, optional
        Meaning of its columns; by default they are recognised.

    Raises
    ------
    FormatError
        Columns are missing or ambiguous.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"time (s)": [0.0, 0.01, 0.02], "gx (dps)": [1.0, 1.0, 1.0],
    ...                       "gy (dps)": [0.0] * 3, "gz (dps)": [0.0] * 3})
    >>> import_frame(frame).imu_series().angular_velocity[0].round(4).tolist()
    [0.0175, 0.0, 0.0]
    """
    return ArrayTable(columns_of_frame(frame)).read(Path("data frame"), plan)
