"""What a voter remembers of each sensor and of what they measure, and what it writes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from strapdown._kernels.records import Record, Vector, filled
from strapdown.detection.voting.result import SensorState
from strapdown.samples.clock import Clock

OK, SUSPECT, FAILED = map(int, SensorState)
MEASURES, VOTES = 1, 2  # ranks: it has a value, but has failed; it has a value, and has not

STUCK_REPEATS: Final = 8  # so many equal values are no chance


class SensorMemory(Record):
    """What is remembered of a gyro or an accelerometer; means are low-passes, fast or slow."""

    state: int = OK
    missing: int = 0  # cycles without a value
    over: float = 0.0  # time over the limit, less the time since [s]
    inside: float = 0.0  # time inside half the limit [s]
    excess: float = 0.0  # statistics over their limits, the largest
    residual: Vector = filled(3)  # distance from the middle, or from the partner
    fast_residual: Vector = filled(3)  # its means
    slow_residual: Vector = filled(3)
    noise: Vector = filled(3)  # fast mean of half the squares of its changes
    cross: float = 0.0  # fast mean of the product of residual and value
    last: Vector = filled(3)  # value of the cycle before
    repeats: int = 0  # equal values in a row
    fast_value: Vector = filled(3)  # means of the value
    slow_value: Vector = filled(3)
    power: float = 0.0  # fast mean of its squares about that
    cut: float = 0.0  # slow mean of clipped readings: their share
    carried: Vector = filled(3)  # specific force as the body turns it [m/s^2]; 0: not known
    miss: float = 0.0  # slow mean of the squared distance of the measured one from it


class Sensor(Record):
    """A gyro or an accelerometer: what is known of it, remembered, and read in this cycle."""

    sigma: float = 1.0  # noise of a sample of an axis
    priority: int = 0
    memory: SensorMemory = SensorMemory()
    value: Vector = filled(3)  # body axes; NaN where it has none
    clipped: bool = False
    rank: int = 0  # VOTES, MEASURES, or 0: no value
    change: int = 0  # of its state


class ImuMemory(Record):
    """The last reading of an IMU, in its own axes; NaN where it was missing."""

    last_ns: int = 0
    rate: Vector = filled(3, math.nan)
    force: Vector = filled(3, math.nan)


class Imu(Record):
    """Where an IMU sits, and its last reading."""

    q_body_from_sensor: Vector = filled(4)
    lever_arm: Vector = filled(3)  # [m, body]
    memory: ImuMemory = ImuMemory()


class Voted(Record):
    """A quantity that sensors vote on."""

    value: Vector = filled(3, math.nan)  # that is put out
    middle: Vector = filled(3)  # of the sensors
    fast_middle: Vector = filled(3)  # its means
    slow_middle: Vector = filled(3)
    size: float = 0.0  # fast mean of its square, and of half the square of its changes
    change: float = 0.0
    selected: int = 0
    held: float = 0.0  # time since the selection changed [s]
    apart: float = 0.0  # time for which two disagree [s]


class BodyMemory(Record):
    """The clock of the common stamp, and what the body does."""

    clock: Clock = Clock()
    gyro: Voted = Voted()
    accel: Voted = Voted()
    rate: Vector = filled(3)  # voted angular velocity, and its derivative
    slope: Vector = filled(3)


class Changes(Record):
    """What has changed with a quantity; 0: nothing."""

    dispute: int = 0  # DISAGREE or AGREE
    selection: int = 0  # IS_SELECTED


class CycleRow(Record):
    """What a cycle gives."""

    t_ns: int = 0
    angular_velocity: Vector = filled(3)
    specific_force: Vector = filled(3)
    changes: int = 0  # how many
    selected: list[int] = [0] * 2  # gyro, accelerometer
    gyro: Changes = Changes()
    accel: Changes = Changes()


class ImuRow(Record):
    """How an IMU is after a cycle: its gyro, its accelerometer."""

    states: list[int] = [0] * 2
    changes: list[int] = [0] * 2


class Step(NamedTuple):
    """A time step, the gains of the low-passes in it, and what is known of a quantity."""

    dt: float
    fast: float
    slow: float
    largest: float  # plausible value
    bias: float  # two good sensors may be so far apart
    at_rest: float  # its size
