"""Piecewise polynomials over time, and the quadrature that integrates along them.

Vectors are planar here: (3, N), one row a component.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown._typing import FloatArray

__all__ = ["Panels", "Pieces"]

_SHORT_RUN: Final = 100  # instants; below, gathering coefficients is faster than a loop over runs
_NODES: Final = 8


class Pieces:
    """Piecewise polynomials of C channels.

    Parameters
    ----------
    starts_s : (P,)
        Start of each piece [s]; the first one also applies before, the last one indefinitely.
    origins_s : (P,)
        The instants from which its time is counted [s].
    coefficients : (K, C, P)
        Of the powers 0 ... K - 1.
    """

    def __init__(
        self, starts_s: FloatArray, origins_s: FloatArray, coefficients: FloatArray
    ) -> None:
        self.starts_s = starts_s
        self.coefficients = coefficients
        self._origins_s = origins_s
        used = np.any(coefficients != 0.0, axis=1)
        self._orders = np.where(used, np.arange(1, len(used) + 1)[:, None], 1).max(axis=0)

    def at(self, t_s: FloatArray) -> FloatArray:
        """Return the channels at ``t_s`` (N,), as (C, N)."""
        path = np.empty((self.coefficients.shape[1], len(t_s)))
        for run, time, coefficients in self._runs(t_s):
            value = path[:, run]
            value[:] = coefficients[-1]
            for coefficient in coefficients[-2::-1]:
                value *= time
                value += coefficient
        return path

    def derivatives(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the channels and two derivatives at ``t_s`` (N,), each (C, N)."""
        states = np.zeros((3, self.coefficients.shape[1], len(t_s)))
        for run, time, coefficients in self._runs(t_s):
            value, first, half_second = states[:, :, run]
            value[:] = coefficients[-1]
            for coefficient in coefficients[-2::-1]:  # Horner's rule, differentiated
                half_second *= time
                half_second += first
                first *= time
                first += value
                value *= time
                value += coefficient
        states[2] *= 2.0
        return states[0], states[1], states[2]

    def _runs(self, t_s: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield the instants by runs that share a piece, or all at once where runs are short.

        With the time in the piece and its coefficients (K, C, 1) or (K, C, N).
        """
        piece = np.searchsorted(self.starts_s[1:], t_s, side="right")
        changes = np.flatnonzero(np.diff(piece)) + 1
        if len(changes) * _SHORT_RUN > len(t_s):
            coefficients = np.take(self.coefficients, piece, axis=-1)
            yield slice(None), t_s - self._origins_s[piece], coefficients
            return
        for first, last in pairwise((0, *changes.tolist(), len(t_s))):
            index = piece[first : first + 1]
            time = t_s[first:last] - self._origins_s[index]
            order = int(self._orders[index].max(initial=1))
            yield slice(first, last), time, self.coefficients[:order, :, index]


class Panels:
    """Intervals on which rates are integrated by Gauss-Legendre quadrature.

    The rates at the nodes of a panel make a polynomial, which is integrated exactly.

    Parameters
    ----------
    edges_s : (P + 1,)
        Ascending [s].
    """

    def __init__(self, edges_s: FloatArray) -> None:
        self._starts_s = edges_s[:-1]
        self._middles_s = 0.5 * (edges_s[:-1] + edges_s[1:])
        self._halves_s = 0.5 * np.diff(edges_s)
        nodes, _ = np.polynomial.legendre.leggauss(_NODES)
        self.nodes_s: FloatArray = np.ravel(
            self._middles_s[:, None] + self._halves_s[:, None] * nodes
        )

    def integral(self, rates: FloatArray, start: FloatArray) -> Pieces:
        """Integrate rates (C, nodes) from the values ``start`` (C,) on."""
        at_nodes = rates.reshape(len(rates), -1, _NODES)
        path = np.einsum("kn,cpn->kcp", _integration_matrix(), at_nodes) * self._halves_s
        ends = path.sum(axis=0)  # of each panel, whose path is zero at its start
        path[0, :, 1:] += np.cumsum(ends, axis=-1)[:, :-1]
        path[0] += start[:, None]
        powers = np.arange(len(path))[:, None, None]
        return Pieces(self._starts_s, self._middles_s, path / self._halves_s**powers)


def _integration_matrix() -> FloatArray:
    """Return the map from values at the nodes to the coefficients (9, 8) of their integral.

    The integral from -1, of the polynomial through the values, in powers of u.
    """
    legendre = np.polynomial.legendre
    nodes, weights = legendre.leggauss(_NODES)
    orders = np.arange(_NODES)
    # the projection on the polynomials of Legendre, for which the quadrature is exact
    projection = (orders[:, None] + 0.5) * legendre.legvander(nodes, _NODES - 1).T * weights
    integrated = legendre.legint(projection, lbnd=-1.0)
    return np.asarray(np.apply_along_axis(legendre.leg2poly, 0, integrated))
