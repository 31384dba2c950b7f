"""The vectors of the error-state filter: state, error, settings.

Behind the head that all filters share the state holds:

=======  ===============  ==================================================================
state    name             holds
=======  ===============  ==================================================================
29-31    VELOCITY         velocity [m/s, world]
32-34    ACCEL_BIAS       bias of the accelerometer [m/s^2, body]
35-43    GYRO_MATRIX      M: scale and misalignment of the gyro, row by row [-]
44       DEVIATION        how far the local field points east of north [rad]
45       DELAY            age of the magnetometer's readings [s]
46       ALIGNED          0 before tilt is known, 1 before heading is, 2
47-49    FORCE            last usable specific force [m/s^2, body]
50       FORCE_LOST       how long the accelerometer has been missing or clipped [s]
51       RATE_LOST        how long the gyro has been clipped [s]
52       PEAK             largest angular velocity so far on any axis [rad/s]
53-55    SLOW_RATE        low-passed angular velocity [rad/s, body]
56-58    SLOW_FORCE       low-passed specific force [m/s^2, body]
59       RATE_POWER       low-passed square of the angular velocity [rad^2/s^2]
60       FORCE_POWER      low-passed square of FORCE - SLOW_FORCE [m^2/s^4]
61       REST             how long nothing has moved [s]
62       BIAS_SCALE       standard deviation that gyro biases are believed to have [rad/s]
63-65    READING          what the gyro read in the window [rad, body]
66-68    LOST_TURN        variance of turn that was lost in the window [rad^2, world]
69       LOST_SPEED       variance of velocity that was lost in the window [m^2/s^2]
70       CLIPPED          1 if the gyro was clipped in the window
71-73    FIELD            sum of the magnetic fields in the window [as measured, world]
74-75    SWING            sum of their change with DELAY, east and north [per second]
76       FIELD_COUNT      how many
77-78    USUAL            horizontal and upward part of the field that counts as undisturbed
79       USUAL_AGE        how long that has been seen [s]
80-82    CANDIDATE        field that may become the usual one [as measured, world]
83       CANDIDATE_AGE    how long that has been seen in rotation [s]
84-160   WINDOW_AT        window of preintegrated samples, see ``error_state``
161-183  ERROR            error found in this window
184-206  COLUMN           P H^T of the measurement at hand
207-229  GAIN             its gain
230-758  P                covariance of the error, row by row
=======  ===============  ==================================================================

The error is that of ``error_state`` and, behind it, that of DEVIATION and of DELAY.
"""

from __future__ import annotations

from typing import Final

from strapdown.estimation._kernels import FRESH_HEAD, OWN, OWN_SETTINGS
from strapdown.estimation.error_state._kernels import OTHERS, WINDOW

NORTH: Final = OTHERS  # places in the error
AGE: Final = OTHERS + 1
ERRORS: Final = OTHERS + 2

VELOCITY: Final = OWN
ACCEL_BIAS: Final = OWN + 3
GYRO_MATRIX: Final = OWN + 6
DEVIATION: Final = OWN + 15
DELAY: Final = OWN + 16
ALIGNED: Final = OWN + 17
FORCE: Final = OWN + 18
FORCE_LOST: Final = OWN + 21
RATE_LOST: Final = OWN + 22
PEAK: Final = OWN + 23
SLOW_RATE: Final = OWN + 24
SLOW_FORCE: Final = OWN + 27
RATE_POWER: Final = OWN + 30
FORCE_POWER: Final = OWN + 31
REST: Final = OWN + 32
BIAS_SCALE: Final = OWN + 33
READING: Final = OWN + 34
LOST_TURN: Final = OWN + 37
LOST_SPEED: Final = OWN + 40
CLIPPED: Final = OWN + 41
FIELD: Final = OWN + 42
SWING: Final = OWN + 45
FIELD_COUNT: Final = OWN + 47
USUAL: Final = OWN + 48
USUAL_AGE: Final = OWN + 50
CANDIDATE: Final = OWN + 51
CANDIDATE_AGE: Final = OWN + 54
WINDOW_AT: Final = OWN + 55
ERROR: Final = WINDOW_AT + WINDOW
COLUMN: Final = ERROR + ERRORS
GAIN: Final = COLUMN + ERRORS
P: Final = GAIN + ERRORS
SIZE: Final = P + ERRORS * ERRORS
FRESH: Final = FRESH_HEAD + (0.0,) * (SIZE - OWN)

# Places in the settings, in the order of the parameters.
GYRO_NOISE: Final = OWN_SETTINGS
GYRO_SCALE_NOISE: Final = OWN_SETTINGS + 1
GYRO_BIAS_SIGMA: Final = OWN_SETTINGS + 2
GYRO_BIAS_WALK: Final = OWN_SETTINGS + 3
GYRO_MATRIX_SIGMA: Final = OWN_SETTINGS + 4
ACCEL_NOISE: Final = OWN_SETTINGS + 5
ACCEL_BIAS_SIGMA: Final = OWN_SETTINGS + 6
SPEED_SIGMA: Final = OWN_SETTINGS + 7
SPEED_TIME: Final = OWN_SETTINGS + 8
REST_SPEED_SIGMA: Final = OWN_SETTINGS + 9
REST_RATE_SIGMA: Final = OWN_SETTINGS + 10
FIELD_NOISE: Final = OWN_SETTINGS + 11
FIELD_SIGMA: Final = OWN_SETTINGS + 12
FIELD_TIME: Final = OWN_SETTINGS + 13
NORTH_SIGMA: Final = OWN_SETTINGS + 14
FIELD_DELAY_SIGMA: Final = OWN_SETTINGS + 15
TILT_SIGMA: Final = OWN_SETTINGS + 16
HEADING_SIGMA: Final = OWN_SETTINGS + 17
