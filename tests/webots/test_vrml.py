import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import FormatError
from strapdown.webots.file.node import Node
from strapdown.webots.file.vrml import parse, to_text

WORLD = """#VRML_SIM R2025a utf8
# a comment with "quotes" and { braces }
EXTERNPROTO "https://example.org/protos/Floor.proto"
IMPORTABLE EXTERNPROTO "../protos/Ball.proto"

WorldInfo {
  basicTimeStep 16   # after a value
  info [ "one" "a \\"quoted\\" \\\\ word" ]
}
DEF ARM Robot {
  translation 0, 0.5,1e-1
  supervisor TRUE
  children [
    DEF EYE Gyro { name "g # no comment" lookupTable [ -1 -1 0, 1 1 0.1 ] }
    USE EYE
    Gadget { power 3 label "x" parts [ Bolt { } Nut { } ] sizes [ 1 2.5 ] on FALSE core NULL }
  ]
  physics NULL
  controllerArgs "only one"
  hidden translation_0 1 2 3
  hidden state "a" 1
}
"""


def same(one, other):
    """Whether two values, or trees of nodes, are equal."""
    if isinstance(one, Node) and isinstance(other, Node):
        return (
            (one.type, one.def_name, list(one.fields))
            == (other.type, other.def_name, list(other.fields))
        ) and all(same(value, other.fields[name]) for name, value in one.fields.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def only(text):
    (node,) = parse(text).nodes
    return node


def test_a_world_is_read_into_typed_fields():
    document = parse(WORLD)
    info, robot = document.nodes
    assert document.version == "R2025a"
    assert document.externprotos == {
        "Floor": "https://example.org/protos/Floor.proto",
        "Ball": "../protos/Ball.proto",
    }
    assert info.fields == {"basicTimeStep": 16.0, "info": ["one", 'a "quoted" \\ word']}
    assert isinstance(info.fields["basicTimeStep"], float)
    assert robot.def_name == "ARM"
    assert robot.line == 10
    assert robot.fields["translation"] == (0.0, 0.5, 0.1)
    assert robot.fields["supervisor"] is True
    assert robot.fields["physics"] is None
    assert robot.fields["controllerArgs"] == ["only one"]
    assert "translation_0" not in robot.fields


def test_saved_state_is_skipped():
    node = only(
        'Robot { hidden a_0 1.5 -2 hidden b "x" hidden c TRUE name "r" hidden d 0 supervisor TRUE }'
    )
    assert node.fields == {"name": "r", "supervisor": True}


def test_a_use_is_a_copy_without_a_name():
    robot = parse(WORLD).nodes[1]
    first, second, _ = robot.children_nodes()
    assert second is not first
    assert (first.def_name, second.def_name) == ("EYE", "")
    assert (
        second.fields
        == first.fields
        == {
            "name": "g # no comment",
            "lookupTable": [(-1.0, -1.0, 0.0), (1.0, 1.0, 0.1)],
        }
    )
    assert second.parent is robot
    assert second.parent_field == "children"


def test_a_node_of_unknown_type_keeps_its_fields_as_written():
    gadget = list(parse(WORLD).nodes[1].children_nodes())[2]
    assert not gadget.known
    assert [node.type for node in gadget.walk()] == ["Gadget", "Bolt", "Nut"]
    assert gadget.fields["power"] == 3
    assert gadget.fields["label"] == "x"
    assert gadget.fields["sizes"] == [1, 2.5]
    assert gadget.fields["on"] is False
    assert gadget.fields["core"] is None


def test_a_string_may_run_over_lines():
    assert only('WorldInfo { title "a\nb" }').fields["title"] == "a\nb"


def test_numbers_may_be_parted_by_comments_and_commas():
    node = only("Solid { translation 1, # one\n -2 # two\n,+.5e1 }")
    assert node.fields["translation"] == (1.0, -2.0, 5.0)


def test_the_axis_of_a_rotation_gets_unit_length():
    assert only("Pose { rotation 0 3 4 1 }").fields["rotation"] == pytest.approx((0, 0.6, 0.8, 1))
    assert only("Pose { rotation 0 0 0 1 }").fields["rotation"] == (0, 0, 1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Robot {\n  name ",
            "line 2 column 8: expected a value of 'name', got the end of the text",
        ),
        ("Robot {\n\n", "line 3 column 1: expected a field of Robot or '}', got the end of the"),
        (
            "Robot {\n translation 0 0\n}",
            "line 2 column 14: expected 3 numbers of SFVec3f as Robot.translation, got 2",
        ),
        ("Robot { children [ Box { }", "column 27: expected a value of 'children', got the end of"),
        ("Robot { name 3 }", "column 14: expected a value of SFString as Robot.name, got 3"),
        ('Robot { translation "x" 0 }', "column 21: expected numbers of SFVec3f as Robot.transl"),
        ("Camera { width 1.5 }", "expected an integer of 32 bits for SFInt32 as Camera.width, got"),
        ("Camera { width 3000000000 }", "expected an integer of 32 bits"),
        ('Robot { name "open }', "column 14: expected a closing quote, got the end of the text"),
        ("Robot { mass 1.2.3 }", "column 14: expected a finite number, got '1.2.3'"),
        ("Robot { mass 2 1e999 }", "column 16: expected a finite number, got '1e999'"),
        ("Robot { name IS x }", "column 14: expected a value of 'name', got 'IS'"),
        ("Robot { children [ USE A ] }", "column 24: expected the name of a node that was defined"),
        ("Robot", "column 6: expected '{' after the node type 'Robot', got the end of the text"),
        ("Robot { } }", "column 11: expected a node, got '}'"),
        ("NULL", "column 1: expected a node, got 'NULL'"),
        ("Robot { 3 }", "column 9: expected a field of Robot or '}', got '3'"),
        ("Robot { children NULL }", "expected nodes of MFNode as Robot.children, got NULL"),
        ("Gyro { lookupTable [ 1 2 ] }", "expected a multiple of 3 numbers for SFVec3f as Gyro.lo"),
        ("EXTERNPROTO Robot { }", "column 13: expected the address of a PROTO file, got 'Robot'"),
        ("IMPORTABLE Robot { }", "column 12: expected EXTERNPROTO after IMPORTABLE, got 'Robot'"),
        ("Robot { title %x }", "expected a value of 'title', got '%'"),
    ],
)
def test_an_error_says_where_and_what(text, message):
    with pytest.raises(FormatError) as caught:
        parse(text, path="arm.wbt")
    assert str(caught.value).startswith("arm.wbt: line ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_knows_the_byte():
    with pytest.raises(FormatError) as caught:
        parse('Robot { name "é" 3 }')
    assert caught.value.offset == len('Robot { name "é" '.encode())


def test_deep_nesting_is_refused():
    deep = "Group { children [ " * 5000 + "] }" * 5000
    with pytest.raises(FormatError, match="at most 128 levels of nodes"):
        parse(deep)


def test_deep_nesting_by_use_is_refused():
    lines = ["DEF A0 Group { }"]
    lines += [f"DEF A{i + 1} Group {{ children USE A{i} }}" for i in range(200)]
    with pytest.raises(FormatError, match=r"line 129 .*at most 128 levels"):
        parse("\n".join(lines))


def test_copies_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("strapdown.webots.file.reader.MAX_NODES", 2_000)
    lines = ["DEF A0 Group { }"]
    lines += [f"DEF A{i + 1} Group {{ children [ USE A{i} USE A{i} ] }}" for i in range(60)]
    with pytest.raises(FormatError, match="copies of nodes"):
        parse("\n".join(lines))


def test_a_world_survives_writing_and_reading():
    for node in parse(WORLD).nodes:
        assert same(only(to_text(node)), node)


PIECES = [*'[]{}",#\n\\%.+é\0', "Robot", "Gyro", "DEF", "USE", "NULL", "IS", "TRUE", "X", "1"]
PIECES += ["children", "name", "lookupTable", "translation", "hidden", "-2.5", "1e400", '"a"']
PIECES += ["EXTERNPROTO", "IMPORTABLE", "PROTO"]

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in {"hidden", "DEF", "USE", "NULL", "IS", "TRUE", "FALSE"}
)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.booleans() | st.integers(-(2**31), 2**31 - 1) | floats | st.text(max_size=8)
vectors = st.lists(floats, min_size=2, max_size=5).map(tuple)


