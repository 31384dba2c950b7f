"""From samples to increments: delta angle and delta velocity over intervals."""

from strapdown.integration.increments import (
    Increment,
    IncrementIntegrator,
    IntegrationReport,
    increments_from_rates,
)

__all__ = ["Increment", "IncrementIntegrator", "IntegrationReport", "increments_from_rates"]
