"""Table of the conversions between messages and series, and their common entry point.

=============================  =============================================================
source                         targets
=============================  =============================================================
``Imu``                        ``ImuSeries``, ``RosImu``, ``VehicleImu`` (``dt_ns``)
``RosImu``                     ``Imu``, ``ImuSeries``
``VehicleImu``                 ``Increments``, ``Imu``, ``SensorCombined``
``SensorCombined``             ``ImuSeries``, ``VehicleImu``
``SensorGyro``                 ``ImuSeries``
``SensorAccel``                ``ImuSeries``
``VehicleAngularVelocity``     ``ImuSeries``
``VehicleAcceleration``        ``ImuSeries``
``ImuSeries``                  ``Imu``, ``RosImu``, ``Increments`` (``dt_ns``)
``Increments``                 ``ImuSeries``, ``VehicleImu``
``Pose3D``, ``Odometry``       ``Trajectory``
``VehicleAttitude``            ``Trajectory``
``VehicleOdometry``            ``Trajectory``
``Batch`` of poses             ``Trajectory``
``Trajectory``                 ``Pose3D``, ``Odometry``, ``VehicleAttitude``,
                               ``VehicleOdometry``, ``Batch``
=============================  =============================================================

In parentheses: the option that a rule requires. Many ``RosImu`` are a ``Batch`` of 37 numbers each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

import numpy as np

from strapdown.messages._by_column import as_batch, as_records
from strapdown.messages._record import Record
from strapdown.messages.cdr import Batch
from strapdown.messages.conversion import _loss as loss
from strapdown.messages.conversion import horus, px4, px4_estimates, px4_rates, ros
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry, Pose3D
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.messages.ros import RosImu
from strapdown.series import ImuSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Series = ImuSeries | Increments | Trajectory
    Rows = Series | Batch | Sequence[Record] | Sequence[RosImu] | NDArray[np.void]
    Columns = TypeVar("Columns", ImuSeries, Increments, Trajectory, Batch)
    One = TypeVar("One", bound=Record | RosImu)

__all__ = ["RULES", "Rule", "convert", "losses", "rule_between"]


class Rule(NamedTuple):
    """One conversion.

    Parameters
    ----------
    source, target : type
        Series or messages.
    function : callable
        The conversion; takes its options by keyword.
    lost : callable
        From the source by column: whether each field without a place in the target is in use.
    rows : bool
        Whether the function takes and returns many messages at once, not a single one.
    """

    source: type[Any]
    target: type[Any]
    function: Callable[..., Any]
    lost: Callable[[Any], dict[str, bool]]
    rows: bool = True


RULES: Final = (
    Rule(Imu, ImuSeries, horus.series_from_imu, loss.nothing),
    Rule(Imu, RosImu, ros.ros_from_imu, loss.nothing, rows=False),
    Rule(Imu, VehicleImu, px4.vehicle_imu_from_imu, loss.vehicle_imu_from_imu),
    Rule(RosImu, Imu, ros.imu_from_ros, loss.imu_from_ros, rows=False),
    Rule(RosImu, ImuSeries, ros.series_from_ros, loss.series_from_ros),
    Rule(VehicleImu, Increments, px4.increments_from_vehicle_imu, loss.increments_from_vehicle_imu),
    Rule(VehicleImu, Imu, px4.imu_from_vehicle_imu, loss.imu_from_vehicle_imu),
    Rule(
        VehicleImu,
        SensorCombined,
        px4_rates.sensor_combined_from_vehicle_imu,
        loss.sensor_combined_from_vehicle_imu,
    ),
    Rule(
        SensorCombined,
        VehicleImu,
        px4_rates.vehicle_imu_from_sensor_combined,
        loss.vehicle_imu_from_sensor_combined,
    ),
    Rule(
        SensorCombined,
        ImuSeries,
        px4_rates.series_from_sensor_combined,
        loss.series_from_sensor_combined,
    ),
    Rule(SensorGyro, ImuSeries, px4_rates.series_from_sensor_gyro, loss.series_from_sensor),
    Rule(SensorAccel, ImuSeries, px4_rates.series_from_sensor_accel, loss.series_from_sensor),
    Rule(
        VehicleAngularVelocity,
        ImuSeries,
        px4_rates.series_from_vehicle_angular_velocity,
        loss.series_from_vehicle_angular_velocity,
    ),
    Rule(
        VehicleAcceleration,
        ImuSeries,
        px4_rates.series_from_vehicle_acceleration,
        loss.published,
    ),
    Rule(ImuSeries, Imu, horus.imu_from_series, loss.imu_from_series),
    Rule(ImuSeries, RosImu, ros.ros_from_series, loss.ros_from_series),
    Rule(ImuSeries, Increments, px4.increments_from_mean_rates, loss.increments_from_series),
    Rule(Increments, ImuSeries, px4.series_from_increments, loss.series_from_increments),
    Rule(Increments, VehicleImu, px4.vehicle_imu_from_increments, loss.vehicle_imu_from_increments),
    Rule(Pose3D, Trajectory, horus.trajectory_from_pose, loss.nothing),
    Rule(Odometry, Trajectory, horus.trajectory_from_odometry, loss.trajectory_from_odometry),
    Rule(
        VehicleAttitude,
        Trajectory,
        px4_estimates.trajectory_from_vehicle_attitude,
        loss.trajectory_from_vehicle_attitude,
    ),
    Rule(
        VehicleOdometry,
        Trajectory,
        px4_estimates.trajectory_from_vehicle_odometry,
        loss.trajectory_from_vehicle_odometry,
    ),
    Rule(Batch, Trajectory, ros.trajectory_from_ros, loss.trajectory_from_ros),
    Rule(Trajectory, Pose3D, horus.pose_from_trajectory, loss.pose_from_trajectory),
    Rule(Trajectory, Odometry, horus.odometry_from_trajectory, loss.odometry_from_trajectory),
    Rule(
        Trajectory,
        VehicleAttitude,
        px4_estimates.vehicle_attitude_from_trajectory,
        loss.vehicle_attitude_from_trajectory,
    ),
    Rule(
        Trajectory,
        VehicleOdometry,
        px4_estimates.vehicle_odometry_from_trajectory,
        loss.vehicle_odometry_from_trajectory,
    ),
    Rule(Trajectory, Batch, ros.ros_from_trajectory, loss.ros_from_trajectory),
)
"""Every conversion between a pair of types."""

_BY_PAIR: Final = {(rule.source, rule.target): rule for rule in RULES}


@overload
def convert(source: Rows | Record | RosImu, to: type[Columns], **options: object) -> Columns: ...
@overload
def convert(source: Record | RosImu, to: type[One], **options: object) -> One: ...
@overload
def convert(source: Rows, to: type[RosImu], **options: object) -> Batch: ...
@overload
def convert(source: Rows, to: type[Record], **options: object) -> NDArray[np.void]: ...
def convert(source: Rows | Record | RosImu, to: type[Any], **options: object) -> Any:
    """Convert messages or a series by the rule for the two types.

    Parameters
    ----------
    source : series, message, list of messages, structured array, or Batch
        N messages or rows.
    to : type
        A target that the table above lists for the source.
    **options
        Keywords of the rule, such as ``strict``, ``dt_ns``, ``frame_id`` or ``stamp``.

    Returns
    -------
    series, message, (N,) array of to.dtype, or Batch
        A series for a series type. For a message type: a message from a message, a ``Batch``
        of ``RosImu`` or poses, otherwise an array of its ``dtype``.

    Raises
    ------
    TypeError
        There is no conversion between the two types, an option is missing or unknown, or rows
        could be of two message types.
    StrapdownError
        As the rule.

    Examples
    --------
    >>> from strapdown.messages import Imu, RosImu, convert
    >>> convert(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, 5), to=RosImu, frame_id="imu").frame_id
    'imu'
    """
    kind = _kind(source)
    rule = rule_between(kind, to)
    single = isinstance(source, Record | RosImu)
    if not rule.rows:
        if single and to is not Batch:
            return rule.function(source, **options)
        converted = [rule.function(each, **options) for each in _messages(source, kind)]
        return as_batch(converted) if rule.target is RosImu else rule.target.array(converted)
    rows = rule.function(source, **options)
    return rule.target.from_record(rows[0]) if single and issubclass(to, Record) else rows


def losses(source: object, target: type) -> tuple[str, ...]:
    """Name the fields of ``source`` that are in use and that ``target`` cannot hold.

    Parameters
    ----------
    source : series, message, list of messages, structured array, or Batch
        Messages or rows to convert.
    target : type
        As for :func:`convert`.

    Returns
    -------
    tuple of str
        Names of fields; empty where converting back gives the source again.

    Raises
    ------
    TypeError
        There is no conversion between the two types.
    """
    kind = _kind(source)
    columns: Any = source
    if kind is RosImu:
        columns = as_batch(columns)
    elif issubclass(kind, Record):
        columns = as_records(columns, kind)
    return tuple(name for name, lost in rule_between(kind, target).lost(columns).items() if lost)


def rule_between(source: type[Any], target: type[Any]) -> Rule:
    """Return the rule that converts one type to another; a ``Batch`` may hold ``RosImu``.

    Raises
    ------
    TypeError
        There is none.
    """
    pairs = ((s, t) for s in _readings(source) for t in _readings(target))
    rule = next((_BY_PAIR[pair] for pair in pairs if pair in _BY_PAIR), None)
    if rule is None:
        targets = [rule.target.__name__ for rule in RULES if rule.source in _readings(source)]
        raise TypeError(
            f"expected types with a conversion, got {source.__name__} and {target.__name__}; "
            f"{source.__name__} converts to {', '.join(targets) or 'nothing'}"
        )
    return rule


def _readings(kind: type[Any]) -> tuple[type[Any], ...]:
    """Return the types under which the table may list a type."""
    return (Batch, RosImu) if kind is Batch else (kind,)


def _kind(source: object) -> type[Any]:
    """Return the type of the messages or of the series."""
    if isinstance(source, np.ndarray):
        sources = dict.fromkeys(rule.source for rule in RULES if issubclass(rule.source, Record))
        kinds = [kind for kind in sources if kind.dtype == source.dtype]
        if len(kinds) > 1:
            names = " and ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"expected rows of one type, got a dtype of {names}; pass messages")
        return kinds[0] if kinds else np.ndarray
    if isinstance(source, list | tuple) and source:
        return type(source[0])
    return type(source)


def _messages(source: Any, kind: type[Any]) -> Iterable[Any]:  # noqa: ANN401 (of the type that kind says)
    """Return messages one by one."""
    if isinstance(source, Batch):
        return map(RosImu.from_stamped, source)
    if isinstance(source, np.ndarray):
        return map(kind.from_record, source.reshape(-1))
    return [source] if isinstance(source, kind) else source
