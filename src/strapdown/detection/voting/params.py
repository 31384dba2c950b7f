"""Parameters of a voter: mounting and quality of sensors, and thresholds."""

from __future__ import annotations

from dataclasses import dataclass

from strapdown.detection.detector import DetectorParams
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

__all__ = ["SensorMount", "VoterParams", "VoterProfile"]


@dataclass(frozen=True)
class SensorMount:
    """Mounting of a sensor on the body.

    Parameters
    ----------
    q_body_from_sensor : (4,)
        Rotation from sensor axes to body axes, x y z w, of unit length.
    lever_arm_m : (3,)
        From the origin of the body to the sensor [m, body].
    """

    q_body_from_sensor: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    lever_arm_m: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class VoterProfile:
    """Properties of a sensor.

    Parameters
    ----------
    gyro_sigma_rad_s, accel_sigma_m_s2 : float
        Noise of one sample of an axis.
    priority : int
        The sensor with the lowest priority number is selected first; among equals the earlier
        one.
    gyro_device_id, accel_device_id : int
        Device ids of PX4, for messages.
    """

    gyro_sigma_rad_s: float = 0.1 * RAD_PER_DEG
    accel_sigma_m_s2: float = 0.02
    priority: int = 0
    gyro_device_id: int = 0
    accel_device_id: int = 0


@dataclass(frozen=True)
class VoterParams(DetectorParams):
    """Parameters of voting.

    Parameters
    ----------
    fast_s, slow_s : float
        Time constants of the low-passes of residuals.
    gyro_bias_rad_s, accel_bias_m_s2 : float
        Largest difference of two good sensors at rest.
    scale : float
        Relative difference of their scales, one sigma.
    suspect_s, failed_s : float
        Time over a limit after which a sensor is suspect, or has failed.
    recover_s : float
        Time inside half the limits after which it has recovered.
    hold_s : float
        Shortest time between a change of the selection and leaving a suspect sensor.
    gravity_m_s2 : float
        Reading of a good accelerometer at rest.
    blend : bool
        Whether the output is the mean of the good sensors, weighted by their noise, instead of
        the selected one.
    noise_free : bool
        Whether sensors are simulated without noise, so that values may repeat.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive.
    """

    fast_s: float = 0.1
    slow_s: float = 2.0
    gyro_bias_rad_s: float = 0.5 * RAD_PER_DEG
    accel_bias_m_s2: float = 0.3
    scale: float = 0.01
    suspect_s: float = 0.1
    failed_s: float = 1.0
    recover_s: float = 10.0
    hold_s: float = 1.0
    gravity_m_s2: float = STANDARD_GRAVITY
    blend: bool = False
    noise_free: bool = False
