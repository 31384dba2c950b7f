"""Sources derived from others: one that many sensors share, and one at rest."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from strapdown.motion import MOTIONS, Mounted

if TYPE_CHECKING:
    from collections.abc import Callable

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion import InertialSource

__all__ = ["at_rest", "shared"]

_ANSWERS: Final = 18
"""Number of results of each kind that are cached: enough for one block of :func:`record`."""


def shared(source: InertialSource) -> InertialSource:
    """Return a source that caches its last results, for sensors with equal requests in turn."""
    return _with(
        source,
        inputs=_kept(source.inputs),
        integrals=_kept(source.integrals),
        preintegrated=_kept(source.preintegrated),
        velocity_change=_kept(source.velocity_change),
    )


def at_rest() -> InertialSource:
    """Return the source of a sensor at rest and level; it integrates without quadrature."""
    still = Mounted(MOTIONS["static"])
    rate, force = still.inputs([0.0])

    def inputs(t_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.broadcast_to(rate, (len(t_s), 3)), np.broadcast_to(force, (len(t_s), 3))

    def integrals(edges_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        span_s = np.diff(edges_s)[:, None]
        return span_s * rate, span_s * force

    return _with(
        still,
        inputs=inputs,
        integrals=integrals,
        preintegrated=integrals,
        velocity_change=lambda edges_s: integrals(edges_s)[1],
    )


def _with(source: InertialSource, **methods: Callable[..., Any]) -> InertialSource:
    """Return a source with some of its methods replaced."""
    changed = SimpleNamespace(
        start_s=source.start_s,
        end_s=source.end_s,
        has_pose=source.has_pose,
        has_acceleration=source.has_acceleration,
        pointwise=getattr(source, "pointwise", False),
        truth=source.truth,
        **methods,
    )
    return cast("InertialSource", changed)


def _kept(ask: Callable[[FloatArray], Any]) -> Callable[[ArrayLike], Any]:
    answer = lru_cache(_ANSWERS)(lambda t_s: ask(np.frombuffer(t_s)))
    return lambda t_s: answer(np.asarray(t_s, np.float64).tobytes())
