import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import ValueRangeError
from strapdown.webots import Robot
from strapdown.webots.file.conventions import conventions
from strapdown.webots.file.world_file import read_world


def of(info, *, release="R2025a", keep_vectors=False):
    world = read_world(
        f"#VRML_SIM {release} utf8\nWorldInfo {{ {info} }}", keep_vectors=keep_vectors
    )
    return conventions(world.world_info, keep_vectors=keep_vectors)


@pytest.mark.parametrize(
    ("system", "north", "up"),
    [
        ("NUE", (1, 0, 0), (0, 1, 0)),
        ("ENU", (0, 1, 0), (0, 0, 1)),
        ("EUN", (0, 0, 1), (0, 1, 0)),
    ],
)
def test_a_coordinate_system_names_its_axes(system, north, up):
    got = of(f'coordinateSystem "{system}" gravity 2')
    assert (got.coordinate_system, got.north, got.up) == (system, north, up)
    assert got.gravity_world == tuple(-2 * component for component in up)


def test_gravity_is_9_81_downwards_by_default():
    assert of("").gravity_world == (0, 0, -9.81)
    assert of("", release="R2020a").gravity_world == (0, -9.81, 0)
    assert of("", release="R2020a", keep_vectors=True).gravity_world == (0, -9.81, 0)


def test_without_gravity_up_is_an_axis_of_the_coordinate_system():
    got = of("gravity 0 0 0", release="R2020a", keep_vectors=True)
    assert (got.up, got.gravity_world) == ((0, 1, 0), (0, 0, 0))


def test_kept_vectors_give_up_and_north():
    got = of("gravity 0 0 -5 northDirection 0 3 4", release="R2020a", keep_vectors=True)
    assert got.up == (0, 0, 1)
    assert got.north == (0, 1, 0)
    assert got.gravity_world == (0, 0, -5)
    assert got.coordinate_system == "NUE"


def test_vectors_that_are_not_kept_give_strength_and_coordinate_system():
    got = of("gravity 0 0 -5 northDirection 0 0 1", release="R2020a")
    assert got.coordinate_system == "EUN"
    assert got.gravity_world == (0, -5, 0)
    assert got.north == (0, 0, 1)


def test_north_is_made_horizontal_but_in_r2020a():
    file = read_world(
        "#VRML_SIM R2020a utf8\nWorldInfo { northDirection 3 4 0 } Robot { children Compass { } }",
        keep_vectors=True,
    )
    assert conventions(file.world_info, keep_vectors=True).north == (1, 0, 0)
    as_written = conventions(file.world_info, keep_vectors=True, level_north=False).north
    assert as_written == pytest.approx((0.6, 0.8, 0), abs=1e-15)
    for profile, north in (("documented", (1, 0, 0)), ("R2020a", (0.6, 0.8, 0))):
        robot = Robot(file, profile=profile)
        compass = robot.getDevice("compass")
        compass.enable(32)
        robot.step(32)
        assert compass.getValues() == pytest.approx(north, abs=1e-15)


def test_north_along_gravity_in_a_file_is_not_used():
    got = of("northDirection 0 2 0", release="R2020a", keep_vectors=True)
    assert got.north == (1, 0, 0)


def test_north_along_gravity_is_refused():
    world = read_world("#VRML_SIM R2025a utf8\nWorldInfo { }", keep_vectors=True)
    world.world_info.set("northDirection", (0, 0, 3))
    with pytest.raises(ValueRangeError, match="expected a north direction across gravity"):
        conventions(world.world_info, keep_vectors=True)


vectors = st.tuples(*[st.floats(-10, 10).filter(lambda x: x == 0 or abs(x) > 1e-3)] * 3)


@given(vectors, vectors)
def test_up_and_north_are_unit_vectors_at_a_right_angle(gravity, north):
    g, n = np.array(gravity), np.array(north)
    if np.linalg.norm(np.cross(g, n)) < 1e-3 * np.linalg.norm(g) * np.linalg.norm(n) + 1e-6:
        return
    text = "gravity {} {} {} northDirection {} {} {}".format(*gravity, *north)
    got = of(text, release="R2020a", keep_vectors=True)
    assert np.linalg.norm(got.up) == pytest.approx(1, abs=1e-14)
    assert np.linalg.norm(got.north) == pytest.approx(1, abs=1e-14)
    assert np.dot(got.up, got.north) == pytest.approx(0, abs=1e-12)
    assert np.dot(got.up, g) == pytest.approx(-np.linalg.norm(g))
    assert np.dot(got.north, n) >= 0
    assert np.linalg.det([got.north, got.up, n]) == pytest.approx(0, abs=1e-9)
