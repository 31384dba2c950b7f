"""Motions between steady states: turntables and calibration poses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion import formulas
from strapdown.motion._laws import Law
from strapdown.motion._pieces import Pieces
from strapdown.motion.kinematics import Kinematics, instants
from strapdown.motion.primitives import as_unit_vector

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.motion.analytic import Derivatives

__all__ = ["PiecewisePolynomial", "SixPosition", "Turntable", "holds_and_blends"]

_SMOOTH_STEP: Final = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
"""Quintic from 0 to 1 on 0 ... 1, with two derivatives zero at both ends."""

_X, _Z = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
_TURN_AXES: Final = np.array([_X, _X, _X, _Z, _Z, _Z])  # the last rest has no turn after it
_TURN_ANGLES: Final = math.pi * np.array([0.5, 0.5, 0.5, 0.5, 1.0])
_TURNS: Final = quaternion.from_rotation_vector(_TURN_AXES[:-1] * _TURN_ANGLES[:, None])
_RESTS: Final = np.array(list(accumulate([quaternion.IDENTITY, *_TURNS], quaternion.multiply)))


@dataclass(frozen=True, eq=False)
class PiecewisePolynomial:
    """One variable over time, as polynomials in pieces.

    Parameters
    ----------
    edges_s : (P + 1,)
        Start of each piece, and end of the last one, ascending [s].
    coefficients : (P, K)
        Of the powers 0 ... K - 1 of the time since the piece began.

    Raises
    ------
    ShapeError
        The shapes do not fit.
    ValueRangeError
        A value is not finite, or the edges do not ascend.
    """

    edges_s: FloatArray
    coefficients: FloatArray

    def __post_init__(self) -> None:
        edges = as_finite(self.edges_s, "edges_s", ()).copy()
        coefficients = as_finite(self.coefficients, "coefficients", ()).copy()
        pieces = len(coefficients) if coefficients.ndim == 2 and coefficients.size else 0
        if not pieces or edges.shape != (pieces + 1,):
            raise ShapeError(
                f"expected edges_s (P + 1,) and coefficients (P, K) of 1 piece or more, got"
                f" {edges.shape} and {coefficients.shape}"
            )
        if not np.all(np.diff(edges) > 0.0):
            raise ValueRangeError(f"expected ascending edges_s, got {edges.tolist()}")
        for name, array in (("edges_s", edges), ("coefficients", coefficients)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def start_s(self) -> float:
        """First instant [s]."""
        return float(self.edges_s[0])

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return float(self.edges_s[-1])

    @property
    def breaks_s(self) -> FloatArray:
        """Instants [s] at which the polynomials change."""
        return self.edges_s[1:-1]

    def derivatives(self, t_s: FloatArray) -> Derivatives:
        """Return the variable and its first two derivatives at ``t_s`` (N,), each (N,).

        At an edge they are those of the piece that begins there.
        """
        value, first, second = self._pieces.derivatives(t_s)
        return value[0], first[0], second[0]

    def integral(self, start: float = 0.0) -> PiecewisePolynomial:
        """Return the integral over time that is ``start`` at the first edge."""
        powers = np.arange(1, self.coefficients.shape[1] + 1)
        higher = self.coefficients / powers
        duration = np.diff(self.edges_s)[:, None]
        ends = start + np.cumsum(np.sum(higher * duration**powers, axis=1))
        starts = np.concatenate([[start], ends[:-1]])
        return PiecewisePolynomial(self.edges_s, np.column_stack([starts, higher]))

    @cached_property
    def _pieces(self) -> Pieces:
        starts = self.edges_s[:-1]
        return Pieces(starts, starts, self.coefficients.T[:, None, :])


def holds_and_blends(values: ArrayLike, *, hold_s: float, blend_s: float) -> PiecewisePolynomial:
    """Return a variable that holds each value for some time and moves to the next by a quintic.

    Value, first and second derivative are continuous.

    Parameters
    ----------
    values : (K,)
        One or more.
    hold_s, blend_s : float
        Duration of each hold and of each change [s].

    Raises
    ------
    ShapeError, ValueRangeError
        There are no values or not finite ones, or a duration is not positive.
    """
    held = as_finite(values, "values", ())
    if held.ndim != 1 or held.size == 0:
        raise ShapeError(f"expected one or more values of shape (K,), got {held.shape}")
    if not (0.0 < hold_s < math.inf and 0.0 < blend_s < math.inf):
        raise ValueRangeError(
            f"expected holds and blends that take time, got {hold_s} s and {blend_s} s"
        )
    pieces = 2 * len(held) - 1
    number = np.arange(pieces + 1)
    coefficients = np.zeros((pieces, len(_SMOOTH_STEP)))
    coefficients[1::2] = np.diff(held)[:, None] * _SMOOTH_STEP / blend_s ** np.arange(6)
    coefficients[:, 0] = np.repeat(held, 2)[:-1]
    return PiecewisePolynomial((number + 1) // 2 * hold_s + number // 2 * blend_s, coefficients)


@dataclass(frozen=True, eq=False)
class Turntable:
    """A body at the origin that rotates about one of its axes, starting level.

    Parameters
    ----------
    angle : PiecewisePolynomial
        Angle of rotation [rad].
    axis : (3,)
        Of any length [body].

    Raises
    ------
    ShapeError, ValueRangeError
        The axis is no finite direction.
    """

    angle: PiecewisePolynomial
    axis: ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", as_unit_vector(self.axis, "axis"))

    @classmethod
    def from_rates(
        cls,
        rates: ArrayLike,
        *,
        hold_s: float,
        ramp_s: float,
        axis: ArrayLike = (0.0, 0.0, 1.0),
    ) -> Turntable:
        """Return a table that holds one rate after the other, with quintic ramps between.

        Parameters
        ----------
        rates : (K,)
            [rad/s].
        hold_s, ramp_s : float
            Duration of each rate and of each ramp [s].
        axis : (3,), optional
            Of any length [body].

        Raises
        ------
        ShapeError, ValueRangeError
            As ``holds_and_blends`` and :class:`Turntable`.
        """
        return cls(holds_and_blends(rates, hold_s=hold_s, blend_s=ramp_s).integral(), axis)

    @property
    def start_s(self) -> float:
        """First instant [s]."""
        return self.angle.start_s

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return self.angle.end_s

    @property
    def breaks_s(self) -> FloatArray:
        """Instants [s] at which ramps begin and end."""
        return self.angle.breaks_s

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        level, axis = quaternion.IDENTITY[:, None], np.asarray(self.axis)[:, None]
        pieces = self.angle.edges_s[:-1], self.angle.coefficients
        return Law(formulas.turns, (*pieces, level, axis, len(self.angle.coefficients)))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))


@dataclass(frozen=True)
class SixPosition:
    """A body at the origin that rests with each of its axes up and down in turn.

    Up are z, y, -z, -y, -x and x. Between two rests the body rotates about one of its axes, by
    a quintic: three quarter turns about x, a quarter and a half turn about z.

    Parameters
    ----------
    dwell_s, turn_s : float
        Duration of each rest and of each turn [s].

    Raises
    ------
    ValueRangeError
        A duration is not positive and finite.
    """

    dwell_s: float = 10.0
    turn_s: float = 2.0

    def __post_init__(self) -> None:
        self._turns  # noqa: B018 (its checks are those of the durations)

    @property
    def start_s(self) -> float:
        """First instant: 0 [s]."""
        return 0.0

    @property
    def end_s(self) -> float:
        """Last instant [s]."""
        return self._turns.end_s

    @property
    def breaks_s(self) -> FloatArray:
        """Instants [s] at which turns begin and end."""
        return self._turns.breaks_s

    @cached_property
    def law(self) -> Law:
        """The motion as a law and its parameters."""
        pieces = self._turns.edges_s[:-1], self._turns.coefficients
        return Law(formulas.turns, (*pieces, _RESTS.T, _TURN_AXES.T, 2))

    def at(self, t_s: ArrayLike) -> Kinematics:
        """Return the state at the instants ``t_s`` (N,) [s]."""
        return self.law.at(instants(t_s, self))

    @cached_property
    def _turns(self) -> PiecewisePolynomial:
        """Angle of rotation since the last rest."""
        summed = np.concatenate([[0.0], np.cumsum(_TURN_ANGLES)])
        law = holds_and_blends(summed, hold_s=self.dwell_s, blend_s=self.turn_s)
        since_rest = law.coefficients.copy()
        since_rest[:, 0] = 0.0
        return PiecewisePolynomial(law.edges_s, since_rest)
