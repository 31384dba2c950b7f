"""The error-state model that the online filter and the smoother share, and both of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.estimation.error_state.filter import ErrorStateFilter, ErrorStateParams
    from strapdown.estimation.error_state.smoother import ErrorStateSmoother
    from strapdown.estimation.error_state.smoother_params import SmootherParams

__all__ = ["ErrorStateFilter", "ErrorStateParams", "ErrorStateSmoother", "SmootherParams"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ErrorStateFilter": "filter",
        "ErrorStateParams": "filter",
        "ErrorStateSmoother": "smoother",
        "SmootherParams": "smoother_params",
    },
)
