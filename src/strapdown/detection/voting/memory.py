"""State of a voter for each sensor and quantity, and the rows that it writes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from strapdown._kernels.records import Record, Vector, filled
from strapdown.detection.voting.result import SensorState
from strapdown.samples.clock import Clock

OK, SUSPECT, FAILED = map(int, SensorState)
MEASURES, VOTES = 1, 2  # ranks of sensors with a value: failed, and not failed

STUCK_REPEATS: Final = 8  # as many equal values are not due to chance


class SensorMemory(Record):
    """State of a gyro or an accelerometer; means are low-passes, fast or slow."""

    state: int = OK
    missing: int = 0  # cycles without a value
    over: float = 0.0  # time over the limit, less the time since [s]
    inside: float = 0.0  # time inside half the limit [s]
    excess: float = 0.0  # statistics over their limits, the largest
    residual: Vector = filled(3)  # difference from the median, or from the partner
    fast_residual: Vector = filled(3)  # its means
    slow_residual: Vector = filled(3)
    noise: Vector = filled(3)  # fast mean of half the squares of its changes
    cross: float = 0.0  # fast mean of the product of residual and value
    last: Vector = filled(3)  # value of the cycle before
    repeats: int = 0  # equal values in a row
    fast_value: Vector = filled(3)  # means of the value
    slow_value: Vector = filled(3)
    power: float = 0.0  # fast mean of the squares of its deviations
    cut: float = 0.0  # slow mean of the share of clipped readings
    carried: Vector = filled(3)  # specific force propagated by the rotation [m/s^2]; 0: unknown
    miss: float = 0.0  # slow mean of the squared distance of the measured one from it


class Sensor(Record):
    """A gyro or an accelerometer: profile, state, and reading of this cycle."""

    sigma: float = 1.0  # noise of a sample of an axis
    priority: int = 0
    memory: SensorMemory = SensorMemory()
    value: Vector = filled(3)  # body axes; NaN if missing
    clipped: bool = False
    rank: int = 0  # VOTES, MEASURES, or 0: no value
    change: int = 0  # of its state


class ImuMemory(Record):
    """Last reading of an IMU in sensor axes; NaN if missing."""

    last_ns: int = 0
    rate: Vector = filled(3, math.nan)
    force: Vector = filled(3, math.nan)


class Imu(Record):
    """Mounting of an IMU, and its last reading."""

    q_body_from_sensor: Vector = filled(4)
    lever_arm: Vector = filled(3)  # [m, body]
    memory: ImuMemory = ImuMemory()


class Voted(Record):
    """Quantity that sensors vote on."""

    value: Vector = filled(3, math.nan)  # output
    middle: Vector = filled(3)  # median of the sensors
    fast_middle: Vector = filled(3)  # its means
    slow_middle: Vector = filled(3)
    size: float = 0.0  # fast mean of its square, and of half the square of its changes
    change: float = 0.0
    selected: int = 0
    held: float = 0.0  # time since the selection changed [s]
    apart: float = 0.0  # time for which two disagree [s]


class BodyMemory(Record):
    """Clock of the common stamp, and state of the body."""

    clock: Clock = Clock()
    gyro: Voted = Voted()
    accel: Voted = Voted()
    rate: Vector = filled(3)  # voted angular velocity, and its derivative
    slope: Vector = filled(3)


class Changes(Record):
    """Changes of a quantity; 0: none."""

    dispute: int = 0  # DISAGREE or AGREE
    selection: int = 0  # IS_SELECTED


class CycleRow(Record):
    """Output of a cycle."""

    t_ns: int = 0
    angular_velocity: Vector = filled(3)
    specific_force: Vector = filled(3)
    changes: int = 0  # number of changes
    selected: list[int] = [0] * 2  # gyro, accelerometer
    gyro: Changes = Changes()
    accel: Changes = Changes()


class ImuRow(Record):
    """States of the gyro and the accelerometer of an IMU after a cycle, and their changes."""

    states: list[int] = [0] * 2
    changes: list[int] = [0] * 2


class Step(NamedTuple):
    """Time step, gains of the low-passes in it, and constants of a quantity."""

    dt: float
    fast: float
    slow: float
    largest: float  # limit of plausible values
    bias: float  # largest difference of two good sensors
    at_rest: float  # norm at rest
