"""Results of a navigator: poses and odometry, with covariances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.estimation.navigation.state import ALTITUDE_BIAS, NavigatorRow
from strapdown.estimation.result import FilterReport, OrientationResult
from strapdown.geometry import frames, quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.geometry.rotations import skew
from strapdown.messages.conversion.horus import odometry_from_trajectory, pose_from_trajectory
from strapdown.messages.pose import Odometry
from strapdown.series import Trajectory
from strapdown.series.columns import (
    BODY_MAGNITUDES,
    BODY_VECTOR,
    QUATERNION,
    WORLD_VECTOR,
    BodyColumns,
    Column,
)

if TYPE_CHECKING:
    from typing import Any, Self

    from numpy.typing import NDArray

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation.aiding import AidingResult


__all__ = ["NavigationEstimate", "NavigationResult", "poses_of_orientation"]

_NAMES: Final = {
    "orientation": "q_world_from_body",
    "velocity": "velocity_world",
    "position": "position_world",
}
_COVARIANCE: Final = {"column": Column((9, 9), np.float64, "none", "undefined")}


class NavigationEstimate:
    """Estimates of a streaming navigator at the stamp of its last sample; ENU and FLU.

    Parameters
    ----------
    t_ns : int
        The stamp [ns].
    memory : array of one record
        State of the navigator; it is not copied.
    """

    __slots__ = ("_memory", "t_ns")

    def __init__(self, t_ns: int, memory: RecordArray) -> None:
        self.t_ns = t_ns
        self._memory = memory

    def __repr__(self) -> str:
        x, y, z = self.position_world.tolist()
        return f"NavigationEstimate({self.t_ns} ns, x={x:.3f} m, y={y:.3f} m, z={z:.3f} m)"

    @property
    def q_world_from_body(self) -> FloatArray:
        """Attitude (4,), x y z w."""
        return self._of("orientation")

    @property
    def velocity_world(self) -> FloatArray:
        """Velocity (3,) [m/s]."""
        return self._of("velocity")

    @property
    def position_world(self) -> FloatArray:
        """Position (3,) [m]."""
        return self._of("position")

    @property
    def gyro_bias(self) -> FloatArray:
        """Gyro bias (3,), subtracted from the readings [rad/s, body]."""
        return self._of("gyro_bias")

    @property
    def accel_bias(self) -> FloatArray:
        """Accelerometer bias (3,), subtracted from the readings [m/s^2, body]."""
        return self._of("accel_bias")

    @property
    def altitude_bias(self) -> float:
        """Bias of a barometer's altitude, subtracted from its readings [m]."""
        return float(self._of("altitude_bias"))

    @property
    def covariance(self) -> FloatArray:
        """Covariance (15, 15) of the errors.

        Of position [m], velocity [m/s] and rotation about the axes of the world [rad], then of
        the biases of accelerometer [m/s^2] and gyro [rad/s] in axes of the body.
        """
        return self._of("error_covariance")[:ALTITUDE_BIAS, :ALTITUDE_BIAS]

    @property
    def aligned(self) -> bool:
        """Whether the alignment is complete."""
        return bool(self._of("aligned"))

    def _of(self, name: str) -> FloatArray:
        value: FloatArray = self._memory[name][0]
        return value


