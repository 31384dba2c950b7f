"""Down-sampling of ``vehicle_imu`` for PX4's estimator, to steps of about 10 ms.

Rotations are composed, and velocities rotated accordingly: ``delta_velocity`` is in the body axes
at the *end* of a step, in ``vehicle_imu`` it is in those at the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.errors import ValueRangeError
from strapdown.messages._by_column import as_records
from strapdown.messages.px4 import VehicleImu
from strapdown.px4._packets import copied
from strapdown.px4.down_sampler import sums as kernels
from strapdown.px4.float32 import MICRO_F

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["EstimatorDownSampler", "down_sampled"]


class EstimatorDownSampler:
    """Summation of windows to the steps of the estimator.

    Parameters
    ----------
    target_us : int, optional
        Wanted length of a step (``EKF2_PREDICT_US``) [us], limited to 1000 to 100000.

    Attributes
    ----------
    state : tuple
        The sum and its clipping bits: a value to keep, compare and set.

    Examples
    --------
    >>> sampler = EstimatorDownSampler()
    >>> window = VehicleImu(delta_angle=[0.0, 0.0, 0.01], delta_angle_dt=5000)
    >>> [step is not None for step in map(sampler.update, [window] * 4)]
    [False, True, False, True]
    """

    def __init__(self, target_us: int = 10_000) -> None:
        self._target_us = target_us
        self.reset()

    def reset(self) -> None:
        """Reset to the state before the first window."""
        self.state = (kernels.begin(self._target_us, kernels.FIRST_DT_F), 0, 0)

    def update(self, window: VehicleImu) -> VehicleImu | None:
        """Add one window.

        Parameters
        ----------
        window : VehicleImu
            The next window.

        Returns
        -------
        VehicleImu or None
            A step, once it is long enough; stamps, ids and counts are those of its last window.

        Raises
        ------
        ValueRangeError
            The window has no length.
        """
        row = window.to_numpy().reshape(1)
        total, angle_bits, velocity_bits = self.state
        angle_bits |= window.delta_angle_clipping
        velocity_bits |= window.delta_velocity_clipping
        total, records, _ = _run(kernels.run, total, self._target_us, row)
        if not len(records):
            self.state = (total, angle_bits, velocity_bits)
            return None
        self.state = (total, 0, 0)
        records["delta_angle_clipping"] = angle_bits
        records["delta_velocity_clipping"] = velocity_bits
        return VehicleImu.from_record(records[0])


def down_sampled(windows: NDArray[np.void], *, target_us: int = 10_000) -> NDArray[np.void]:
    """Sum an array of windows, equal to :class:`EstimatorDownSampler`.

    Parameters
    ----------
    windows : (N,) array of VehicleImu.dtype
        In their order.
    target_us : int, optional
        Wanted length of a step [us].

    Returns
    -------
    (M,) array of VehicleImu.dtype

    Raises
    ------
    ShapeError
        The windows have another type.
    ValueRangeError
        A window has no length.
    """
    windows = as_records(windows, VehicleImu)
    total = kernels.begin(target_us, kernels.FIRST_DT_F)
    _, records, ends = _run(compiled(kernels.run), total, target_us, windows)
    starts = np.append(0, ends + 1)
    for name in ("delta_angle_clipping", "delta_velocity_clipping"):
        if len(ends):
            bits = windows[name][: ends[-1] + 1]
            records[name] = np.bitwise_or.reduceat(bits, starts[:-1])
    return records


def _run(
    run: Callable[..., kernels.Sum],
    total: kernels.Sum,
    target_us: int,
    windows: NDArray[np.void],
) -> tuple[kernels.Sum, NDArray[np.void], NDArray[np.intp]]:
    """Return the sum after all windows, the steps, and the last row of each."""
    lengths_us = np.column_stack([windows["delta_angle_dt"], windows["delta_velocity_dt"]])
    if not lengths_us[:, 0].all():
        row = int(lengths_us[:, 0].argmin())
        raise ValueRangeError(f"expected delta_angle_dt above 0, got 0 in row {row}; leave it out")
    count = len(windows)
    is_end, sums = np.zeros(count, np.bool_), np.zeros((count, 6), np.float32)
    lengths = np.zeros((count, 2), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = run(
            total,
            target_us,
            np.column_stack([windows["delta_angle"], windows["delta_velocity"]]),
            lengths_us.astype(np.float32) * MICRO_F,
            is_end,
            sums,
            lengths,
        )
    records = copied(windows[is_end])
    records["delta_angle"], records["delta_velocity"] = sums[is_end, :3], sums[is_end, 3:]
    records["delta_angle_dt"], records["delta_velocity_dt"] = lengths[is_end].T
    return total, records, np.flatnonzero(is_end)
