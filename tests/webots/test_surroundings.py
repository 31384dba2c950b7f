"""DistanceSensor and TouchSensor: the cases of Webots' own tests, geometry, and MuJoCo's rays."""

import math
import tracemalloc

import numpy as np
import pytest

from strapdown.errors import ValueRangeError
from strapdown.webots import Robot, Supervisor, World
from strapdown.webots.devices.surroundings import ray_directions
from strapdown.webots.file.world_file import devices_of, read_world
from strapdown.webots.scene.rays import cast
from strapdown.webots.scene.shapes import Frame, Shape

HEAD = "#VRML_SIM R2025a utf8\n"
METRES = "lookupTable [ 0 0 0, 2 2 0 ]"


def reading(world, *names, profile="documented", steps=2, period=32, **options):
    """Return the values of sensors after some steps."""
    robot = Robot(World(world, profile=profile, **options))
    sensors = [robot.getDevice(name) for name in names]
    for sensor in sensors:
        sensor.enable(period)
    for _ in range(steps):
        robot.step(period)
    return [sensor.getValue() for sensor in sensors]


# -- the numbers of Webots' tests of the devices ---------------------------------------------------

SONARS = """#VRML_SIM R2021c utf8
WorldInfo { coordinateSystem "NUE" }
Robot { translation 0 0.1 0 children [
  DistanceSensor { name "a" translation 0.05 0 0 SONAR }
  DistanceSensor { name "b" translation -0.05 0 0 rotation 0 1 0 3.1416 SONAR }
  DistanceSensor { name "c" translation 0 -0.05 0 rotation 0 0 1 -1.5708 SONAR }
  DistanceSensor { name "d" translation 0 0 -0.05 rotation 0 1 0 1.5708 SONAR }
] }
Solid { translation -0.101643 0.1 -0.246648
  rotation 0.19897691071141957 0.19897791071097085 0.9595915693944151 1.61204
  boundingObject Box { size 0.1 0.1 0.01 } }
Solid { translation 0.2 0.1 0 rotation 0 0 1 1.5708 boundingObject Box { size 0.1 0.1 0.1 } }
Solid { translation 0.106512 0.1 -0.344285 rotation 0 0 1 1.5708
  boundingObject Box { size 0.1 0.1 0.01 } }
Solid { boundingObject Plane { } }
""".replace("SONAR", 'lookupTable [ 0 0 0, 1 1 0 ] type "sonar" numberOfRays 20')


@pytest.mark.parametrize("dynamics", ["kinematic", "physics"])
@pytest.mark.parametrize("profile", ["R2021a", "documented"])
def test_a_sonar_hears_what_reflects(dynamics, profile):
    """Webots, distance_sensor_sonar: a wall, none, the floor, and a slanted box."""
    values = reading(SONARS, "a", "b", "c", "d", profile=profile, dynamics=dynamics)
    assert values == pytest.approx([0.1, 1.0, 0.05, 0.218207], abs=1e-5)


def test_a_laser_meets_a_plane_or_nothing():
    """Webots, distance_sensor_laser: 50 mm of 100, and the end of the table."""
    world = """#VRML_SIM R2020b utf8
    WorldInfo { coordinateSystem "NUE" }
    Robot { children [
      DistanceSensor { name "a" type "laser" aperture 0.01 }
      DistanceSensor { name "b" rotation 0 1 0 1.5708 type "laser" aperture 0.01 }
    ] }
    Solid { translation 0.05 0 0 rotation 0 0 1 1.5708 boundingObject Plane { } }"""
    values = reading(world, "a", "b", profile="R2021a", steps=1)
    assert values == pytest.approx([500.0, 1000.0], abs=1e-3)


def test_infra_red_sees_less_of_a_surface_that_is_less_red():
    """Webots, distance_sensor_infra-red: a white texture of diffuse colour 0.75."""
    world = """#VRML_SIM R2022b utf8
    Solid { translation 0 0 0.005 children Pose { translation 0 0.075 0 children Shape {
      appearance Appearance { material Material { diffuseColor 0.75 1 1 } }
      geometry Plane { size 0.15 0.15 } } } }
    Robot { translation 0 0 0.09 children [
      DistanceSensor { name "over" translation 0 0.08 -0.02 INFRA }
      DistanceSensor { name "beside" translation 0 0.16 -0.02 INFRA }
    ] }""".replace(
        "INFRA", 'rotation 0 1 0 1.5707963 type "infra-red" lookupTable [ 0 0 0, 0.2 2000 0 ]'
    )
    values = reading(world, "over", "beside", profile="R2025a")
    assert values == pytest.approx([812.5, 2000.0], abs=1e-3)


