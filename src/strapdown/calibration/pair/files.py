"""Files of the relation of two sensors."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.calibration._toml import read_values, write_values
from strapdown.calibration.pair.result import PairResult
from strapdown.errors import FormatError
from strapdown.geometry import BodyFrame, WorldFrame

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["load_pair", "save_pair"]

FORMAT: Final = "strapdown pair 1"
HEADER: Final = """\
# Two sensors on one body. A stamp t of the second is, by the clock of the first,
#   t + offset_s + 1e-6 drift_ppm (t - t_2),  t_2 = t_reference_ns - 1e9 offset_s
# A vector v in the axes of the second is q_first_from_second * v in those of the first (x y z w).
# lever_arm_m leads from the first to the second, in the axes of the first.

"""


def save_pair(result: PairResult, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write the relation of two sensors to a file, without its residuals.

    Parameters
    ----------
    result : PairResult
        What to write.
    path : path-like
        Ending in ``.toml`` or ``.json``.
    force : bool
        Replace an existing file.

    Raises
    ------
    FormatError
        The ending is another one.
    FileExistsError
        The file exists, and not ``force``.
    """
    content = {"format": FORMAT, **result.to_dict()}
    write_values(content, path, what="pair", header=HEADER, force=force)


def load_pair(path: str | PathLike[str]) -> PairResult:
    """Read the relation of two sensors from a file that :func:`save_pair` wrote.

    Raises
    ------
    FormatError
        It is none; the message names the entry.
    FileNotFoundError
        There is no such file.
    """
    content = read_values(path, what="pair")
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise FormatError(f"expected format = {FORMAT!r}, got another", path=path)
    known = {field.name for field in fields(PairResult)} - {"residuals"}
    if unknown := sorted(set(content) - known):
        raise FormatError(f"expected entries of a pair, got {', '.join(unknown)}", path=path)
    try:
        return PairResult(**{name: _value(name, value) for name, value in content.items()})
    except (TypeError, ValueError) as error:
        text = str(error).replace("PairResult.__init__() ", "")
        raise FormatError(f"expected a pair: {text}", path=path) from error


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 (any value of a field)
    if name in {"observable", "not_observable", "warnings"}:
        return tuple(value)
    if name in {"first_body", "second_body"}:
        return BodyFrame(value)
    if name == "second_world":
        return WorldFrame(value)
    return np.array(value, np.float64) if isinstance(value, list) else value
