"""From samples to increments: delta angle and delta velocity over intervals."""

from strapdown.integration.clocks import integrate_pair, on_gyro_clock
from strapdown.integration.increments import (
    Integration,
    IntegrationReport,
    SampleKind,
    WindowRule,
    increments_from_rates,
    integrate,
)
from strapdown.integration.stream import Increment, IncrementIntegrator

__all__ = [
    "Increment",
    "IncrementIntegrator",
    "Integration",
    "IntegrationReport",
    "SampleKind",
    "WindowRule",
    "increments_from_rates",
    "integrate",
    "integrate_pair",
    "on_gyro_clock",
]
