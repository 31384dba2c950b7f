"""Prior of the gyro bias, widened when the bias turns out to be larger.

A prior is a measurement of 0 with its variance. It is widened by removing a part of the
information of this measurement, so afterwards all estimates are those that the wider prior would
have given from the start: tilt, heading and velocity are corrected for what the bias did to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.model import BIAS_ERROR
from strapdown.estimation.error_state.update import take_error
from strapdown.geometry.vectors import clear, square

if TYPE_CHECKING:
    from strapdown.estimation.error_state.state import ErrorStateMemory

ODD_BIAS: Final = 2.5  # standard deviations; a larger bias doubles the standard deviation


@kernel
def is_bias_odd(s: ErrorStateMemory) -> bool:
    """Whether the bias is far beyond its prior."""
    return square(s.gyro_bias) > ODD_BIAS * ODD_BIAS * s.bias_scale * s.bias_scale


@kernel
def double_bias_prior(s: ErrorStateMemory) -> None:
    """Double the standard deviation of the prior on all axes, for this and all earlier windows.

    The error in ``correction`` becomes the change of the estimates. Priors of the variances v and
    4 v differ by the information 3/4 / v, so it is removed by a measurement of that variance, but
    negative.
    """
    noise = -s.bias_scale * s.bias_scale / 0.75
    clear(s.correction.error)
    for axis in range(3):
        take_error(s, BIAS_ERROR + axis, -s.gyro_bias[axis], noise, False)
    s.bias_scale *= 2.0
