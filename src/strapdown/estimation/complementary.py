"""A complementary filter: the gyro at short times, gravity and magnetic north at long ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._compile import compiled
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.estimation import _kernels as kernels
from strapdown.estimation.result import FilterReport, FilterState, OrientationResult
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.estimation.samples import ImuSample
    from strapdown.series import ImuSeries

__all__ = ["ComplementaryFilter", "ComplementaryParams"]

_NAME: Final = "complementary"


@dataclass(frozen=True)
class ComplementaryParams:
    """What can be set; one set of defaults serves hand-held, worn and flown sensors.

    Parameters
    ----------
    tau_acc : float
        Delay of the averaged specific force that corrects tilt [s]. Longer: less disturbed by
        acceleration, more by gyro errors.
    tau_mag : float
        Time constant of the heading correction [s]. Longer: less disturbed by changing
        magnetic fields, more by gyro errors.
    bias_limit : float
        Largest gyro bias on an axis that is learnt at rest [rad/s]; a steady turn that is
        slower passes for a bias. 0 learns none.
    reset_after : float
        A longer gap restarts tilt and heading from the sensors [s]; a shorter one is bridged.

    Raises
    ------
    ValueRangeError
        A value is not finite, or not positive (bias_limit: negative).
    """

    tau_acc: float = 3.0
    tau_mag: float = 9.0
    bias_limit: float = 2.0 * RAD_PER_DEG
    reset_after: float = 10.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            zero_allowed = entry.name == "bias_limit"
            if not (0.0 < value < math.inf or (zero_allowed and value == 0.0)):
                raise ValueRangeError(f"expected {entry.name} finite and positive, got {value}")


class ComplementaryFilter:
    """Orientation from gyro and accelerometer, and heading from a magnetometer if there is one.

    The gyro is integrated by the trapezoid over each stamped interval. In world axes the
    specific force is averaged as a vector (two equal poles), and the smallest rotation that
    brings the average up corrects tilt. The horizontal magnetic field is turned to north by a
    first-order correction that a field of unusual strength or dip weakens. While the sensor
    rests, the gyro's bias is learnt. At a start plain means stand for the averages, so the
    first output is already the orientation that the first sample gives, with heading 0 (in
    ENU: forward is east) without a magnetometer. Time steps come from the stamps.

    Unusable vectors (NaN, infinite, implausible) are left out one sensor at a time: rates are
    bridged by the trapezoid of their neighbours for up to a second, the others are waited
    for. So are gaps in time, after which the averages are shortened. Nothing of this is
    silent: see :class:`~strapdown.estimation.FilterReport`.

    Parameters
    ----------
    params : ComplementaryParams, optional

    References
    ----------
    R. Mahony, T. Hamel, J.-M. Pflimlin, "Nonlinear complementary filters on the special
    orthogonal group", IEEE Transactions on Automatic Control 53(5), 2008. D. Laidig, T. Seel,
    "VQF: Highly accurate IMU orientation estimation with bias estimation and magnetic
    disturbance rejection", Information Fusion 91, 2023: averaging in world axes, rest.

    Examples
    --------
    >>> from strapdown.estimation import ComplementaryFilter, ImuSample
    >>> orientation = ComplementaryFilter()
    >>> orientation.update(ImuSample(0, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81))).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    def __init__(self, params: ComplementaryParams | None = None) -> None:
        self.params = params or ComplementaryParams()
        p = self.params
        self._settings = (
            float(p.tau_acc),
            float(p.tau_mag),
            float(p.bias_limit),
            float(p.reset_after),
        )
        self.reset()

    def reset(self, state: FilterState | None = None) -> None:
        """Go back to a saved state, or to the beginning; the report starts anew.

        Raises
        ------
        UnknownNameError
            The state belongs to another filter.
        ShapeError
            The state has not the length of this filter's.
        """
        state = state or FilterState(_NAME, 0, kernels.FRESH)
        if state.filter != _NAME:
            raise UnknownNameError("state of this filter", state.filter, [_NAME])
        if len(state.values) != len(kernels.FRESH):
            raise ShapeError(
                f"expected a state of {len(kernels.FRESH)} values, got {len(state.values)}"
            )
        self._state = list(state.values)
        self._account = [state.t_ns] + [0] * (kernels.ACCOUNT_SIZE - 1)

    @property
    def state(self) -> FilterState:
        """All that the future depends on, except ``params``."""
        return FilterState(_NAME, self._account[kernels.LAST_NS], tuple(self._state))

    @property
    def report(self) -> FilterReport:
        """An account of the samples since the last reset."""
        return FilterReport(*self._account[1:])

    def update(self, sample: ImuSample) -> FloatArray:
        """Take one sample and return the orientation at its stamp.

        Parameters
        ----------
        sample : ImuSample
            In FLU body axes.

        Returns
        -------
        ndarray, shape (4,)
            q_world_from_body, ENU from FLU. A sample whose stamp repeats or goes back is
            counted and changes nothing.

        Raises
        ------
        ValueRangeError
            The stamp does not fit in 64 bits.
        """
        t_ns = int(sample.t_ns)
        if not -(2**63) <= t_ns < 2**63:
            raise ValueRangeError(f"expected t_ns in 64 bits of nanoseconds, got {t_ns}")
        rate, force, field = sample.vectors()
        kernels.complementary_step(
            self._state,
            self._account,
            t_ns,
            *rate,
            *force,
            *field,
            *self._settings,
        )
        return np.array(self._state[:4])

    def run(self, series: ImuSeries, *, use_magnetic_field: bool = True) -> OrientationResult:
        """Go on through a whole series; the same as a loop of :meth:`update`.

        The filter continues from its state: parts of a recording may be given one after the
        other. For another recording call :meth:`reset` first, or take a new filter.

        Parameters
        ----------
        series : ImuSeries
            In any frames; stamps are taken as they come.
        use_magnetic_field : bool
            False leaves the magnetometer out.

        Returns
        -------
        OrientationResult
            N rows in the frames of the series.
        """
        inside = series.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
        field = inside.magnetic_field if use_magnetic_field else None
        if field is None:
            field = np.full((len(inside), 3), np.nan)
            field.flags.writeable = False  # like the columns: one compiled version serves both
        state = np.array(self._state)
        account = np.zeros(kernels.ACCOUNT_SIZE, np.int64)
        account[kernels.LAST_NS] = self._account[kernels.LAST_NS]
        q_world_from_body = np.empty((len(inside), 4))
        compiled(kernels.complementary_run)(
            state,
            account,
            inside.t_ns,
            inside.angular_velocity,
            inside.specific_force,
            field,
            *self._settings,
            q_world_from_body,
        )
        self._state = state.tolist()
        self._account = _added(self._account, account.tolist())
        return OrientationResult(
            inside.t_ns,
            q_world_from_body,
            WorldFrame.ENU,
            BodyFrame.FLU,
            FilterReport(*account[1:].tolist()),
            uses_magnetic_field=self._state[kernels.FIELD_AGE] >= 0.0,
        ).in_frames(world=series.world, body=series.body)


def _added(before: list[int], run: list[int]) -> list[int]:
    """Return the account since the last reset after a run with its own account."""
    total = [a + b for a, b in zip(before, run, strict=True)]
    total[kernels.LAST_NS] = run[kernels.LAST_NS]
    longest = kernels.LONGEST_GAP_NS
    total[longest] = max(before[longest], run[longest])
    return total
