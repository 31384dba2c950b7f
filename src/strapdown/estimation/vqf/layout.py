"""What the state of VQF holds behind the head that all filters share, and the settings' places.

=======  ================  =================================================================
state    name              holds
=======  ================  =================================================================
29-32    GYRO              what the gyro says alone, x y z w
33-36    TILT              the slow correction of tilt: TILT * GYRO is the orientation without field
37-38    HALF              sine and cosine of half the heading offset
39-44    SPREAD            covariance of the bias [rad^2/s^2], xx xy xz yy yz zz
45-57    LEVEL             low-pass of 3: specific force as GYRO turns it
58-94    FRAME             low-pass of 11: matrix of TILT * GYRO (9), the bias it turns (x, y)
95-107   SLOW_RATE         low-pass of 3: the readings of the gyro
108-120  SLOW_FORCE        low-pass of 3: the readings of the accelerometer
121-130  SLOW_FIELD        low-pass of 2: strength and dip of the magnetic field
131-133  RATE_PACE         sampling interval [s]: the mean, how many are in it, the one that
134-136  FORCE_PACE        the low-passes are designed for; one for each sensor
137-139  FIELD_PACE
140      REST              how long nothing has moved [s]
141      OPENING           least weight of the next magnetic field: 1, 1/2, 1/3 ... and 0
142-143  USUAL             strength and dip of the field that counts as undisturbed
144      UNDISTURBED       how long the field has been the usual one [s]
145      REJECTED          how long disturbed fields have been rejected [s]
146-147  CANDIDATE         strength and dip of the field that may become the usual one
148      CANDIDATE_TIME    how long that has been seen in rotation [s]
149      UNSEEN            turn that a clipped gyro has missed so far [rad]
150      BROKEN            turn that was lost up to this sample [rad]; else 0
151      PAUSE             how long motion still teaches nothing about the bias [s]
152      DRIFT             how the variance of the bias grows [rad^2/s^3]
153      NOISE_LEVEL       noise of the bias measured in motion, about level axes, and
154      NOISE_VERTICAL    about the vertical; at rest [rad^2/s^2]
155      NOISE_AT_REST
156-158  DIP_ANCHOR        a dip near the last one, its sine and its cosine
159-162  BASE              TILT when the averages began anew; NO_BASE as its last: none
163      FIRST             1 while the first sample waits to be told the sampling interval
164-175  FIRST_VECTORS     its vectors, each behind a 1 if it had it
=======  ================  =================================================================

A low-pass of n numbers is laid out as: outputs (n), two rows of its memory (n each), how many
samples are in the mean that stands for it at first (-1: it runs), and coefficients b0, a1, a2.
"""

from __future__ import annotations

from typing import Final

from strapdown.estimation._kernels import FRESH_HEAD, OWN, OWN_SETTINGS

GYRO: Final = OWN
TILT: Final = OWN + 4
HALF: Final = OWN + 8
SPREAD: Final = OWN + 10
LEVEL: Final = OWN + 16
FRAME: Final = LEVEL + 13
FRAME_SIZE: Final = 11
SLOW_RATE: Final = FRAME + 3 * FRAME_SIZE + 4
SLOW_FORCE: Final = SLOW_RATE + 13
SLOW_FIELD: Final = SLOW_FORCE + 13
RATE_PACE: Final = SLOW_FIELD + 10
FORCE_PACE: Final = RATE_PACE + 3
FIELD_PACE: Final = RATE_PACE + 6
REST: Final = RATE_PACE + 9
OPENING: Final = REST + 1
USUAL: Final = REST + 2
UNDISTURBED: Final = REST + 4
REJECTED: Final = REST + 5
CANDIDATE: Final = REST + 6
CANDIDATE_TIME: Final = REST + 8
UNSEEN: Final = REST + 9
BROKEN: Final = REST + 10
PAUSE: Final = REST + 11
DRIFT: Final = REST + 12
NOISE_LEVEL: Final = DRIFT + 1
NOISE_VERTICAL: Final = DRIFT + 2
NOISE_AT_REST: Final = DRIFT + 3
DIP_ANCHOR: Final = REST + 16
BASE: Final = REST + 19
FIRST: Final = REST + 23
FIRST_VECTORS: Final = FIRST + 1
FRESH: Final = FRESH_HEAD + tuple(
    {
        GYRO + 3: 1.0,
        TILT + 3: 1.0,
        HALF + 1: 1.0,
        DIP_ANCHOR + 2: 1.0,
        BASE + 3: 2.0,
        OPENING: 1.0,
        CANDIDATE: -1.0,
    }.get(i, 0.0)
    for i in range(OWN, FIRST_VECTORS + 12)
)

TAU_ACC: Final = OWN_SETTINGS  # places in the settings
TAU_MAG: Final = OWN_SETTINGS + 1
LEARNS_IN_MOTION: Final = OWN_SETTINGS + 2
LEARNS_AT_REST: Final = OWN_SETTINGS + 3
REJECTS: Final = OWN_SETTINGS + 4
BIAS_SIGMA_START: Final = OWN_SETTINGS + 5
BIAS_FORGETTING: Final = OWN_SETTINGS + 6
BIAS_CLIP: Final = OWN_SETTINGS + 7
BIAS_SIGMA_MOTION: Final = OWN_SETTINGS + 8
BIAS_VERTICAL: Final = OWN_SETTINGS + 9
BIAS_SIGMA_REST: Final = OWN_SETTINGS + 10
REST_TIME: Final = OWN_SETTINGS + 11
REST_TAU: Final = OWN_SETTINGS + 12
REST_RATE: Final = OWN_SETTINGS + 13
REST_FORCE: Final = OWN_SETTINGS + 14
FIELD_TAU: Final = OWN_SETTINGS + 15
FIELD_MEMORY: Final = OWN_SETTINGS + 16
STRENGTH_TOLERANCE: Final = OWN_SETTINGS + 17
DIP_TOLERANCE: Final = OWN_SETTINGS + 18
NEW_FIELD_TIME: Final = OWN_SETTINGS + 19
FIRST_FIELD_TIME: Final = OWN_SETTINGS + 20
NEW_FIELD_RATE: Final = OWN_SETTINGS + 21
UNDISTURBED_TIME: Final = OWN_SETTINGS + 22
REJECTION_TIME: Final = OWN_SETTINGS + 23
REJECTION_FACTOR: Final = OWN_SETTINGS + 24
RATE_NOISE: Final = OWN_SETTINGS + 25
TILT_SIGMA: Final = OWN_SETTINGS + 26
HEADING_SIGMA: Final = OWN_SETTINGS + 27
