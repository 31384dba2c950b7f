"""Hold a robot upright on two wheels: PID on its pitch, and a slow loop on its wheels."""

from controller import Robot

KP, KI, KD = 40.0, 400.0, 0.5
K_SPEED, K_POSITION = 0.004, 0.004  # rad of lean for 1 rad/s, and for 1 rad, of the wheels


class PID:
    def __init__(self, kp, ki, kd):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.integral = 0.0

    def compute(self, error, rate, dt):
        self.integral += error * dt
        return self.kp * error + self.ki * self.integral + self.kd * rate


robot = Robot()
timestep = int(robot.getBasicTimeStep())
imu = robot.getDevice("inertial unit")
gyro = robot.getDevice("gyro")
encoder = robot.getDevice("left wheel sensor")
for sensor in (imu, gyro, encoder):
    sensor.enable(timestep)
wheels = [robot.getDevice(f"{side} wheel motor") for side in ("left", "right")]
for wheel in wheels:
    wheel.setPosition(float("inf"))
    wheel.setVelocity(0.0)

pid = PID(KP, KI, KD)
speed = 0.0
while robot.step(timestep) != -1:
    lean = imu.getRollPitchYaw()[1]  # positive: the top moves forward
    wanted = -K_SPEED * speed - K_POSITION * encoder.getValue()
    speed = pid.compute(lean - wanted, gyro.getValues()[1], timestep / 1000.0)
    speed = max(-60.0, min(60.0, speed))
    for wheel in wheels:
        wheel.setVelocity(speed)
    print(f"{robot.getTime():.3f} {lean:.6f} {encoder.getValue():.6f}")
