"""Streaming increment integrator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from strapdown._checks import as_three
from strapdown.geometry.triples import ZERO, add
from strapdown.inertial import coning_sculling as kernels
from strapdown.inertial.increments import FRESH, WindowRule, as_integrable, report_of, rule_of
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import Three
    from strapdown.inertial.increments import IntegrationReport

__all__ = ["Increment", "IncrementIntegrator"]

_UNKNOWN = (math.nan, math.nan, math.nan)


class Increment(NamedTuple):
    """One increment of a stream.

    Parameters
    ----------
    t_ns : int
        End of the window [ns].
    dt_ns : int
        Its length [ns].
    delta_angle, delta_velocity : tuple of 3 float
        As in :class:`~strapdown.series.Increments` [rad], [m/s].
    coning, sculling : tuple of 3 float
        The corrections contained in them [rad], [m/s].
    gyro_clipping, accel_clipping : int
        Axes that were saturated within the window: bits X=1, Y=2, Z=4.
    """

    t_ns: int
    dt_ns: int
    delta_angle: Three
    delta_velocity: Three
    coning: Three
    sculling: Three
    gyro_clipping: int
    accel_clipping: int


class IncrementIntegrator:
    """Integrate a stream of samples like :func:`~strapdown.inertial.integrate`.

    Parameters
    ----------
    window : WindowRule or int, optional
        Rule for the end of a window, or its number of samples.
    gyro_kind, accel_kind : SampleKind or None, optional
        Kinds of the samples; by default values at their stamps. None is no sensor.
    max_gap_ns : int
        Longest step that is integrated [ns]; ten sampling intervals are a good choice.

    Attributes
    ----------
    state : IntegratorState
        State on which later increments depend; it can be saved, compared and set.

    Raises
    ------
    ValueRangeError
        ``window`` or ``max_gap_ns`` is less than 1.
    UnknownNameError
        A kind is unknown.

    Examples
    --------
    >>> integrator = IncrementIntegrator(2, max_gap_ns=100_000_000)
    >>> for t_ns in (0, 10_000_000, 20_000_000):
    ...     increment = integrator.update(t_ns, (0.0, 0.0, 0.5), (0.0, 0.0, 9.80665))
    >>> [round(x, 9) for x in increment.delta_angle], increment.dt_ns
    ([0.0, 0.0, 0.01], 20000000)
    """

    def __init__(
        self,
        window: WindowRule | int = 1,
        *,
        gyro_kind: SampleKind | None = SampleKind.POINT,
        accel_kind: SampleKind | None = SampleKind.POINT,
        max_gap_ns: int,
    ) -> None:
        self._gyro, self._accel = as_integrable(gyro_kind), as_integrable(accel_kind)
        if not isinstance(window, WindowRule):
            window = WindowRule(window)
        self._rule = rule_of(self._gyro, self._accel, window, max_gap_ns)
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first sample, and clear the counts."""
        self.state = FRESH
        self._tally = [0] * kernels.EVENTS
        self._increments = 0

    def update(
        self,
        t_ns: int,
        angular_velocity: Sequence[float],
        specific_force: Sequence[float],
        *,
        gyro_clipping: int = 0,
        accel_clipping: int = 0,
    ) -> Increment | None:
        """Process one sample; return an increment if it ends a window.

        Parameters
        ----------
        t_ns : int
            Time of the sample [ns].
        angular_velocity, specific_force : sequence of 3 float
            Of the kinds of this integrator [body]; values of a sensor of kind None are ignored.
        gyro_clipping, accel_clipping : int, optional
            Axes that are saturated: bits X=1, Y=2, Z=4.

        Returns
        -------
        Increment or None
            None while the window is open, and if the sample is left out.

        Raises
        ------
        ShapeError
            A vector does not have three components.
        """
        state, event = kernels.advance(
            self.state,
            int(t_ns),
            as_three(angular_velocity, "angular_velocity") if self._gyro else ZERO,
            as_three(specific_force, "specific_force") if self._accel else ZERO,
            gyro_clipping,
            accel_clipping,
            self._rule,
        )
        self._tally[event] += 1
        if state.samples == 0 or not kernels.is_ready(state, self._rule):
            self.state = state
            return None
        self.state = kernels.close(state)
        self._increments += 1
        coning = kernels.coning_of(state)
        return Increment(
            state.t_ns,
            state.t_ns - state.start_ns,
            add(state.alpha, coning) if self._gyro else _UNKNOWN,
            add(state.nu, state.sculling) if self._accel else _UNKNOWN,
            coning,
            state.sculling,
            state.gyro_clipping,
            state.accel_clipping,
        )

    @property
    def report(self) -> IntegrationReport:
        """Counts of the samples so far."""
        return report_of(self.state, self._tally, self._increments)
