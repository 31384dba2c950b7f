"""Templates: their programs, what these can read, and their limits."""

import json
import subprocess
import sys
import time
from contextlib import closing

import pytest

from strapdown.errors import BackendMissingError, FormatError, UnsupportedError
from strapdown.webots.file import templates
from strapdown.webots.file.templates import Evaluator, language_of
from strapdown.webots.file.world_file import devices_of, read_world

pytest.importorskip("lupa")
pytest.importorskip("quickjs")

HEADS = {
    "javascript": "#VRML_SIM R2025a utf8\n# template language: javascript\n",
    "lua": "#VRML_SIM R2021a utf8\n",
}

GYROS = {
    "javascript": """PROTO Gyros [
      field SFInt32 count 2
      field SFVec3f step 0 0 0.1
      field MFFloat noise []
      field SFNode  core NULL
    ]
    {
      %<
        // As many as the field demands; the second half of this is text of a comment: >%
      %<
        const step = fields.step.value;
        const rows = fields.noise.value.map(noise => `-1 -1 ${noise}, 1 1 ${noise}`);
      >%
      Solid {
        # not a statement: %< nonsense( >%
        name "%<= context.coordinate_system + '#' + fields.count.defaultValue >%"
        %< if (fields.core.value !== undefined) { >%
          physics IS core
          description "%<= fields.core.value.fields.mass.value >%"
        %< } >%
        children [
          %< for (let i = 0; i < fields.count.value; i++) { >%
            Gyro {
              translation %<= step.x * i >% %<= step.y * i >% %<= step.z * i; >%
              name "gyro %<= i >%"
              lookupTable [ %<= rows[i] === undefined ? '' : rows[i] >% ]
            }
          %< } >%
        ]
      }
    }""",
    "lua": """PROTO Gyros [
      field SFInt32 count 2
      field SFVec3f step 0 0 0.1
      field MFFloat noise []
      field SFNode  core NULL
    ]
    {
      %{
        local step = fields.step.value
        -- as many as the field demands
        function row(i)
          local noise = fields.noise.value[i]
          if noise == nil then return '' end
          return string.format('-1 -1 %g, 1 1 %g', noise, noise)
        end
      }%
      Solid {
        # not a statement: %{ nonsense( }%
        name "%{= context.coordinate_system .. '#' .. fields.count.defaultValue }%"
        %{ if fields.core.value then }%
          physics IS core
          description "%{= fields.core.value.fields.mass.value }%"
        %{ end }%
        children [
          %{ for i = 0, fields.count.value - 1 do }%
            Gyro {
              translation %{= step.x * i }% %{= step.y * i }% %{= step.z * i }%
              name "gyro %{= i }%"
              lookupTable [ %{= row(i + 1) }% ]
            }
          %{ end }%
        ]
      }
    }""",
}


@pytest.fixture(params=["javascript", "lua"])
def language(request):
    return request.param


@pytest.fixture
def world_of(tmp_path):
    """Function that writes one PROTO and reads a world."""

    def read(proto, nodes, language="javascript"):
        (tmp_path / "Gyros.proto").write_text(HEADS[language] + proto, encoding="utf-8")
        return read_world(f"#VRML_SIM R2025a utf8\n{nodes}", proto_dirs=[tmp_path])

    return read


@pytest.fixture
def evaluate():
    """Function that evaluates a body; its deadline is short."""
    evaluator = Evaluator(deadline_s=0.5)

    def run(body, language="javascript", **fields):
        return evaluator.evaluate(body, language, {"fields": fields, "context": {}}, None)

    yield run
    evaluator.close()


def test_a_program_writes_the_nodes_of_an_instance(world_of, language):
    world = world_of(
        GYROS[language],
        "Robot { children [ Gyros { count 3 step 1 0 0.5 noise [ 0.25 0.5 ] } ] }",
        language,
    )
    (solid,) = world.robots[0].nodes("children")
    assert (solid.type, solid.proto, solid.get("name")) == ("Solid", "Gyros", "ENU#2")
    gyros = devices_of(world.robots[0])
    assert [gyro.get("name") for gyro in gyros] == ["gyro 0", "gyro 1", "gyro 2"]
    assert [gyro.get("translation") for gyro in gyros] == [(0, 0, 0), (1, 0, 0.5), (2, 0, 1)]
    assert [gyro.get("lookupTable") for gyro in gyros] == [
        [(-1, -1, 0.25), (1, 1, 0.25)],
        [(-1, -1, 0.5), (1, 1, 0.5)],
        [],
    ]
    assert solid.node("physics") is None
    assert world.notices == []


