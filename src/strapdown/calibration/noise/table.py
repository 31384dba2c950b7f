"""Allan curves with bounds and model as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from strapdown.calibration.noise.curve import AllanCurves

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, IntArray
    from strapdown.calibration.noise.result import NoiseFit

__all__ = ["BoundedCurves", "to_csv"]


class BoundedCurves(AllanCurves, Protocol):
    """Curves with confidence bounds."""

    @property
    def terms(self) -> IntArray: ...  # noqa: D102 (as AllanResult)
    @property
    def lower(self) -> FloatArray: ...  # noqa: D102
    @property
    def upper(self) -> FloatArray: ...  # noqa: D102


def to_csv(result: BoundedCurves, fit: NoiseFit | None = None) -> str:
    """Return the curves as CSV text, one row a cluster time.

    Parameters
    ----------
    result : AllanResult
        Columns ``tau_s`` and ``terms``; of each channel ``NAME``, ``NAME.lower``, ``NAME.upper``
        and ``NAME.edf``, in SI units.
    fit : NoiseFit, optional
        Adds ``NAME.model``.
    """
    columns: dict[str, FloatArray | IntArray] = {"tau_s": result.tau_s, "terms": result.terms}
    for number, channel in enumerate(result.channels):
        columns[channel] = result.deviation[:, number]
        for name in ("lower", "upper", "edf"):
            columns[f"{channel}.{name}"] = getattr(result, name)[:, number]
        if fit is not None:
            columns[f"{channel}.model"] = fit[channel].model.deviation(result.tau_s)
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"
