"""Preintegration: many samples of an IMU as one measurement between two poses.

The change of attitude, velocity and position between two instants does not depend on where the
body was, if it is kept in the body axes at the first, and gravity is left out. So it is computed
once, with what it owes to biases and how uncertain it is, and an optimiser may move the poses at
its ends and correct the biases without a look at the samples.
"""

from strapdown.inertial.preintegration.integrator import (
    ImuNoise,
    Preintegrator,
    Quadrature,
    preintegrate,
)
from strapdown.inertial.preintegration.measurement import (
    NavigationState,
    PreintegratedImu,
    PreintegrationReport,
    compose,
)

__all__ = [
    "ImuNoise",
    "NavigationState",
    "PreintegratedImu",
    "PreintegrationReport",
    "Preintegrator",
    "Quadrature",
    "compose",
    "preintegrate",
]