def test_a_node_can_be_read_and_inserted(world_of, language):
    world = world_of(
        GYROS[language], "Robot { children [ Gyros { core Physics { mass 2.5 } } ] }", language
    )
    (solid,) = world.robots[0].nodes("children")
    assert solid.get("description") == "2.5"
    assert solid.node("physics").get("mass") == 2.5
    assert len(devices_of(world.robots[0])) == 2  # the default


def test_the_language_is_stated_or_follows_from_the_marks():
    assert language_of("# template language: javascript\n%< x >%") == "javascript"
    assert language_of("{ %{= x }% }") == "lua"
    assert language_of("{ %<= x >% }") == "javascript"


def test_the_random_numbers_are_those_of_the_manual(evaluate):
    """The linear congruential generator of Visual Basic, from seed 0, as the manual names it."""
    state, expected = 0.0, []
    for _ in range(4):
        state = (1140671485 * state + 12820163) % 2**24  # in doubles, as JavaScript has them
        expected.append(int(state % 7))
    text = evaluate(
        "%< import * as random from 'wbrandom.js'; >%"
        "%<= [1, 2, 3, 4].map(() => random.integer(0, 6)) >%"
    )
    assert list(map(int, text.split(","))) == expected


def test_modules_agree_with_geometry(evaluate):
    """A rotation survives every form; a B-spline starts and ends at its end points."""
    text = evaluate("""%<
        import * as wbrotation from 'webots/wbrotation.js';
        import {bSpline3 as spline, isPoint2InPolygon} from 'wbgeometry.js';
        const r = {x: 0.6, y: 0, z: 0.8, a: 2.5};
        const square = [{x: 0, y: 0}, {x: 1, y: 0}, {x: 1, y: 1}, {x: 0, y: 1}];
      >%%<= JSON.stringify([
        wbrotation.fromMatrix3(wbrotation.toMatrix3(r)),
        wbrotation.combine(r, r),
        wbrotation.rotateVector3ByRotation({x: 0, y: 0, z: 1, a: Math.PI / 2}, {x: 1, y: 0, z: 0}),
        spline([{x: 0, y: 0, z: 0}, {x: 1, y: 1, z: 0}, {x: 2, y: 0, z: 3}], 4),
        isPoint2InPolygon({x: 0.5, y: 0.5}, square), isPoint2InPolygon({x: 1.5, y: 0.5}, square),
      ]) >%""")
    same, twice, turned, curve, inside, outside = json.loads(text)
    assert same == pytest.approx({"x": 0.6, "y": 0, "z": 0.8, "a": 2.5})
    assert twice == pytest.approx({"x": 0.6, "y": 0, "z": 0.8, "a": 5.0})
    assert turned == pytest.approx({"x": 0, "y": 1, "z": 0}, abs=1e-15)
    assert curve[0] == pytest.approx({"x": 0, "y": 0, "z": 0})
    assert curve[4] == pytest.approx({"x": 1, "y": 2 / 3, "z": 0.5})  # (P0 + 4 P1 + P2) / 6
    assert curve[-1] == {"x": 2, "y": 0, "z": 3}
    assert (inside, outside) == (True, False)


@pytest.mark.parametrize(
    ("language", "body"),
    [
        ("javascript", "%< for (;;) {} >%"),
        ("javascript", "%< /(a+)+$/.test('a'.repeat(40) + 'b') >%"),
        ("lua", "%{ while true do pcall(function() while true do end end) end }%"),
        ("lua", "%{ string.rep('a', 30000):find('.-.-.-.-.-b') }%"),
    ],
)
@pytest.mark.by_default(
    "javascript-%< for (;;) {} >%", "lua-%{ string.rep('a', 30000):find('.-.-.-.-.-b') }%"
)
def test_a_program_that_does_not_end_is_ended(evaluate, language, body):
    with pytest.raises(UnsupportedError, match=r"got: a program that runs longer than 0\.5 s"):
        evaluate(body, language)
    assert evaluate("x", language) == "x"  # in a new process


