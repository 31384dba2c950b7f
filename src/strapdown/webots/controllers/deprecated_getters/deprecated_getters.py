"""A controller of some years ago: typed getters, and devices that only look alive."""

from controller import Accelerometer, Compass, InertialUnit, Robot

TIME_STEP = 32


class Veteran(Robot):
    def __init__(self):
        Robot.__init__(self)
        self.imu = self.getInertialUnit("imu")
        self.imu.enable(TIME_STEP)
        self.acc = self.getAccelerometer("acc")
        self.acc.enable(TIME_STEP)
        self.compass = self.getCompass("compass")
        self.compass.enable(TIME_STEP)
        self.led = self.getLED("led")
        self.ds = self.getDistanceSensor("ds0")
        self.ds.enable(TIME_STEP)

    def run(self):
        assert isinstance(self.imu, InertialUnit)
        assert isinstance(self.acc, Accelerometer)
        assert isinstance(self.compass, Compass)
        while self.step(TIME_STEP) != -1:
            self.led.set(1 if self.ds.getValue() > 100 else 0)
            print(*self.imu.getRollPitchYaw(), *self.acc.getValues(), *self.compass.getValues())


veteran = Veteran()
veteran.run()
