"""Preintegration: many samples of an IMU as one measurement between two poses.

The change of attitude, velocity and position between two instants does not depend on the state
of the body, if it is expressed in the body axes at the first instant and without gravity. It is
computed once, with its covariance and its derivatives by the biases. An optimiser can then change
the poses at both ends and the biases without processing the samples again.
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
