"""Floors of worlds without the files of their PROTOs."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.errors import FormatError
from strapdown.webots.file.world_file import read_world
from strapdown.webots.scene.shapes import shapes_of
from strapdown.webots.world.world import World

REMOTE = 'EXTERNPROTO "https://example.org/{}.proto"\n'


def read(body, release="R2025a"):
    return read_world(f"#VRML_SIM {release} utf8\n{body}")


def test_a_floor_is_a_plane_with_a_notice():
    world = read(REMOTE.format("Floor") + 'DEF F Floor { size 3 4 name "f" translation 0 0 1 }')
    floor = world.find_def("F")
    assert (floor.type, floor.proto, floor.line) == ("Solid", "Floor", 3)
    assert (floor.get("name"), floor.get("translation")) == ("f", (0, 0, 1))
    (plane,) = shapes_of(floor)
    assert plane.kind == "Plane"
    assert world.notices == [
        (
            "Floor: line 3: replaced by a plane: "
            "PROTO at 'https://example.org/Floor.proto' is not fetched"
        )
    ]


@pytest.mark.parametrize(("release", "up"), [("R2021b", (0, 1, 0)), ("R2022a", (0, 0, 1))])
def test_the_normal_of_a_floor_is_that_of_its_release(release, up):
    for kind in ("Floor", "RectangleArena"):
        plane = next(shapes_of(read(f"{kind} {{ }}", release).nodes[-1]))
        assert plane.frame.R[:, 2] == pytest.approx(up, abs=1e-15)


def test_walls_stand_around_the_floor_of_an_arena():
    arena = read("RectangleArena { floorSize 4 2 wallThickness 0.1 wallHeight 0.5 }").nodes[-1]
    assert arena.get("name") == "rectangle arena"
    _, *walls = shapes_of(arena)
    spans = [
        (w.frame.origin - np.array(w.size) / 2, w.frame.origin + np.array(w.size) / 2)
        for w in walls
    ]
    assert np.array(spans) == pytest.approx(
        np.array(
            [
                ((2, -1, 0), (2.1, 1, 0.5)),
                ((-2.1, -1, 0), (-2, 1, 0.5)),
                ((-2.1, 1, 0), (2.1, 1.1, 0.5)),
                ((-2.1, -1.1, 0), (2.1, -1, 0.5)),
            ]
        )
    )


def test_sizes_that_are_not_positive_are_those_of_the_manual():
    arena = read("RectangleArena { floorSize 0 2 wallThickness -1 wallHeight 0 }").nodes[-1]
    sizes = [wall.size for wall in shapes_of(arena)][1:]
    assert sizes == [(0.01, 1.0, 0.1)] * 2 + [(1.02, 0.01, 0.1)] * 2


@pytest.mark.parametrize("field", ["size 1", 'size "a"', "translation 1 2", "name 3"])
def test_a_value_that_does_not_fit_has_its_line(field):
    with pytest.raises(FormatError, match=r"line 3: .*expected"):
        read(f"\nFloor {{ {field} }}")


def test_a_file_goes_before_what_is_made_here(tmp_path):
    (tmp_path / "Floor.proto").write_text(
        "#VRML_SIM R2025a utf8\nPROTO Floor [ ] { Solid { boundingObject Box { } } }"
    )
    world = read_world(
        "#VRML_SIM R2025a utf8\n" + REMOTE.format("Floor") + "Floor { }", proto_dirs=[tmp_path]
    )
    (box,) = shapes_of(world.nodes[-1])
    assert (box.kind, world.notices) == ("Box", [])


@pytest.mark.parametrize(
    ("release", "place"), [("R2019b", "0 {} 0"), ("R2021b", "0 {} 0"), ("R2025a", "0 0 {}")]
)
def test_a_robot_rests_on_it(release, place):
    pytest.importorskip("mujoco")
    system = 'coordinateSystem "NUE"' if release == "R2021b" else ""
    world = World(
        f"#VRML_SIM {release} utf8\nWorldInfo {{ {system} }}\nRectangleArena {{ }}\n"
        f"Robot {{ translation {place.format(0.05)} children [ GPS {{ }} ]\n"
        "boundingObject Box { size 0.1 0.1 0.1 } physics Physics { } }"
    )
    world.advance_to(60)
    position = world.scene.present(world.file.robots[0]).position[0]
    assert max(position) == pytest.approx(0.05, abs=2e-3)
