"""Where the kernels of voting keep what.

``rows`` holds a row for each quantity (0 angular velocity, 1 specific force) and sensor, quantity
first; ``shared`` what belongs to a quantity, and last what belongs to the body; ``account`` stamps
and counts; ``here`` a scratch row for each sensor. Only ``here`` and readings have NaN.
"""

from __future__ import annotations

from typing import Final

from strapdown.intake._kernels import LAST_NS

# rows
STATE: Final = 0
OVER: Final = 1  # time over the limit, less the time since [s]
INSIDE: Final = 2  # time inside half the limit [s]
FAST: Final = 3  # residual through the fast low-pass, and through the slow one
SLOW: Final = 6
POWER: Final = 9  # half the squares of its changes, a noise, through the fast low-pass
CROSS: Final = 12  # product of residual and value through the same
OWN: Final = 13  # value of the sensor through the same
OWN_POWER: Final = 16  # its squares about that
LAST: Final = 17  # its value before
RUN: Final = 20  # equal values in a row
EXCESS: Final = 21  # statistics over their limits, the largest
RESIDUAL: Final = 22  # of the cycle before
CALM: Final = 25  # value of the sensor through the slow low-pass
CARRIED: Final = 28  # specific force as the turning body carries it along [m/s^2]; 0: not known
MISS: Final = 31  # how far it has been from the measured one: squares through the slow low-pass
CUT: Final = 32  # share of clipped readings through the same
ROW: Final = 33

# shared, for each quantity
NEAR: Final = 0  # the voted value through the fast low-pass, and through the slow one
FAR: Final = 3
SIZE: Final = 6  # its square through the fast one, and half the square of its changes
CHANGE: Final = 7
MIDDLE: Final = 8  # the voted value of the cycle before
SELECTED: Final = 11
HOLD: Final = 12  # time since the selection changed [s]
APART: Final = 13  # time for which two disagree [s]
SHARED: Final = 14
# and after both
TURN: Final = 2 * SHARED  # voted angular velocity, and its derivative
ALPHA: Final = TURN + 3
STEPS: Final = TURN + 6  # the clock of the common stamp: intervals in their mean, and the mean [s]
INTERVAL: Final = TURN + 7
FAST_GAIN: Final = TURN + 8  # of the low-passes in this cycle
SLOW_GAIN: Final = TURN + 9
SHARED_SIZE: Final = TURN + 10

# here: both quantities in body axes, 6 numbers, then
RANK: Final = 6  # VOTES, MEASURES or 0: no value
BITS: Final = 7  # clipped axes: gyro 1 2 4, accelerometer 8 16 32
HERE: Final = 8
MEASURES: Final = 1.0  # but has failed
VOTES: Final = 2.0

# mounts
POSE_ARM: Final = 4  # after the quaternion

# account
COMMON_NS: Final = LAST_NS  # after it what the clock counts
RESTARTS: Final = 6
FIRST_STAMP: Final = 7  # then the last stamp of each sensor, and how often it was missing

# settings
FAST_S: Final = 0
SLOW_S: Final = 1
GYRO_BIAS: Final = 2
ACCEL_BIAS: Final = 3
SCALE: Final = 4
SUSPECT_S: Final = 5
FAILED_S: Final = 6
RECOVER_S: Final = 7
HOLD_S: Final = 8
GRAVITY: Final = 9
BLENDS: Final = 10
NOISE_FREE: Final = 11

OK: Final = 0.0
SUSPECT: Final = 1.0
FAILED: Final = 2.0

# what is logged: stamp, kind, quantity, sensor
SUSPECTED: Final = 0
HAS_FAILED: Final = 1
CLEARED: Final = 2
RECOVERED: Final = 3
IS_SELECTED: Final = 4
DISAGREE: Final = 5
AGREE: Final = 6
LOG: Final = 4

STUCK_RUN: Final = 8.0  # so many equal values are no chance