def test_the_reflection_is_that_of_the_manual():
    """f = 0.2 + 0.8 red (1 - 0.5 roughness); the sensor sees its own robot, a sonar does not."""
    world = (
        HEAD
        + """Robot { children [
      Shape { appearance PBRAppearance { baseColor 0.5 1 1 roughness 0.4 } geometry CUBE }
      DistanceSensor { name "red" PLACE type "infra-red" }
      DistanceSensor { name "half" PLACE type "infra-red" redColorSensitivity 0.5 }
      DistanceSensor { name "sonar" PLACE type "sonar" }
    ] boundingObject CUBE }""".replace(
            "PLACE", "translation -1.5 0 0 lookupTable [ 0 0 0, 9 9 0 ]"
        ).replace("CUBE", "Box { size 1 1 1 }")
    )
    seen = 1.0 / (0.2 + 0.8 * 0.5 * 0.8)
    values = reading(world, "red", "half", "sonar")
    assert values == pytest.approx([seen, 0.5 * (1.0 + seen), 9.0])


@pytest.mark.parametrize("resolution", [0.01, 0.1, 0.3, 15.0])
def test_the_resolution_rounds_as_the_release_does(resolution):
    """Webots, distance_sensor_resolution."""
    world = (
        HEAD
        + f"""Robot {{ children DistanceSensor {{ name "d" resolution {resolution} }} }}
    Solid {{ translation 0.5537 0 0 boundingObject Box {{ size 1 1 1 }} }}"""
    )
    (value,) = reading(world, "d", profile="R2025a", steps=1)
    assert value == int(537.0 / resolution + 0.5) * resolution


def touch(kind, mass):
    """Return the world of Webots' tests of a TouchSensor: a robot that falls on it."""
    return f"""#VRML_SIM R2020b utf8
    WorldInfo {{ basicTimeStep 16 coordinateSystem "NUE" }}
    Robot {{ translation 0 0.368527 0 children TouchSensor {{
        lookupTable [] rotation 1 0 0 1.5708 boundingObject Box {{ size 0.3 0.3 0.3 }}
        physics Physics {{ density -1 mass {mass} }} type "{kind}" }}
      boundingObject Box {{ size 0.4 0.2 0.4 }} physics Physics {{ density -1 mass {mass} }} }}
    Solid {{ boundingObject Plane {{ }} }}"""


@pytest.mark.parametrize(
    ("kind", "mass", "falling", "standing"),
    [
        ("bumper", 100, [0.0], [1.0]),
        ("force", 100, [0.0], [981.0]),
        ("force-3d", 1, [0.0] * 3, [0.0, 0.0, -9.81]),
    ],
)
def test_a_touch_sensor_weighs_what_stands_on_it(kind, mass, falling, standing):
    """Webots, touch_sensor_bumper, _force and _force3d."""
    robot = Robot(World(touch(kind, mass), profile="R2021a"))
    sensor = robot.getDevice("touch sensor")
    sensor.enable(16)

    def values():
        return sensor.getValues() if kind == "force-3d" else [sensor.getValue()]

    for _ in range(5):
        robot.step(16)
    assert values() == pytest.approx(falling, abs=1e-9)
    for _ in range(100):
        robot.step(16)
    assert values() == pytest.approx(standing, abs=1e-3)


def test_a_new_file_weighs_along_x_and_its_table_applies():
    world = (
        HEAD
        + """WorldInfo { basicTimeStep 8 }
    Robot { translation 0 0 0.25 children TouchSensor {
        translation 0 0 -0.2 rotation 0 1 0 1.5707963267948966 type "force" resolution 3
        lookupTable [ 0 0 0, 100 1000 0 ] boundingObject Box { size 0.1 0.1 0.1 }
        physics Physics { mass 1 } }
      boundingObject Box { size 0.1 0.1 0.1 } physics Physics { density -1 mass 4 } }
    Solid { boundingObject Plane { } }"""
    )
    (value,) = reading(world, "touch sensor", steps=150, period=8)
    assert value == round(4 * 9.81 * 10 / 3) * 3


