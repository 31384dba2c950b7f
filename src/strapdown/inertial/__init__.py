"""From samples to increments: delta angle and delta velocity; and on to motion."""

from strapdown.inertial.clocks import integrate_pair, on_gyro_clock
from strapdown.inertial.increments import (
    Integration,
    IntegrationReport,
    WindowRule,
    increments_from_rates,
    integrate,
)
from strapdown.inertial.preintegration import (
    ImuNoise,
    NavigationState,
    PreintegratedImu,
    PreintegrationReport,
    Preintegrator,
    Quadrature,
    compose,
    preintegrate,
)
from strapdown.inertial.stream import Increment, IncrementIntegrator

__all__ = [
    "ImuNoise",
    "Increment",
    "IncrementIntegrator",
    "Integration",
    "IntegrationReport",
    "NavigationState",
    "PreintegratedImu",
    "PreintegrationReport",
    "Preintegrator",
    "Quadrature",
    "WindowRule",
    "compose",
    "increments_from_rates",
    "integrate",
    "integrate_pair",
    "on_gyro_clock",
    "preintegrate",
]
