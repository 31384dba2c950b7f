from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.webots.file.world_file import read_world
from strapdown.webots.scene.mass import body_mass, solid_mass


def solid(fields: str, release: str = "R2025a"):
    world = read_world(f"#VRML_SIM {release} utf8\nSolid {{ {fields} }}")
    return next(node for node in world.nodes if node.type == "Solid")


lengths = st.floats(0.05, 2.0)
pieces = st.tuples(
    st.sampled_from(["Box", "Sphere", "Cylinder", "Capsule"]),
    st.tuples(lengths, lengths, lengths),
    st.tuples(*[st.floats(-1.0, 1.0)] * 3),
    st.tuples(*[st.floats(-2.0, 2.0)] * 3),
)


@settings(max_examples=30)
@given(st.lists(pieces, min_size=1, max_size=3), st.floats(100.0, 5000.0))
def test_mass_and_inertia_of_compounds_are_those_of_mujoco(parts, density):
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_freejoint()
    shapes = []
    for kind, (a, b, c), place, turn in parts:
        rotation = Rotation.from_rotvec(turn)
        angle = float(np.linalg.norm(turn))
        axis = np.array(turn) / angle if angle else np.array([0.0, 0.0, 1.0])
        size, fields = {
            "Box": ((a / 2, b / 2, c / 2), f"size {a} {b} {c}"),
            "Sphere": ((a, 0, 0), f"radius {a}"),
            "Cylinder": ((a, b / 2, 0), f"radius {a} height {b}"),
            "Capsule": ((a, b / 2, 0), f"radius {a} height {b}"),
        }[kind]
        body.add_geom(
            type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"),
            size=size,
            pos=place,
            quat=rotation.as_quat(scalar_first=True),
            density=density,
        )
        shapes.append(
            f"Pose {{ translation {place[0]} {place[1]} {place[2]}"
            f" rotation {axis[0]} {axis[1]} {axis[2]} {angle}"
            f" children [ Shape {{ geometry {kind} {{ {fields} }} }} ] }}"
        )
    model = spec.compile()
    principal = Rotation.from_quat(model.body_iquat[1], scalar_first=True).as_matrix()
    found = body_mass(
        solid(
            f"boundingObject Group {{ children [ {' '.join(shapes)} ] }}"
            f" physics Physics {{ density {density} }}"
        )
    )
    assert found.mass == pytest.approx(model.body_mass[1], rel=1e-9)
    np.testing.assert_allclose(found.center, model.body_ipos[1], atol=1e-9)
    inertia = principal @ np.diag(model.body_inertia[1]) @ principal.T
    np.testing.assert_allclose(found.inertia, inertia, rtol=1e-7, atol=1e-9 * found.mass)


def test_the_rotor_of_the_accelerometer_case_has_its_common_centre_of_mass():
    disc = "boundingObject Cylinder {{ radius {} height {} }} physics Physics {{ }}"
    hub = solid(
        "boundingObject Pose { translation 0 0.063 0 rotation 1 0 0 -1.5707963267948966 children"
        " [ Group { children [ Cylinder { radius 0.04 height 0.005 }"
        " Cylinder { radius 0.03 height 0.008 } ] } ] } physics Physics { }"
        " children [ Solid { translation 0.1 0.05 0 rotation 1 0 0 -1.5707963267948966"
        f" {disc.format(0.1, 0.01)} }} ]"
    )
    found = body_mass(hub)
    np.testing.assert_allclose(found.center, [0.0868, 0.0517, 0.0], atol=5e-5)


@pytest.mark.parametrize(
    ("physics", "mass"),
    [
        ("", 1000.0),
        ("density 500", 500.0),
        ("density -1 mass 3", 3.0),
        ("mass 3", 3.0),
        ("density -1", 1000.0),
    ],
)
def test_mass_counts_before_density_and_water_is_the_default(physics, mass):
    box = solid(f"boundingObject Box {{ size 1 1 1 }} physics Physics {{ {physics} }}")
    found = solid_mass(box)
    assert found.mass == pytest.approx(mass)
    np.testing.assert_allclose(found.inertia, mass / 6.0 * np.eye(3), rtol=1e-12)


def test_a_written_centre_of_mass_moves_the_inertia_with_it():
    found = solid_mass(
        solid("boundingObject Box { size 1 1 1 } physics Physics { mass 6 centerOfMass [ 1 2 3 ] }")
    )
    np.testing.assert_array_equal(found.center, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.inertia, np.eye(3), rtol=1e-12)


def test_an_inertia_matrix_counts_with_mass_and_centre():
    text = "mass 2 centerOfMass [ 0 0 0.1 ] inertiaMatrix [ 1 2 2.5, 0.1 0.2 0.3 ]"
    found = solid_mass(solid(f"boundingObject Sphere {{ }} physics Physics {{ {text} }}"))
    expected = [[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 2.5]]
    np.testing.assert_array_equal(found.inertia, expected)
    assert found.mass == 2.0


def test_physics_without_a_volume_has_one_kilogram_and_the_identity_as_inertia():
    found = solid_mass(solid("physics Physics { }"))
    assert found.mass == 1.0
    np.testing.assert_array_equal(found.inertia, np.eye(3))


def test_a_solid_without_physics_adds_nothing_and_one_on_a_joint_is_another_body():
    box = "boundingObject Box { size 1 1 1 }"
    heavy = f"{box} physics Physics {{ }}"
    found = body_mass(
        solid(
            f"{heavy} children [ Solid {{ translation 5 0 0 {box} }}"
            f" HingeJoint {{ endPoint Solid {{ translation 0 5 0 {heavy} }} }} ]"
        )
    )
    assert found.mass == pytest.approx(1000.0)
    np.testing.assert_allclose(found.center, 0.0, atol=1e-12)
    assert body_mass(solid(box)).mass == 0.0


@pytest.mark.parametrize(("release", "axis"), [("R2025a", 2), ("R2021a", 1), ("V8.5.0", 1)])
def test_a_cylinder_stands_along_z_since_r2022a_and_along_y_before(release, axis):
    found = solid_mass(
        solid("boundingObject Cylinder { radius 0.1 height 2 } physics Physics { }", release)
    )
    assert np.argmin(np.diag(found.inertia)) == axis
    assert found.mass == pytest.approx(1000.0 * math.pi * 0.01 * 2.0)


def test_a_transform_scales_what_is_in_it():
    found = solid_mass(
        solid(
            "boundingObject Transform { scale 1 2 3 translation 0 0 1 children"
            " [ Box { size 1 1 1 } ] } physics Physics { }"
        )
    )
    assert found.mass == pytest.approx(6000.0)
    np.testing.assert_allclose(found.center, [0.0, 0.0, 1.0], atol=1e-12)