# -- geometry --------------------------------------------------------------------------------------


def test_rays_are_spread_over_the_cone_with_a_left_and_a_right():
    for count in range(1, 31):
        rays = ray_directions(count, 0.8)
        assert rays.shape == (count, 3)
        assert np.linalg.norm(rays, axis=1) == pytest.approx(1.0)
        if count > 1:
            assert np.arccos(rays[:, 0]).max() == pytest.approx(0.4)
        if count <= 8:
            mirrored = rays * [1, -1, 1]
            gaps = np.linalg.norm(mirrored[:, np.newaxis] - rays, axis=2).min(axis=1)
            assert gaps.max() < 1e-12
    assert ray_directions(5, 0.0).tolist() == [[1.0, 0.0, 0.0]]


def test_generic_averages_with_the_weights_of_the_manual():
    """Two walls of different distance, one ray to each, and the third ray between them."""
    world = (
        HEAD
        + """Robot { children DistanceSensor {
        name "d" numberOfRays 4 aperture 1 gaussianWidth 0.7 lookupTable [ 0 0 0, 9 9 0 ] } }
    Solid { translation 3 0 0 boundingObject Box { size 2 9 9 } }"""
    )
    (value,) = reading(world, "d")
    weight = math.exp(-((0.5 / 0.7) ** 2))
    assert value == pytest.approx(2.0 * (1 + 3 * weight / math.cos(0.5)) / (1 + 3 * weight))


def test_noise_is_relative_to_the_output_and_its_own():
    world = (
        HEAD
        + f"""Robot {{ children [
      DistanceSensor {{ name "d" lookupTable [ 0 0 0.1, 2 2 0.1 ] }}
      DistanceSensor {{ name "e" {METRES} }} ] }}
    Solid {{ translation 1.5 0 0 boundingObject Box {{ size 1 1 1 }} }}"""
    )
    robot = Robot(world)
    noisy, exact = robot.getDevice("d"), robot.getDevice("e")
    noisy.enable(32)
    exact.enable(32)
    values = []
    for _ in range(3000):
        robot.step(32)
        values.append(noisy.getValue())
    assert exact.getValue() == pytest.approx(1.0)
    assert np.mean(values) == pytest.approx(1.0, abs=0.006)
    assert np.std(values) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("dynamics", ["kinematic", "physics"])
def test_what_moves_is_seen_where_it_is(dynamics):
    """A wall on a slide at 0.5 m/s, seen at every step, in blocks or one by one."""
    world = (
        HEAD
        + f"""WorldInfo {{ basicTimeStep 10 }}
    Robot {{ name "eye" children DistanceSensor {{ name "d" {METRES} }} }}
    Robot {{ name "slide" translation 0.5 0 0 controller "<none>" children SliderJoint {{
      jointParameters JointParameters {{ axis 1 0 0 }}
      device LinearMotor {{ name "m" maxVelocity 9 }}
      endPoint Solid {{ translation 0.5 0 0 boundingObject Box {{ size 1 1 1 }} }} }} }}"""
    )
    shared = World(world, dynamics=dynamics)
    eye, slide = Robot(shared, robot="eye"), Robot(shared, robot="slide")
    sensor, motor = eye.getDevice("d"), slide.getDevice("m")
    sensor.enable(10)
    motor.setPosition(math.inf)
    motor.setVelocity(0.5)
    slide.step(0)
    for step in range(1, 60):
        eye.step(10)
        if step in {2, 30, 59}:
            assert sensor.getValue() == pytest.approx(0.5 + 0.5 * shared.time_s, abs=1e-6)


def test_a_solid_that_was_added_is_seen():
    world = (
        HEAD + f"""Robot {{ supervisor TRUE children DistanceSensor {{ name "d" {METRES} }} }}"""
    )
    robot = Supervisor(world)
    sensor = robot.getDevice("d")
    sensor.enable(32)
    robot.step(32)
    assert sensor.getValue() == 2.0
    children = robot.getRoot().getField("children")
    children.importMFNodeFromString(
        -1, "Solid { translation 1 0 0 boundingObject Sphere { radius 0.25 } }"
    )
    robot.step(32)
    assert sensor.getValue() == pytest.approx(0.75)


