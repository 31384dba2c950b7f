"""Times without aiding."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import IntArray

__all__ = ["outages"]

_LEAST_NS: Final = 2 * NS_PER_S
_INTERVALS: Final = 5.0


def outages(used_ns: IntArray, t_ns: IntArray) -> list[tuple[int, int]]:
    """Return the times without a used measurement, within those of a run.

    Parameters
    ----------
    used_ns : (M,) int64
        Stamps of the measurements that were used, ascending [ns].
    t_ns : (N,) int64
        Stamps of the run, at least one [ns].

    Returns
    -------
    list of (int, int)
        Begin and end of each time longer than 2 s and five median intervals of the measurements
        [ns]; also before the first and after the last.

    Examples
    --------
    >>> import numpy as np
    >>> seconds = np.array([0, 1, 2, 3, 12, 13, 14])
    >>> outages(seconds * 10**9, np.array([0, 25]) * 10**9)
    [(3000000000, 12000000000), (14000000000, 25000000000)]
    """
    steps = np.diff(used_ns)
    usual = float(np.median(steps)) if len(steps) else 0.0
    limit_ns = max(float(_LEAST_NS), _INTERVALS * usual)
    edges = [int(t_ns.min()), *used_ns.tolist(), int(t_ns.max())]
    return [(begin, end) for begin, end in pairwise(edges) if end - begin > limit_ns]
