"""Output of orientation filters: orientation, counts of the samples, saved state."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.geometry.frames import WorldFrame, convert_vector
from strapdown.samples.state import SavedState
from strapdown.series import ImuSeries, Trajectory
from strapdown.series.columns import (
    BODY_MAGNITUDES,
    BODY_VECTOR,
    FLAG,
    QUATERNION,
    SCALAR,
    WORLD_COVARIANCE,
    BodyColumns,
)
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray
    from strapdown.estimation.self_calibration import SelfCalibration
    from strapdown.samples import ImuSample

__all__ = [
    "FilterReport",
    "FilterState",
    "OrientationEstimate",
    "OrientationFilter",
    "OrientationResult",
]


class OrientationFilter(Protocol):
    """Interface of a filter; each also has ``params``, a frozen data class."""

    def update(self, sample: ImuSample) -> FloatArray:
        """Process one sample; return q_world_from_body (4,), ENU from FLU, at its stamp."""

    def run(self, series: ImuSeries, *, use_magnetic_field: bool = True) -> OrientationResult:
        """Process a whole series; the same as a loop of :meth:`update`."""

    def reset(self, state: FilterState | None = None) -> None:
        """Restore a saved state, or the state before the first sample."""

    @property
    def state(self) -> FilterState:
        """State on which all later outputs depend."""

    @property
    def report(self) -> FilterReport:
        """Counts of the samples since the last reset."""


@dataclass(frozen=True)
class FilterReport(FieldsAsHtml):
    """Counts of the samples that a filter has processed.

    Parameters
    ----------
    samples : int
        All of them.
    gaps : int
        Steps longer than five mean sampling intervals and 20 ms.
    longest_gap_ns : int
        The longest of them [ns].
    duplicates, backward : int
        Samples left out because their stamp repeats, or goes back by up to a second.
    merged : int
        Samples with the stamp of the one before, with a sensor that was missing in it.
    invalid_angular_velocity, invalid_specific_force, invalid_magnetic_field : int
        Vectors left out because they were missing, not finite or implausible (a field also
        because it was zero). A missing magnetic field is not counted: magnetometers are slower.
    clipped_angular_velocity, clipped_specific_force : int
        Samples with an axis that was saturated.
    silent_angular_velocity_ns, silent_specific_force_ns, silent_magnetic_field_ns : int
        The longest time between two usable vectors [ns].
    restarts : int
        Jumps of the clock after which tilt and heading were initialised again.
    """

    samples: int = 0
    gaps: int = 0
    longest_gap_ns: int = 0
    duplicates: int = 0
    backward: int = 0
    merged: int = 0
    invalid_angular_velocity: int = 0
    invalid_specific_force: int = 0
    invalid_magnetic_field: int = 0
    clipped_angular_velocity: int = 0
    clipped_specific_force: int = 0
    silent_angular_velocity_ns: int = 0
    silent_specific_force_ns: int = 0
    silent_magnetic_field_ns: int = 0
    restarts: int = 0

    @property
    def lossless(self) -> bool:
        """Whether every sample was used."""
        return not self.losses()

    def losses(self) -> list[str]:
        """Return one line for each kind of loss, empty where there is none.

        A gap is not a loss of the filter: its samples were not received.
        """
        counts = {
            "samples with a repeated stamp, left out": self.duplicates,
            "samples whose stamp goes back, left out": self.backward,
            "unusable angular velocities, bridged": self.invalid_angular_velocity,
            "unusable specific forces, left out": self.invalid_specific_force,
            "unusable magnetic fields, left out": self.invalid_magnetic_field,
            "samples with a saturated gyro axis, trusted less": self.clipped_angular_velocity,
            "samples with a saturated accelerometer axis, trusted less": (
                self.clipped_specific_force
            ),
            "restarts after a jump of the clock": self.restarts,
        }
        return [f"{what}: {count}" for what, count in counts.items() if count]

    def silences(self) -> list[str]:
        """Return one line for each sensor that was silent for more than a second."""
        longest = {
            "gyro": self.silent_angular_velocity_ns,
            "accelerometer": self.silent_specific_force_ns,
            "magnetometer": self.silent_magnetic_field_ns,
        }
        return [
            f"{sensor} silent for up to {silent_ns / NS_PER_S:.1f} s"
            for sensor, silent_ns in longest.items()
            if silent_ns > NS_PER_S
        ]

    def __str__(self) -> str:
        gaps = f"{self.gaps} gaps in time up to {self.longest_gap_ns / 1e6:.1f} ms, bridged"
        used = "; ".join(self.losses()) or "all used"
        parts = [f"{self.samples} samples", used, *[gaps] * bool(self.gaps), *self.silences()]
        return ", ".join(parts)

    def to_dict(self) -> dict[str, int | bool]:
        """Return the counts and ``lossless`` as values for JSON."""
        return asdict(self) | {"lossless": self.lossless}


@dataclass(frozen=True)
class FilterState(SavedState):
    """Saved state of a filter, from which it continues with the same bits.

    Parameters
    ----------
    filter : str
        Name of the filter.
    t_ns : int
        Stamp of the last sample [ns]; 0 before any.
    values : tuple of float
        The state vector; its layout is specific to the filter.

    Raises
    ------
    ValueRangeError
        A value is not finite, or a stamp does not fit in 64 bits.
    """

    filter: str
    t_ns: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class OrientationEstimate:
    """Estimates of a streaming filter at the stamp of its last sample.

    Parameters
    ----------
    t_ns : int
        The stamp [ns].
    q_world_from_body : (4,)
        x y z w, ENU from FLU.
    orientation_covariance : (3, 3)
        Of the orientation, as a rotation about the axes of the world [rad^2, ENU].
    gyro_bias : (3,)
        Bias, subtracted from the readings [rad/s, FLU].
    gyro_bias_sigma : (3,), optional
        Its standard deviation [rad/s]; None if the filter does not estimate it.
    rest : bool
        Whether the sensor is at rest.
    magnetic_disturbance : bool
        Whether the magnetic field differs from the usual one.
    heading_offset : float
        Heading of the magnetic world in that of the gyro [rad], if the filter keeps both.
    accel_bias, accel_bias_sigma : (3,), optional
        Bias of the accelerometer, subtracted from the readings [m/s^2, FLU], and its standard
        deviation; None if the filter does not estimate it.
    uses_magnetic_field : bool
        Whether heading refers to magnetic north; otherwise, as before the first magnetic
        field, heading and its variance are relative to the start.
    """

    t_ns: int
    q_world_from_body: FloatArray
    orientation_covariance: FloatArray
    gyro_bias: FloatArray
    gyro_bias_sigma: FloatArray | None
    rest: bool
    magnetic_disturbance: bool
    heading_offset: float
    accel_bias: FloatArray | None = None
    accel_bias_sigma: FloatArray | None = None
    uses_magnetic_field: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class OrientationResult(BodyColumns):
    """Orientation and further estimates of a filter at every stamp of a series.

    Parameters
    ----------
    t_ns : (N,) int64
        The stamps of the series [ns]; a sample that was left out repeats the orientation
        before it.
    q_world_from_body : (N, 4)
        x y z w, unit, of continuous sign.
    orientation_covariance : (N, 3, 3)
        Of the orientation, as a rotation about the axes of the world [rad^2, world].
    gyro_bias : (N, 3)
        Bias, subtracted from the readings [rad/s, body].
    gyro_bias_sigma : (N, 3), optional
        Its standard deviation [rad/s, body]; None if the filter does not estimate it.
    accel_bias, accel_bias_sigma : (N, 3), optional
        Bias of the accelerometer, subtracted from the readings [m/s^2, body], and its standard
        deviation; None if the filter does not estimate it. A smoother gives one bias for the
        whole recording, in ``self_calibration``.
    rest : (N,) bool
        Whether the sensor is at rest.
    magnetic_disturbance : (N,) bool
        Whether the magnetic field differs from the usual one.
    heading_offset : (N,), optional
        Heading of the magnetic world in that of the gyro [rad], if the filter keeps both.
    report : FilterReport
        Counts of the samples of this run.
    uses_magnetic_field : bool
        Whether heading refers to magnetic north; otherwise it is relative to the start.
    declination : float, optional
        Angle of magnetic north east of true north [rad]: heading refers to true north. None:
        it refers to magnetic north, or to the start.
    heading_known : (N,) bool, optional
        Whether the heading of a row refers to north; None if no row does. False before
        the first magnetic field, and from a jump of the clock to the next one: there the
        standard deviation of heading is that of any angle, 104 deg.
    self_calibration : SelfCalibration, optional
        Errors of the sensor that the estimator found.
    world, body : frames
        Those of the series.
    """

    q_world_from_body: FloatArray = field(metadata=QUATERNION)
    orientation_covariance: FloatArray = field(metadata=WORLD_COVARIANCE)
    gyro_bias: FloatArray = field(metadata=BODY_VECTOR)
    rest: BoolArray = field(metadata=FLAG)
    magnetic_disturbance: BoolArray = field(metadata=FLAG)
    gyro_bias_sigma: FloatArray | None = field(default=None, kw_only=True, metadata=BODY_MAGNITUDES)
    accel_bias: FloatArray | None = field(default=None, kw_only=True, metadata=BODY_VECTOR)
    accel_bias_sigma: FloatArray | None = field(
        default=None, kw_only=True, metadata=BODY_MAGNITUDES
    )
    heading_offset: FloatArray | None = field(default=None, kw_only=True, metadata=SCALAR)
    heading_known: BoolArray | None = field(default=None, kw_only=True, metadata=FLAG)
    report: FilterReport = field(default=FilterReport(), kw_only=True)
    uses_magnetic_field: bool = field(default=False, kw_only=True)
    declination: float | None = field(default=None, kw_only=True)
    self_calibration: SelfCalibration | None = field(default=None, kw_only=True)
    world: WorldFrame = field(default=WorldFrame.ENU, kw_only=True)

    def __repr__(self) -> str:
        return f"OrientationResult({self.world} from {self.body}, {self.report})"

    def to_true_north(self, declination: float) -> OrientationResult:
        """Return the result in a world that is turned from magnetic to true north.

        Orientations, their covariances and ``heading_offset`` change.

        Parameters
        ----------
        declination : float
            Angle of magnetic north east of true north [rad], as from
            :func:`~strapdown.estimation.magnetic_declination`.

        Raises
        ------
        ValueRangeError
            The angle is not between -pi and pi, heading is relative to the start, or refers to
            true north already.

        Examples
        --------
        >>> from strapdown import ImuSeries
        >>> from strapdown.estimation import ErrorStateFilter
        >>> east = ImuSeries([0], [[0, 0, 0]], [[0, 0, 9.81]], magnetic_field=[[0, 2e-5, -4e-5]])
        >>> result = ErrorStateFilter().run(east).to_true_north(0.1)
        >>> 2.0 * result.q_world_from_body[0, 2]  # heading grows clockwise, from north to east
        np.float64(-0.09995...)
        """
        if not -math.pi <= declination <= math.pi:
            raise ValueRangeError(
                f"expected a declination in -pi ... pi rad, got {declination}; convert degrees"
            )
        if not self.uses_magnetic_field or self.declination is not None:
            reference = "the start" if self.declination is None else "true north"
            raise ValueRangeError(
                f"expected a heading that refers to magnetic north, got one that refers to "
                f"{reference}; a declination has no meaning for it"
            )
        axis = convert_vector([0.0, 0.0, -declination], WorldFrame.ENU, self.world)
        turn = quaternion.from_rotation_vector(axis)
        R = quaternion.to_matrix(turn)
        offset = self.heading_offset
        if offset is not None:
            offset = np.remainder(offset - declination + math.pi, 2.0 * math.pi) - math.pi
        return self.replace(
            q_world_from_body=quaternion.multiply(turn, self.q_world_from_body),
            orientation_covariance=R @ self.orientation_covariance @ R.T,
            heading_offset=offset,
            declination=declination,
        )

    def trajectory(self) -> Trajectory:
        """Return the orientation as a :class:`~strapdown.series.Trajectory`.

        Rows without a known heading are NaN.
        """
        q = self.q_world_from_body
        if self.heading_known is not None:
            q = np.where(self.heading_known[:, None], q, np.nan)
        return Trajectory(self.t_ns, q, world=self.world, body=self.body)