SHAPES = [
    ("Box", (0.6, 1.0, 1.4), "mjGEOM_BOX", (0.3, 0.5, 0.7)),
    ("Sphere", (0.6,), "mjGEOM_SPHERE", (0.6, 0, 0)),
    ("Cylinder", (0.4, 1.2), "mjGEOM_CYLINDER", (0.4, 0.6, 0)),
    ("Capsule", (0.4, 1.2), "mjGEOM_CAPSULE", (0.4, 0.6, 0)),
    ("Plane", (), "mjGEOM_PLANE", (0, 0, 1)),
]


@pytest.mark.parametrize(("kind", "size", "geom", "half"), SHAPES)
def test_rays_meet_shapes_where_mujoco_says(kind, size, geom, half):
    mujoco = pytest.importorskip("mujoco")
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=getattr(mujoco.mjtGeom, geom), size=half)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rng = np.random.default_rng(1)
    origins = rng.normal(size=(400, 3)) * 1.2
    if kind == "Plane":
        origins[:, 2] = np.abs(origins[:, 2])  # MuJoCo's is seen from above only
    directions = rng.normal(size=(400, 3))
    directions[:200] = -origins[:200] + 0.3 * directions[:200]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = cast(Shape(kind, size, Frame()), origins, directions)
    found, normal = np.zeros((1, 1), np.int32), np.zeros(3)
    met = 0
    for i in range(400):
        expected = mujoco.mj_ray(
            model, data, origins[i], directions[i], None, 1, -1, found[0], normal
        )
        if expected < 0:
            assert hits.distance[i] == math.inf
        else:
            assert hits.distance[i] == pytest.approx(expected, abs=1e-9)
            assert hits.normal[i] == pytest.approx(normal, abs=1e-6)
            met += 1
    assert met > 100


@pytest.mark.parametrize(("kind", "size", "_geom", "_half"), SHAPES[:4])
def test_rays_along_an_axis_divide_by_zero_without_harm(kind, size, _geom, _half):
    shape = Shape(kind, size, Frame())
    down = cast(shape, np.array([0.1, 0.1, 5.0]), np.array([0.0, 0.0, -1.0]))
    assert down.normal[2] > 0.9
    assert np.isfinite(down.distance)
    beside = cast(shape, np.array([3.0, 0.0, 5.0]), np.array([0.0, 0.0, -1.0]))
    assert beside.distance == math.inf


def test_a_gaussian_width_that_is_not_positive_is_1():
    world = read_world(
        f"{HEAD}Robot {{ children DistanceSensor {{ gaussianWidth 0 numberOfRays 5 }} }}"
    )
    (sensor,) = devices_of(world.robots[0])
    assert sensor.get("gaussianWidth") == 1
    text = "Invalid 'gaussianWidth' changed to 1. The value should be positive."
    assert world.warnings == [(sensor, text)]


@pytest.mark.parametrize("count", [10_001, 2_000_000_000])
def test_rays_without_measure_are_refused_in_one_line(count):
    world = f'{HEAD}Robot {{ children DistanceSensor {{ name "d" numberOfRays {count} }} }}'
    with pytest.raises(ValueRangeError, match=f"numberOfRays of at most 10000, got {count} for"):
        Robot(World(world))


def test_many_rays_are_cast_in_parts_of_bounded_memory():
    sensors = "".join(
        f'DistanceSensor {{ name "{name}" numberOfRays {count} aperture 0.2 {METRES} }}'
        for name, count in (("one", 1), ("many", 10_000))
    )
    world = f"""{HEAD} WorldInfo {{ basicTimeStep 8 }} Robot {{ children [ {sensors} ] }}
    Solid {{ translation 1.5 0 0 boundingObject Box {{ size 1 9 9 }} }}"""
    robot = Robot(World(world))
    devices = [robot.getDevice(name) for name in ("one", "many")]
    for each in devices:
        each.enable(8)
    peak = 0
    for _ in range(40):
        tracemalloc.start()
        robot.step(8)
        peak = max(peak, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        one, many = (each.getValue() for each in devices)
        assert one == pytest.approx(1.0)
        assert 1.0 < many < 1.0 / math.cos(0.1)
    assert peak < 64e6
