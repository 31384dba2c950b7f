from math import pi

import pytest
from scipy.spatial.transform import Rotation

from strapdown.webots.file.releases import is_older
from strapdown.webots.file.world_file import read_world

ORDER = ["V7.0.2", "R2018a", "R2019b", "R2020a", "R2020b", "R2021a", "R2023b", "R2025a"]


@pytest.mark.parametrize("release", ORDER)
def test_releases_are_in_order(release):
    place = ORDER.index(release)
    assert [is_older(release, other) for other in ORDER] == [place < i for i in range(len(ORDER))]


def test_a_revision_is_of_its_release():
    assert not is_older("R2021a Revision 1", "R2021a")
    assert is_older("R2021a Revision 1", "R2021b")


def read(body, release):
    return read_world(f"#VRML_SIM {release} utf8\n{body}").nodes[-1]


@pytest.mark.parametrize("kind", ["Cylinder", "Capsule", "Cone", "Plane"])
def test_a_shape_of_an_old_file_is_turned_upright(kind):
    group = read(f"Group {{ children [ Shape {{ geometry {kind} {{ }} }} ] }}", "R2021b")
    (pose,) = group.nodes("children")
    x, y, z, angle = pose.get("rotation")
    turn = Rotation.from_rotvec([x * angle, y * angle, z * angle])
    assert turn.apply([0, 0, 1]) == pytest.approx([0, 1, 0], abs=1e-15)
    (shape,) = pose.nodes("children")
    assert shape.node("geometry").type == kind
    assert pose.parent is group


@pytest.mark.parametrize(
    "body",
    [
        "boundingObject Cylinder { }",
        "boundingObject Shape { geometry Cylinder { } }",
        "boundingObject Group { children [ Box { } Cylinder { } ] }",
        "boundingObject Pose { children Shape { geometry Cylinder { } } }",
    ],
)
def test_a_bounding_object_of_an_old_file_is_turned_upright(body):
    solid = read(f"Solid {{ {body} }}", "R2021b")
    (cylinder,) = [node for node in solid.walk() if node.type == "Cylinder"]
    path = [node.type for node in cylinder.ancestors()]
    assert path[:2] == ["Shape", "Pose"]
    assert next(node for node in cylinder.ancestors() if node.type == "Pose").get("rotation") == (
        1,
        0,
        0,
        -pi / 2,
    )
    assert sum(node.type == "Shape" for node in solid.walk()) == 1


def test_a_shape_of_a_new_file_stays():
    assert read("Shape { geometry Cylinder { } }", "R2022a").type == "Shape"
    assert read("Shape { geometry Cylinder { } }", "R2021b").type == "Pose"
    assert read("Shape { geometry Box { } }", "R2021b").type == "Shape"


def test_the_arguments_of_an_old_robot_were_one_string():
    assert read('Robot { controllerArgs "a  b c" }', "R2020a").get("controllerArgs") == [
        "a",
        "b",
        "c",
    ]
    assert read('Robot { controllerArgs "a  b c" }', "R2020b").get("controllerArgs") == ["a  b c"]


def test_the_data_of_an_old_robot_are_its_custom_data():
    assert read('Robot { data "d" }', "V8.5.0").get("customData") == "d"
    assert read('Robot { data "d" customData "c" }', "V8.5.0").get("customData") == "c"


def test_a_supervisor_of_an_old_file_is_a_robot_that_may():
    supervisor = read("Supervisor { }", "V8.5.0")
    assert supervisor.is_a("Robot")
    assert supervisor.flag("supervisor")