def nodes(children):
    values = scalars | vectors | st.none() | children | st.lists(scalars | children, max_size=4)
    unknown = st.builds(
        lambda kind, fields, name: Node("Un" + kind, fields, def_name=name),
        names,
        st.dictionaries(names, values, max_size=4),
        st.just("") | names,
    )
    known = st.builds(
        lambda place, turn, label, below, box: Node(
            "Solid",
            {"translation": place, "rotation": turn, "name": label, "children": below}
            | ({"boundingObject": Node("Box", {"size": place})} if box else {}),
        ),
        st.tuples(floats, floats, floats),
        st.tuples(floats, floats, floats, floats),
        st.text(),
        st.lists(children, max_size=3),
        st.booleans(),
    )
    return unknown | known


@pytest.mark.parametrize("length", [5e-324, 1e-300, 1e-150, 1e150, 1.7e308])
def test_an_axis_of_any_length_gets_unit_length(length):
    axis = Node("Pose", {"rotation": (length, -length, length, 0.5)}).vector("rotation")
    assert axis == pytest.approx((3**-0.5, -(3**-0.5), 3**-0.5, 0.5), rel=1e-15)


@given(st.recursive(st.builds(Node, st.just("Box")), nodes, max_leaves=12))
def test_every_tree_survives_writing_and_reading(node):
    assert same(only(to_text(node)), node)


@given(
    st.lists(
        st.sampled_from(PIECES) | st.text(max_size=3),
        max_size=30,
    ).map(" ".join)
)
def test_whatever_is_read_is_read_or_refused(text):
    try:
        document = parse(text)
    except FormatError as error:
        assert "line " in str(error)  # noqa: PT017 (some texts are right)
    else:
        for node in document.nodes:
            assert same(only(to_text(node)), node)
