"""Devices of a joint, which refer to each other: motors, brakes and position sensors."""

from __future__ import annotations

import math
from typing import ClassVar, SupportsFloat

from strapdown.webots.api import texts
from strapdown.webots.api.device import JointDevice
from strapdown.webots.api.sensor import ScalarSensor
from strapdown.webots.api.session import real
from strapdown.webots.api.texts import say

__all__ = ["Brake", "LinearMotor", "Motor", "PositionSensor", "RotationalMotor"]


class Motor(JointDevice):
    """A motor; rotational [rad, N m] or linear [m, N]."""

    _function = "motor"
    _kinds: ClassVar[tuple[str, ...]] = ("RotationalMotor", "LinearMotor")

    def setPosition(self, position: SupportsFloat) -> None:
        """Set the target position; infinity: run at the target velocity."""
        self._command("position", "set_position", position)

    def setVelocity(self, velocity: SupportsFloat) -> None:
        """Set the velocity that is used toward the target position."""
        self._command("velocity", "set_velocity", velocity)

    def setAcceleration(self, acceleration: SupportsFloat) -> None:
        """Set the largest acceleration; -1: unlimited."""
        self._command("acceleration", "set_acceleration", acceleration)

    def setAvailableForce(self, force: SupportsFloat) -> None:
        """Set the largest force that is used toward the target position [N]."""
        self._command("available_force", "set_available_force", force)

    def setAvailableTorque(self, torque: SupportsFloat) -> None:
        """Set the largest torque that is used toward the target position [N m]."""
        self._command("available_force", "set_available_torque", torque)

    def setForce(self, force: SupportsFloat) -> None:
        """Apply a force, regardless of the target position [N]."""
        self._command("force", "set_force", force)

    def setTorque(self, torque: SupportsFloat) -> None:
        """Apply a torque, regardless of the target position [N m]."""
        self._command("torque", "set_torque", torque)

    def setControlPID(self, p: SupportsFloat, i: SupportsFloat, d: SupportsFloat) -> None:
        """Set the gains of the position control."""
        if self._state is None:
            self._refuse("set_control_pid")
        else:
            self._session.ask(self._tag, "pid", real(p), real(i), real(d))

    def getTargetPosition(self) -> float:
        """Return the target position."""
        return self.target_position

    def getMinPosition(self) -> float:
        """Return the smallest position that can be requested."""
        return self.min_position

    def getMaxPosition(self) -> float:
        """Return the largest position that can be requested; both 0: any."""
        return self.max_position

    def getVelocity(self) -> float:
        """Return the velocity that is used toward the target position."""
        return self.target_velocity

    def getMaxVelocity(self) -> float:
        """Return the largest velocity that can be requested."""
        return self.max_velocity

    def getAcceleration(self) -> float:
        """Return the largest acceleration; -1: unlimited."""
        return self.target_acceleration

    def getAvailableForce(self) -> float:
        """Return the largest force that is used toward the target position [N]."""
        return self.available_force

    def getMaxForce(self) -> float:
        """Return the largest force that can be requested [N]."""
        return self.max_force

    def getAvailableTorque(self) -> float:
        """Return the largest torque that is used toward the target position [N m]."""
        return self.available_torque

    def getMaxTorque(self) -> float:
        """Return the largest torque that can be requested [N m]."""
        return self.max_torque

    def getMultiplier(self) -> float:
        """Return the factor of this motor among coupled ones."""
        return self.multiplier

    def enableForceFeedback(self, sampling_period: int) -> None:
        """Enable force feedback with a period [ms]; it is not simulated, and reads 0."""
        self.force_feedback_sampling_period = sampling_period

    def disableForceFeedback(self) -> None:
        """Disable force feedback."""
        self.force_feedback_sampling_period = 0

    def getForceFeedbackSamplingPeriod(self) -> int:
        """Return the period of force feedback [ms]; 0: disabled."""
        return self.force_feedback_sampling_period

    def getForceFeedback(self) -> float:
        """Return the measured force [N]; NaN: disabled."""
        return self.force_feedback

    def enableTorqueFeedback(self, sampling_period: int) -> None:
        """Enable torque feedback with a period [ms]; it is not simulated, and reads 0."""
        self.torque_feedback_sampling_period = sampling_period

    def disableTorqueFeedback(self) -> None:
        """Disable torque feedback."""
        self.torque_feedback_sampling_period = 0

    def getTorqueFeedbackSamplingPeriod(self) -> int:
        """Return the period of torque feedback [ms]; 0: disabled."""
        return self.torque_feedback_sampling_period

    def getTorqueFeedback(self) -> float:
        """Return the measured torque [N m]; NaN: disabled."""
        return self.torque_feedback

    def getBrake(self) -> Brake | None:
        """Return the brake of the same joint."""
        return self.brake

    def getPositionSensor(self) -> PositionSensor | None:
        """Return the position sensor of the same joint."""
        return self.position_sensor

    @property
    def target_position(self) -> float:
        """Target position; infinity: run at the target velocity."""
        return self._parameter("position", "get_target_position", math.nan)

    @target_position.setter
    def target_position(self, position: SupportsFloat) -> None:
        self.setPosition(position)

    @property
    def target_velocity(self) -> float:
        """Velocity that is used toward the target position."""
        return self._parameter("velocity", "get_velocity", math.nan)

    @target_velocity.setter
    def target_velocity(self, velocity: SupportsFloat) -> None:
        self.setVelocity(velocity)

    @property
    def target_acceleration(self) -> float:
        """Largest acceleration; -1: unlimited."""
        return self._parameter("acceleration", "get_acceleration", math.nan)

    @target_acceleration.setter
    def target_acceleration(self, acceleration: SupportsFloat) -> None:
        self.setAcceleration(acceleration)

    @property
    def available_force(self) -> float:
        """Largest force that is used toward the target position [N]."""
        return self._available("get_available_force")

    @available_force.setter
    def available_force(self, force: SupportsFloat) -> None:
        self.setAvailableForce(force)

    @property
    def available_torque(self) -> float:
        """Largest torque that is used toward the target position [N m]."""
        return self._available("get_available_torque")

    @available_torque.setter
    def available_torque(self, torque: SupportsFloat) -> None:
        self.setAvailableTorque(torque)

    force = property(fset=setForce)
    torque = property(fset=setTorque)

    @property
    def min_position(self) -> float:
        """Smallest position that can be requested."""
        return self._parameter("min_position", "get_min_position", math.nan)

    @property
    def max_position(self) -> float:
        """Largest position that can be requested; both 0: any."""
        return self._parameter("max_position", "get_max_position", math.nan)

    @property
    def max_velocity(self) -> float:
        """Largest velocity that can be requested."""
        return self._parameter("max_velocity", "get_max_velocity", math.nan)

    @property
    def max_force(self) -> float:
        """Largest force that can be requested [N]."""
        return self._parameter("max_force", "get_max_force", math.nan)

    @property
    def max_torque(self) -> float:
        """Largest torque that can be requested [N m]."""
        return self._parameter("max_force", "get_max_torque", math.nan)

    @property
    def multiplier(self) -> float:
        """Factor of this motor among coupled ones."""
        return self._parameter("multiplier", "get_multiplier", math.nan)

    @property
    def force_feedback_sampling_period(self) -> int:
        """Period of force feedback [ms]; 0: disabled."""
        return self._feedback_period("force")

    @force_feedback_sampling_period.setter
    def force_feedback_sampling_period(self, sampling_period: int) -> None:
        self._enable_feedback("force", sampling_period)

    @property
    def torque_feedback_sampling_period(self) -> int:
        """Period of torque feedback [ms]; 0: disabled."""
        return self._feedback_period("torque")

    @torque_feedback_sampling_period.setter
    def torque_feedback_sampling_period(self, sampling_period: int) -> None:
        self._enable_feedback("torque", sampling_period)

    @property
    def force_feedback(self) -> float:
        """Measured force [N]; NaN: disabled."""
        return 0.0 if self.force_feedback_sampling_period else math.nan

    @property
    def torque_feedback(self) -> float:
        """Measured torque [N m]; NaN: disabled."""
        return 0.0 if self.torque_feedback_sampling_period else math.nan

    @property
    def brake(self) -> Brake | None:
        """Brake of the same joint."""
        return self._on_joint(Brake)

    @property
    def position_sensor(self) -> PositionSensor | None:
        """Position sensor of the same joint."""
        return self._on_joint(PositionSensor)

    def _command(self, key: str, call: str, value: SupportsFloat) -> None:
        number = real(value)
        if math.isnan(number):
            say(texts.NOT_A_NUMBER, call, call.rpartition("_")[2])
        elif self._state is None:
            self._refuse(call)
        else:
            self._state.memory[key] = number
            self._session.ask(self._tag, key, number)

    def _available(self, call: str) -> float:
        largest = self._parameter("max_force", call, math.nan)
        return self._state.memory.get("available_force", largest) if self._state else largest

    def _enable_feedback(self, what: str, sampling_period: int) -> None:
        period = self._session.milliseconds(sampling_period, 2)
        self._session.inert(f"Motor.enable{what.title()}Feedback")
        self._keep(f"{what}_feedback", f"enable_{what}_feedback", period)

    def _feedback_period(self, what: str) -> int:
        call = f"get_{what}_feedback_sampling_period"
        return int(self._parameter(f"{what}_feedback", call, 0))


