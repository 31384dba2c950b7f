"""Test motions with coning and sculling, and the drift of an integrator on them.

Coning: an axis of the body moves on a cone, so that the integral of the rates is not zero after
a cycle, though the attitude is the same. Sculling: the body rotates about one axis and
accelerates along another, in phase. The residual error of an integrator grows with time and is
given as a rate. A ramp of the rate measures a delay.

Truth is in closed form (P. G. Savage, "Strapdown inertial navigation integration algorithm
design", Journal of Guidance, Control, and Dynamics 21(1) and 21(2), 1998). Integrators are
functions from samples and the number of samples in a window to increments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_exp, quaternion_multiply, quaternion_rotate
from strapdown.geometry.triples import add, scaled
from strapdown.inertial.increments import require_positive
from strapdown.series import ImuSeries, Increments
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, Four, IntArray, Three

__all__ = ["CASES", "Case", "Coning", "Integrator", "Sculling", "delay_s", "drift", "packet_means"]

Integrator: TypeAlias = Callable[[ImuSeries, int], Increments]

_WARM_UP: Final = 8
"""Samples before the measured motion, for the history of a quadrature."""


@dataclass(frozen=True)
class Coning:
    """Coning motion: the rotation vector moves on a circle; drifts are in rad/s.

    Parameters
    ----------
    amplitude : float
        Half the angle of the cone [rad].
    frequency_hz : float
        Cycles a second [Hz].
    duration_s : float, optional
        Duration of the motion [s].
    """

    amplitude: float
    frequency_hz: float
    duration_s: float = 20.0

    def samples(self, t_ns: IntArray) -> ImuSeries:
        """Return the readings of ideal sensors, in free fall."""
        w = math.tau * self.frequency_hz
        phase = w * (t_ns / NS_PER_S)
        swing, spin = w * math.sin(self.amplitude), -2.0 * w * math.sin(self.amplitude / 2.0) ** 2
        rates = np.stack(
            [-swing * np.sin(phase), swing * np.cos(phase), np.full_like(phase, spin)], axis=-1
        )
        return ImuSeries(t_ns, rates, np.zeros_like(rates))

    def uncorrected(self, window_s: float) -> float:
        """Return the drift [rad/s] without coning correction: plain sums over windows."""
        w = math.tau * self.frequency_hz
        return w * (1.0 - math.cos(self.amplitude)) * _missed(w * window_s)

    def drift(self, increments: Increments) -> float:
        """Return the attitude error of consecutive increments, divided by the time [rad/s].

        The error is an angle of at most half a turn.
        """
        start_s, stop_s = _span_s(increments)
        q, _ = _followed(increments)
        true = quaternion.multiply(
            quaternion.conjugate(self._attitude(start_s)), self._attitude(stop_s)
        )
        return float(quaternion.angle_between(true, q)) / (stop_s - start_s)

    def _attitude(self, t_s: float) -> FloatArray:
        phase = math.tau * self.frequency_hz * t_s
        return quaternion.from_rotation_vector(
            [self.amplitude * math.cos(phase), self.amplitude * math.sin(phase), 0.0]
        )


@dataclass(frozen=True)
class Sculling:
    """Sculling: rotation about x in phase with a force along y; drifts are along z in m/s^2.

    Parameters
    ----------
    amplitude : float
        Of the angle [rad].
    frequency_hz : float
        Cycles a second [Hz].
    force : float, optional
        Amplitude of the specific force [m/s^2].
    duration_s : float, optional
        Duration of the motion [s].
    """

    amplitude: float
    frequency_hz: float
    force: float = 10.0
    duration_s: float = 10.0

    def samples(self, t_ns: IntArray) -> ImuSeries:
        """Return the readings of ideal sensors."""
        w = math.tau * self.frequency_hz
        phase = w * (t_ns / NS_PER_S)
        rates, forces = np.zeros((2, len(t_ns), 3))
        rates[:, 0] = self.amplitude * w * np.cos(phase)
        forces[:, 1] = self.force * np.sin(phase)
        return ImuSeries(t_ns, rates, forces)

    def uncorrected(self, window_s: float) -> float:
        """Return the drift [m/s^2] without sculling correction: plain sums over windows."""
        return 0.5 * self.force * self.amplitude * _missed(math.tau * self.frequency_hz * window_s)

    def drift(self, increments: Increments) -> float:
        """Return the error of velocity along z, divided by the time [m/s^2]."""
        start_s, stop_s = _span_s(increments)
        _, velocity = _followed(increments)
        steps = 2 * math.ceil(100.0 * self.frequency_hz * (stop_s - start_s))
        phase = math.tau * self.frequency_hz * np.linspace(start_s, stop_s, steps + 1)
        along_z = self.force * np.sin(phase) * np.sin(self.amplitude * np.sin(phase))
        weights = np.full(steps + 1, 2.0)  # Simpson's rule
        weights[1::2], weights[[0, -1]] = 4.0, 1.0
        true = (stop_s - start_s) * float(weights @ along_z) / (3.0 * steps)
        return abs(velocity[2] - true) / (stop_s - start_s)


@dataclass(frozen=True)
class Case:
    """A motion and its sampling.

    Parameters
    ----------
    motion : Coning or Sculling
        The motion.
    rate_hz : float
        Sampling rate of the integrator [Hz].
    samples_per_window : int
        Samples in each window.
    packet : int, optional
        Readings averaged to a sample; 1 is a point sample.

    Raises
    ------
    ValueRangeError
        A number is not positive, or the motion is shorter than the first window.
    """

    motion: Coning | Sculling
    rate_hz: float
    samples_per_window: int
    packet: int = 1

    def __post_init__(self) -> None:
        require_positive("rate_hz", self.rate_hz)
        require_positive("samples_per_window", self.samples_per_window)
        require_positive("packet", self.packet)
        longest = math.floor(self.motion.duration_s * self.rate_hz)
        if self.samples_per_window > longest:
            raise ValueRangeError(
                f"expected samples_per_window of {longest} or less in a motion of "
                f"{self.motion.duration_s:g} s at {self.rate_hz:g} Hz, got "
                f"{self.samples_per_window}"
            )

    @property
    def uncorrected(self) -> float:
        """Theoretical drift without correction."""
        return self.motion.uncorrected(self.samples_per_window / self.rate_hz)

    def samples(self) -> ImuSeries:
        """Return the input samples: whole windows from before 0 to the end of the motion."""
        before = -(-_WARM_UP // self.samples_per_window)
        windows = math.floor(self.motion.duration_s * self.rate_hz / self.samples_per_window)
        first, last = -before * self.samples_per_window, windows * self.samples_per_window
        return _sampled(self.motion.samples, first, last, self.rate_hz, self.packet)


CASES: Final = (
    Case(Coning(math.radians(1.0), 10.0), 200.0, 4),
    Case(Coning(math.radians(1.0), 10.0), 800.0, 4),
    Case(Coning(math.radians(1.0), 50.0), 800.0, 4),
    Case(Coning(math.radians(0.1), 50.0), 800.0, 4),
    Case(Coning(math.radians(1.0), 50.0), 1000.0, 4),
    Case(Coning(math.radians(1.0), 20.0), 400.0, 2),
    Case(Sculling(math.radians(1.0), 10.0), 200.0, 4),
    Case(Sculling(math.radians(1.0), 10.0), 800.0, 4),
    Case(Sculling(math.radians(1.0), 50.0), 800.0, 4),
    Case(Sculling(math.radians(0.1), 50.0), 800.0, 4),
    Case(Sculling(math.radians(1.0), 20.0), 400.0, 2),
    Case(Coning(math.radians(1.0), 100.0, 10.0), 800.0, 4),
    Case(Coning(math.radians(1.0), 200.0, 10.0), 8000.0, 40),
    Case(Coning(math.radians(1.0), 200.0, 10.0), 1000.0, 5),
    Case(Coning(math.radians(1.0), 200.0, 10.0), 400.0, 2),
    Case(Sculling(math.radians(1.0), 200.0), 8000.0, 40),
)
"""Typical vibration of vehicles, at the sampling rates of their sensors; then half a cycle and a
whole one in each window, down to two samples a cycle, from which no coning can be found."""


def drift(integrator: Integrator, case: Case) -> float:
    """Return the drift of an integrator [rad/s for coning, m/s^2 for sculling].

    Parameters
    ----------
    integrator : callable
        Maps samples and the number of samples in a window to increments.
    case : Case
        The motion and its sampling.

    Returns
    -------
    float
    """
    increments = integrator(case.samples(), case.samples_per_window)
    starts = increments.t_ns - increments.delta_angle_dt_ns
    return case.motion.drift(increments[starts > -NS_PER_S / 2.0 / case.rate_hz])


def delay_s(integrator: Integrator, case: Case) -> float:
    """Return the delay of increments behind a linearly growing rate [s].

    Parameters
    ----------
    integrator : callable
        Maps samples and the number of samples in a window to increments.
    case : Case
        Sampling of the ramp; its motion is not used.

    Returns
    -------
    float
        0 if the integrator treats the kind of its samples correctly.
    """

    def ramp(t_ns: IntArray) -> ImuSeries:
        rates = np.zeros((len(t_ns), 3))
        rates[:, 0] = 2.0 * (t_ns / NS_PER_S)
        return ImuSeries(t_ns, rates, np.zeros_like(rates))

    series = _sampled(ramp, 0, 8 * case.samples_per_window, case.rate_hz, case.packet)
    increments = integrator(series, case.samples_per_window)[-1:]
    start_s, stop_s = _span_s(increments)
    true = stop_s**2 - start_s**2
    return (true - float(increments.delta_angle[0, 0])) / (2.0 * (stop_s - start_s))


def packet_means(series: ImuSeries, packet: int) -> ImuSeries:
    """Average packets of readings, as a driver does, by the trapezoid rule.

    Parameters
    ----------
    series : ImuSeries
        Evenly spaced readings; the first is the end of the packet before.
    packet : int
        Readings in a packet.

    Returns
    -------
    ImuSeries
        One sample for each complete packet, at the stamp of its last reading.
    """
    ends = np.arange(packet, len(series), packet)
    weights = np.full(packet + 1, 1.0 / packet)
    weights[[0, -1]] /= 2.0
    rates, forces = (
        np.stack([values[first:][ends - packet] for first in range(packet + 1)], axis=-1) @ weights
        for values in (series.angular_velocity, series.specific_force)
    )
    return ImuSeries(series.t_ns[ends], rates, forces)


def _sampled(
    read: Callable[[IntArray], ImuSeries], first: int, last: int, rate_hz: float, packet: int
) -> ImuSeries:
    """Return samples ``first`` to ``last`` of a motion; sample 0 is that of time 0."""
    chip = np.arange((first - (packet > 1)) * packet, last * packet + 1)
    series = read(np.rint(chip / (rate_hz * packet) * NS_PER_S).astype(np.int64))
    return series if packet == 1 else packet_means(series, packet)


def _missed(angle: float) -> float:
    """Return the share of a correction that plain sums over windows of a phase angle miss."""
    return 1.0 - math.sin(angle) / angle


def _span_s(increments: Increments) -> tuple[float, float]:
    """Return the start of the first increment and the end of the last [s]."""
    start_ns = increments.t_ns[0] - increments.delta_angle_dt_ns[0]
    return float(start_ns) / NS_PER_S, float(increments.t_ns[-1]) / NS_PER_S


def _followed(increments: Increments) -> tuple[Four, Three]:
    """Return attitude and velocity after consecutive increments, in the axes at their start."""
    q, velocity = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    for angle, push in zip(
        increments.delta_angle.tolist(), increments.delta_velocity.tolist(), strict=True
    ):
        middle = quaternion_multiply(*q, *quaternion_exp(*scaled(angle, 0.25)))
        velocity = add(velocity, quaternion_rotate(*middle, *push))
        q = quaternion_multiply(*q, *quaternion_exp(*scaled(angle, 0.5)))
    return q, velocity
