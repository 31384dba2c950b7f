"""Drive with the arrow keys."""

from controller import Keyboard, Robot

SPEED = 6.0
KEYS = {
    Keyboard.UP: (SPEED, SPEED),
    Keyboard.DOWN: (-SPEED, -SPEED),
    Keyboard.LEFT: (-SPEED, SPEED),
    Keyboard.RIGHT: (SPEED, -SPEED),
}

robot = Robot()
timestep = int(robot.getBasicTimeStep())
keyboard = Keyboard()
keyboard.enable(timestep)
accelerometer = robot.getDevice("accelerometer")
accelerometer.enable(timestep)
distance = robot.getDevice("front distance")
distance.enable(timestep)
wheels = [robot.getDevice("left wheel"), robot.getDevice("right wheel")]
for wheel in wheels:
    wheel.setPosition(float("inf"))
    wheel.setVelocity(0.0)

while robot.step(timestep) != -1:
    key = keyboard.getKey()
    for wheel, speed in zip(wheels, KEYS.get(key, (0.0, 0.0))):
        wheel.setVelocity(speed)
    if key != -1:
        print("key", key)
    print(robot.getTime(), distance.getValue(), *accelerometer.getValues())