@dataclass(frozen=True, eq=False, repr=False)
class NavigationResult(BodyColumns):
    """Pose, velocity and biases at every stamp, with covariances.

    Parameters
    ----------
    t_ns : (N,) int64
        The stamps of the data [ns]; a sample that was left out repeats the state before it.
    q_world_from_body : (N, 4)
        x y z w, unit, of continuous sign.
    velocity_world, position_world : (N, 3)
        [m/s], [m, world].
    angular_velocity : (N, 3)
        Less the bias [rad/s, body].
    gyro_bias, accel_bias : (N, 3)
        Biases, subtracted from the readings [rad/s], [m/s^2, body].
    gyro_bias_sigma, accel_bias_sigma : (N, 3)
        Their standard deviations.
    covariance : (N, 9, 9)
        Of the errors of position [m], velocity [m/s] and of the rotation about the axes of the
        world [rad], all in world axes.
    rate_variance : float
        Of a sample of angular velocity, without its bias [rad^2/s^2].
    aiding : tuple of AidingResult
        Results of the aiding in this run.
    report : FilterReport
        Counts of the samples of this run.
    world, body : frames
        Those of the data.
    """

    q_world_from_body: FloatArray = field(metadata=QUATERNION)
    velocity_world: FloatArray = field(metadata=WORLD_VECTOR)
    position_world: FloatArray = field(metadata=WORLD_VECTOR)
    angular_velocity: FloatArray = field(metadata=BODY_VECTOR)
    gyro_bias: FloatArray = field(metadata=BODY_VECTOR)
    accel_bias: FloatArray = field(metadata=BODY_VECTOR)
    gyro_bias_sigma: FloatArray = field(metadata=BODY_MAGNITUDES)
    accel_bias_sigma: FloatArray = field(metadata=BODY_MAGNITUDES)
    covariance: FloatArray = field(metadata=_COVARIANCE)
    rate_variance: float = field(default=0.0, kw_only=True)
    aiding: tuple[AidingResult, ...] = field(default=(), kw_only=True)
    report: FilterReport = field(default=FilterReport(), kw_only=True)
    world: WorldFrame = field(default=WorldFrame.ENU, kw_only=True)

    def __repr__(self) -> str:
        rejected = sum(not each.accepted for each in self.aiding)
        aided = f", aided {len(self.aiding)} times, {rejected} rejected" if self.aiding else ""
        return f"NavigationResult({self.world} from {self.body}, {self.report}{aided})"

    def in_frames(
        self, *, world: WorldFrame | str | None = None, body: BodyFrame | str | None = None
    ) -> Self:
        """Convert to other axes.

        Raises
        ------
        FrameError
            There is no such frame.
        """
        found = super().in_frames(world=world, body=body)
        if found.world is self.world:
            return found
        blocks = self.covariance.reshape(-1, 3, 3, 3, 3).swapaxes(2, 3)
        moved = frames.convert_covariance(blocks, self.world, found.world)
        return found.replace(covariance=moved.swapaxes(2, 3).reshape(-1, 9, 9))

    def trajectory(self) -> Trajectory:
        """Return attitude, position and velocity as a :class:`~strapdown.series.Trajectory`."""
        return Trajectory(
            self.t_ns,
            self.q_world_from_body,
            position_world=self.position_world,
            velocity_world=self.velocity_world,
            world=self.world,
            body=self.body,
        )

    def poses(self) -> NDArray[np.void]:
        """Return ``Pose3D`` messages (ENU from FLU): an array of ``Pose3D.dtype``."""
        return pose_from_trajectory(self.trajectory())

    def odometry(
        self, *, frame_id: str = "odom", child_frame_id: str = "base_link"
    ) -> NDArray[np.void]:
        """Return ``Odometry`` messages: an array of ``Odometry.dtype``.

        The pose is that of the message, in a plane; its covariance is 6 x 6 in the order x, y,
        z, rotation about x, y, z: the axes of the world, ENU, also for the rotation. Linear
        and angular velocity, and their covariance in the same order, are in the axes of the
        body, FLU, at its attitude and not only its heading.

        Parameters
        ----------
        frame_id, child_frame_id : str, optional
            Names of the world and of the body.

        Raises
        ------
        ValueRangeError
            A stamp is negative, or a name is too long.
        """
        inside = self.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
        records = odometry_from_trajectory(inside.trajectory())
        q_body_from_world = quaternion.conjugate(inside.q_world_from_body)
        records["linear"] = quaternion.rotate(q_body_from_world, inside.velocity_world)
        records["angular"] = inside.angular_velocity
        records["pose_covariance"] = inside.pose_covariance().reshape(-1, 36)
        records["twist_covariance"] = inside.twist_covariance().reshape(-1, 36)
        names = Odometry()
        names.set_frames(frame_id, child_frame_id)
        for name in ("frame_id", "child_frame_id"):
            records[name] = names.to_numpy()[name]
        return records

    def pose_covariance(self) -> FloatArray:
        """Return the covariance (N, 6, 6) of position and rotation [m, rad, world]."""
        rows = np.r_[0:3, 6:9]
        return np.asarray(self.covariance[:, rows[:, None], rows])

    def twist_covariance(self) -> FloatArray:
        """Return the covariance (N, 6, 6) of linear and angular velocity [m/s, rad/s, body].

        The covariance of the angular velocity contains the noise and the bias of the gyro, and
        is taken as independent of that of the velocity.
        """
        R_body_from_world = quaternion.to_matrix(quaternion.conjugate(self.q_world_from_body))
        v = self.velocity_world
        jacobian = np.concatenate([R_body_from_world, R_body_from_world @ skew(v)], axis=-1)
        found = np.zeros((len(v), 6, 6))
        found[:, :3, :3] = jacobian @ self.covariance[:, 3:, 3:] @ jacobian.transpose(0, 2, 1)
        found[:, [3, 4, 5], [3, 4, 5]] = self.gyro_bias_sigma**2 + self.rate_variance
        return found


def columns_of(rows: RecordArray) -> dict[str, Any]:
    """Return rows of the kernel, also with further fields, as columns of a result."""
    return {_NAMES.get(name, name): rows[name] for name in NavigatorRow.fresh()}


def poses_of_orientation(result: OrientationResult) -> NDArray[np.void]:
    """Return the orientation of a filter as ``Pose3D`` messages with the position 0.

    Parameters
    ----------
    result : OrientationResult
        N rows, in any frames.

    Returns
    -------
    (N,) array of Pose3D.dtype
        ENU from FLU. The filter does not estimate a position: 0 is a placeholder.
    """
    track = result.trajectory()
    return pose_from_trajectory(track.replace(position_world=np.zeros((len(track), 3))))