def test_a_program_that_took_too_long_is_not_started_again(evaluate):
    body = "%< for (;;) {} >%"
    with pytest.raises(UnsupportedError, match="runs longer than"):
        evaluate(body)
    begin = time.monotonic()
    with pytest.raises(UnsupportedError, match="runs longer than"):
        evaluate(body, other=1)
    assert time.monotonic() - begin < 0.25  # half of its deadline


@pytest.mark.parametrize(
    ("language", "body"),
    [
        ("javascript", "%< throw new Error('x'.repeat(1e6)) >%"),
        ("lua", "%{ error(string.rep('x', 1e6)) }%"),
    ],
)
def test_the_error_of_a_program_is_short(evaluate, language, body):
    with pytest.raises(UnsupportedError, match="xxx") as caught:
        evaluate(body, language)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("language", "body"),
    [
        ("javascript", "%< let a = []; for (;;) a.push(new Uint8Array(5e7)); >%"),
        ("lua", "%{ t = {} while true do t[#t + 1] = string.rep(('a'):rep(1000), 1e4) end }%"),
    ],
)
def test_a_program_that_fills_the_memory_is_ended(language, body):
    with (
        closing(Evaluator()) as evaluator,
        pytest.raises(UnsupportedError, match="memory"),
    ):
        evaluator.evaluate(body, language, {"fields": {}, "context": {}}, None)


@pytest.mark.parametrize(
    ("language", "body"),
    [
        ("javascript", "%<= wbfile.readTextFile('/etc/passwd') >%"),
        ("javascript", "%< import * as secret from '/etc/passwd' >%"),
        ("javascript", "%<= require('fs') >%"),
        ("javascript", "%<= std.open('/etc/passwd', 'r') >%"),
        ("lua", "%{= io.open('/etc/passwd') }%"),
        ("lua", "%{= os.execute('ls') }%"),
        ("lua", "%{= python.builtins }%"),
        ("lua", "%{= loadfile('/etc/passwd') }%"),
        ("lua", "%{= debug.getregistry() }%"),
        ("lua", "%{= require('package') }%"),
    ],
)
def test_a_program_reads_no_files(evaluate, language, body):
    with pytest.raises(UnsupportedError, match="a template that can be evaluated"):
        evaluate(body, language)


def test_the_process_of_the_programs_can_open_nothing():
    """Even a program that escaped from its interpreter could not."""
    code = (
        "import runpy, sys, io; sys.stdin = io.StringIO()\n"
        f"runpy.run_path({templates.__file__.replace('templates', 'template_worker')!r},"
        " run_name='__main__')\n"
        "open('/etc/hostname')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "1", "lua"], capture_output=True, text=True, check=False
    )
    assert "Too many open files" in done.stderr


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{ Group { %< if (1) } >% }", "got: SyntaxError"),
        ("{ Group { %< nothing(); >% }", "got: ReferenceError: nothing is not defined"),
        ("{ Group { %< let i = 1; }", "expected '>%' after line 1 of its body, got none"),
        (
            "{ %< import * as gd from 'gd.js'; >% Group { } }",
            "got: Error: module 'gd.js' is not available",
        ),
    ],
)
def test_a_wrong_program_is_an_error_of_its_file(world_of, body, message):
    with pytest.raises(UnsupportedError, match=r"Gyros\.proto") as caught:
        world_of(f"PROTO Gyros [ ] {body}", "Robot { children Gyros { } }")
    assert message in str(caught.value)
    world = world_of(f"PROTO Gyros [ ] {body}", "Gyros { }")  # not part of a robot
    assert message in world.notices[0]


def test_a_wrong_result_is_an_error_of_its_file(world_of):
    with pytest.raises(FormatError, match=r"in the result of the template: .*Gyros\.proto: line 1"):
        world_of("PROTO Gyros [ ] { %<= 'Group' >% }", "Robot { children Gyros { } }")


def test_the_extra_is_named_where_the_interpreter_is_missing(world_of, monkeypatch):
    monkeypatch.setattr(templates, "_PACKAGES", {"lua": "lupa", "javascript": "absent_here"})
    with pytest.raises(BackendMissingError, match=r"pip install 'strapdown\[proto\]'"):
        world_of("PROTO Gyros [ ] { Gyro { %< >% } }", "Robot { children Gyros { } }")
