"""Devices whose values and targets pass through the interface."""

from __future__ import annotations

import math

import pytest

from strapdown.webots.api import (
    Device,
    LinearMotor,
    Motor,
    PositionSensor,
    Robot,
    RotationalMotor,
    Sensor,
)

MOTOR = {
    "rotational": True, "min_position": -1.0, "max_position": 2.0, "max_velocity": 10.0,
    "acceleration": -1.0, "max_force": 5.0, "control_pid": (10.0, 0.0, 0.0), "position": 0.25,
    "velocity": 10.0, "multiplier": 1.0,
}  # fmt: skip


class TestInertialUnit:
    def test_the_angles_of_r2025a_are_made_of_the_quaternion(self, robot):
        rob = robot()
        unit = rob.getDevice("inertial unit")
        unit.enable(32)
        rob.step(32)
        unit._state.values = [0.050362191, 0.171221984, 0.276489453, 0.944298821]
        assert unit.getRollPitchYaw() == pytest.approx([0.2, 0.3, 0.6], abs=1e-7)
        assert unit.getQuaternion() == [0.050362191, 0.171221984, 0.276489453, 0.944298821]

    def test_those_of_the_manual_come_with_it(self, robot):
        rob = robot(profile="documented")
        unit = rob.getDevice("inertial unit")
        unit.enable(32)
        assert [math.isnan(each) for each in unit.roll_pitch_yaw] == [True] * 3
        assert [math.isnan(each) for each in unit.quaternion] == [True] * 4
        rob.step(32)
        assert unit.getRollPitchYaw() == [0.1, 0.2, 0.3]
        assert unit.getQuaternion() == [0.0, 0.0, 0.0, 1.0]

    def test_r2020a_has_angles_only(self, robot):
        rob = robot(profile="R2020a", version="R2020a")
        unit = rob.getDevice("inertial unit")
        unit.enable(32)
        rob.step(32)
        assert unit.getRollPitchYaw() == [0.1, 0.2, 0.3]
        for name in ("getQuaternion", "getNoise", "quaternion", "noise"):
            assert name not in dir(unit)
            with pytest.raises(AttributeError, match=f"'InertialUnit' object has no .* '{name}'"):
                getattr(unit, name)
        assert type(unit).__name__ == "InertialUnit"


class TestGps:
    def test_position_speed_and_velocity_are_of_one_sample(self, robot):
        rob = robot("GPS gps")
        gps = rob.getDevice("gps")
        gps.enable(32)
        rob.step(32)
        assert gps.getValues() == gps.value == [32.0, 64.0, -32.0]
        assert gps.getSpeed() == gps.speed == 5.0
        assert gps.getSpeedVector() == gps.speed_vector == [3.0, 4.0, 0.0]
        assert gps.getCoordinateSystem() == gps.LOCAL

    @pytest.mark.parametrize(
        ("degrees", "text"),
        [(46.51, "46° 30′ 36″"), (-46.51, "-46° 30′ 36″"), (6.5, "6° 30′ 0″"), (0.0, "0° 0′ 0″")],  # noqa: RUF001 (minutes of arc)
    )
    def test_degrees_have_minutes_and_seconds(self, robot, degrees, text):
        assert robot("GPS gps").getDevice("gps").convertToDegreesMinutesSeconds(degrees) == text