class RotationalMotor(Motor):
    """Motor of a hinge [rad, N m]."""

    _kinds = ("RotationalMotor",)


class LinearMotor(Motor):
    """Motor of a slider [m, N]."""

    _kinds = ("LinearMotor",)


class Brake(JointDevice):
    """Friction of a joint."""

    _function = "brake"
    _kinds = ("Brake",)

    def setDampingConstant(self, c: SupportsFloat) -> None:
        """Set the damping [N m s or N s/m]."""
        self._keep("damping", "set_damping_constant", c)

    dampingConstant = property(fset=setDampingConstant)

    def getMotor(self) -> Motor | None:
        """Return the motor of the same joint."""
        return self.motor

    def getPositionSensor(self) -> PositionSensor | None:
        """Return the position sensor of the same joint."""
        return self.position_sensor

    @property
    def motor(self) -> Motor | None:
        """Motor of the same joint."""
        return self._on_joint(Motor)

    @property
    def position_sensor(self) -> PositionSensor | None:
        """Position sensor of the same joint."""
        return self._on_joint(PositionSensor)


class PositionSensor(JointDevice, ScalarSensor):
    """Position of a joint [rad or m]."""

    _function = "position_sensor"
    _kinds = ("PositionSensor",)

    def getMotor(self) -> Motor | None:
        """Return the motor of the same joint."""
        return self.motor

    def getBrake(self) -> Brake | None:
        """Return the brake of the same joint."""
        return self.brake

    @property
    def motor(self) -> Motor | None:
        """Motor of the same joint."""
        return self._on_joint(Motor)

    @property
    def brake(self) -> Brake | None:
        """Brake of the same joint."""
        return self._on_joint(Brake)
