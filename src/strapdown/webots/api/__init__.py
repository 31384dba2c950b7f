"""Controller interface of Webots: the names of ``from controller import *`` in R2025a."""

from strapdown.webots.api.accelerometer import Accelerometer
from strapdown.webots.api.altimeter import Altimeter
from strapdown.webots.api.ansi_codes import AnsiCodes
from strapdown.webots.api.brake import Brake
from strapdown.webots.api.camera import Camera, CameraRecognitionObject
from strapdown.webots.api.compass import Compass
from strapdown.webots.api.connector import Connector
from strapdown.webots.api.device import Device as Device
from strapdown.webots.api.display import Display
from strapdown.webots.api.distance_sensor import DistanceSensor
from strapdown.webots.api.emitter import Emitter
from strapdown.webots.api.field import Field
from strapdown.webots.api.gps import GPS
from strapdown.webots.api.gyro import Gyro
from strapdown.webots.api.inertial_unit import InertialUnit
from strapdown.webots.api.joystick import Joystick
from strapdown.webots.api.keyboard import Keyboard
from strapdown.webots.api.led import LED
from strapdown.webots.api.lidar import Lidar
from strapdown.webots.api.lidar_point import LidarPoint
from strapdown.webots.api.light_sensor import LightSensor
from strapdown.webots.api.motion import Motion
from strapdown.webots.api.motor import LinearMotor as LinearMotor
from strapdown.webots.api.motor import Motor
from strapdown.webots.api.motor import RotationalMotor as RotationalMotor
from strapdown.webots.api.mouse import Mouse, MouseState
from strapdown.webots.api.node import ContactPoint, Node
from strapdown.webots.api.pen import Pen as Pen
from strapdown.webots.api.position_sensor import PositionSensor
from strapdown.webots.api.proto import Proto
from strapdown.webots.api.radar import Radar
from strapdown.webots.api.radar_target import RadarTarget
from strapdown.webots.api.range_finder import RangeFinder
from strapdown.webots.api.receiver import Receiver
from strapdown.webots.api.robot import Robot
from strapdown.webots.api.sensor import Sensor as Sensor
from strapdown.webots.api.skin import Skin
from strapdown.webots.api.speaker import Speaker
from strapdown.webots.api.supervisor import Supervisor
from strapdown.webots.api.touch_sensor import TouchSensor
from strapdown.webots.api.vacuum_gripper import VacuumGripper

__all__ = [
    "GPS",
    "LED",
    "Accelerometer",
    "Altimeter",
    "AnsiCodes",
    "Brake",
    "Camera",
    "CameraRecognitionObject",
    "Compass",
    "Connector",
    "ContactPoint",
    "Display",
    "DistanceSensor",
    "Emitter",
    "Field",
    "Gyro",
    "InertialUnit",
    "Joystick",
    "Keyboard",
    "Lidar",
    "LidarPoint",
    "LightSensor",
    "Motion",
    "Motor",
    "Mouse",
    "MouseState",
    "Node",
    "PositionSensor",
    "Proto",
    "Radar",
    "RadarTarget",
    "RangeFinder",
    "Receiver",
    "Robot",
    "Skin",
    "Speaker",
    "Supervisor",
    "TouchSensor",
    "VacuumGripper",
]