class TestMotor:
    @pytest.fixture
    def motor(self, robot):
        parameters = {
            "RotationalMotor": MOTOR | {"joint": (1, 2, 3)},
            "LinearMotor": MOTOR | {"rotational": False},
            "PositionSensor": {"rotational": True, "joint": (1, 2, 3)},
            "Brake": {"joint": (1, 2, 3)},
        }
        rob = robot(
            "RotationalMotor motor", "PositionSensor sensor", "Brake brake", "LinearMotor linear",
            parameters=parameters,
        )  # fmt: skip
        device = rob.getDevice("motor")
        device.rob = rob
        return device

    def test_what_the_node_says_is_read(self, motor):
        assert (motor.getMinPosition(), motor.getMaxPosition()) == (-1.0, 2.0)
        assert (motor.getMaxVelocity(), motor.getVelocity()) == (10.0, 10.0)
        assert (motor.getMaxTorque(), motor.getAvailableTorque(), motor.getMaxForce()) == (5,) * 3
        assert (motor.getAcceleration(), motor.getMultiplier()) == (-1.0, 1.0)
        assert motor.getTargetPosition() == 0.25
        assert motor.getType() == Motor.ROTATIONAL
        assert motor.rob.getDevice("linear").getType() == Motor.LINEAR

    def test_commands_go_with_the_next_step_and_can_be_read_at_once(self, motor):
        motor.setPosition(math.inf)
        motor.setVelocity(1)
        motor.target_acceleration = 2.0
        motor.available_torque = 3.0
        motor.setControlPID(1, 2, 3)
        assert (motor.getTargetPosition(), motor.getVelocity()) == (math.inf, 1.0)
        assert (motor.getAcceleration(), motor.getAvailableForce()) == (2.0, 3.0)
        motor.rob.step(32)
        assert motor.rob.port.requests == [
            (1, "position", (math.inf,)),
            (1, "velocity", (1.0,)),
            (1, "acceleration", (2.0,)),
            (1, "available_force", (3.0,)),
            (1, "pid", (1.0, 2.0, 3.0)),
        ]

    def test_a_torque_and_a_position_keep_their_order(self, motor):
        motor.setTorque(1.0)
        motor.setPosition(0.5)
        motor.torque = 2.0
        motor.rob.step(32)
        assert motor.rob.port.requests == [(1, "position", (0.5,)), (1, "torque", (2.0,))]

    def test_what_is_not_a_number_is_refused(self, motor, capsys):
        motor.setPosition(math.nan)
        assert capsys.readouterr().err == (
            "Error: wb_motor_set_position() called with an invalid 'position' argument (NaN).\n"
        )
        with pytest.raises(TypeError, match="must be real number, not str"):
            motor.setVelocity("1")
        assert (motor.getTargetPosition(), motor.getVelocity()) == (0.25, 10.0)

    def test_devices_of_a_joint_know_each_other(self, motor):
        sensor, brake = motor.getPositionSensor(), motor.getBrake()
        assert (sensor.name, brake.name) == ("sensor", "brake")
        assert sensor.getMotor().name == brake.getMotor().name == "motor"
        assert sensor.getBrake().name == "brake"
        assert brake.getPositionSensor().name == "sensor"
        assert motor.rob.getDevice("linear").getPositionSensor() is None
        sensor.getMotor().setVelocity(3.0)
        assert motor.getVelocity() == 3.0

    def test_rotational_and_linear_motors_are_told_apart(self, motor, capsys):
        linear = motor.rob.getDevice("linear")
        assert isinstance(motor, RotationalMotor)
        assert isinstance(linear, LinearMotor)
        assert math.isnan(LinearMotor("motor", robot=motor.rob).getVelocity())
        assert capsys.readouterr().err.endswith(
            "Error: wb_motor_get_velocity(): invalid device tag.\n"
        )
        Motor(2, robot=motor.rob).setForce(1.0)
        assert capsys.readouterr().err == ("Error: wb_motor_set_force(): invalid device tag.\n")

    def test_feedback_is_accepted_and_reads_nothing(self, motor, capsys):
        capsys.readouterr()
        assert math.isnan(motor.getTorqueFeedback())
        motor.enableTorqueFeedback(32)
        assert motor.getTorqueFeedbackSamplingPeriod() == 32
        assert motor.getTorqueFeedback() == 0.0
        motor.disableTorqueFeedback()
        assert math.isnan(motor.torque_feedback)
        assert "Motor.enableTorqueFeedback() is accepted" in capsys.readouterr().err

    def test_a_position_sensor_reads_one_value(self, motor):
        sensor = PositionSensor("sensor", 64, robot=motor.rob)
        assert math.isnan(sensor.getValue())
        motor.rob.step(64)
        assert sensor.getValue() == sensor.value == 0.0
        assert sensor.getType() == PositionSensor.ROTATIONAL


def test_a_name_enables_and_a_tag_does_not(robot):
    rob = robot("PositionSensor a", "PositionSensor b")
    assert PositionSensor("a", robot=rob).getSamplingPeriod() == 32
    assert PositionSensor(2, robot=rob).getSamplingPeriod() == 0
    assert PositionSensor("b", 100, robot=rob).getSamplingPeriod() == 100


def test_a_sensor_of_no_class_is_one_of_any_kind(robot):
    rob = robot()
    sensor = Sensor("gyro", robot=rob)
    assert (sensor.getSamplingPeriod(), rob.getDevice("gyro").getSamplingPeriod()) == (32, 32)
    rob.step(32)
    assert (sensor.sample_time, sensor.getNodeType()) == (0.032, 45)


def test_a_device_of_a_taken_name_is_the_last_at_the_place_of_the_first(robot):
    rob = robot("Gyro one", "Compass two", "Accelerometer one")
    assert [(name, type(each).__name__) for name, each in rob.devices.items()] == [
        ("one", "Accelerometer"),
        ("two", "Compass"),
    ]
    assert rob.getNumberOfDevices() == 3


def test_a_taken_name_stands_for_the_robot_or_else_the_first_device(robot):
    rob = robot("Gyro one", "Compass one", "Compass rob")
    assert Device("one", robot=rob)._tag == 1
    assert Device("rob", robot=rob)._tag == 0


def test_a_device_is_found_by_its_place_and_its_name():
    robot = Robot(
        """#VRML_SIM R2025a utf8
        WorldInfo { basicTimeStep 64 coordinateSystem "NUE" }
        Robot {
          translation 0.1 0.2 0.3
          children [
            Gyro { } Compass { } Accelerometer { }
            GPS { name "test_gps" model "gps model" }
          ]
        }
    """.replace("\n    ", "\n"),
        profile="R2025a",
    )
    gps = robot.getDeviceByIndex(3)
    assert (gps.getNodeType(), gps.getName(), gps.getModel()) == (44, "test_gps", "gps model")
    assert robot.getDevice("test_gps") is gps
    gps.enable(64)
    robot.step(64)
    assert gps.getValues() == pytest.approx([0.1, 0.2, 0.3], abs=1e-4)
