"""``strapdown webots run``, as a person, a script and a signal use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.errors import DeviceError
from strapdown.webots.world.timeline import Timeline

WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "rob"
  physics Physics { }
  children [ InertialUnit { } Accelerometer { } Gyro { } LED { name "led" } ]
}
"""
STEPS = """
from controller import Robot
robot = Robot()
for name in ("inertial unit", "accelerometer", "gyro"):
    robot.getDevice(name).enable(32)
while robot.step(32) != -1:
    pass
"""
COMMAND = [str(Path(sys.executable).with_name("strapdown")), "webots", "run"]
runner = CliRunner()


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    Path("w.wbt").write_text(WORLD)
    write("steps.py", STEPS)


def write(name, text):
    Path(name).write_text(dedent(text))


def run(*arguments):
    return runner.invoke(app, ["webots", "run", *map(str, arguments)])


@pytest.fixture
def start():
    """Start the command in a process of its own, which does not outlive the test."""
    processes = []

    def popen(*arguments):
        command = [*COMMAND, *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield popen
    for process in processes:
        process.kill()
        process.communicate()


def wait_for(path, within_s=20.0):
    end = time.monotonic() + within_s
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < end, f"{path} did not come"
        time.sleep(0.02)
    return path.read_text()


def test_a_controller_prints_as_if_it_ran_alone():
    write(
        "c.py",
        """
        import sys
        from controller import Robot
        robot = Robot()
        print(robot.getName(), sys.argv[1:])
        robot.step(32)
        print("warned", file=sys.stderr)
        """,
    )
    done = subprocess.run(
        [*COMMAND, "c.py", "--world", "w.wbt", "--", "--gain", "2"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "rob ['--gain', '2']\n")
    assert "warned" in done.stderr


def test_a_recording_holds_what_the_controller_enabled():
    done = run("steps.py", "--world", "w.wbt", "--duration", 0.5, "--record", "run.mcap")
    assert done.exit_code == 0, done.output
    recording = strapdown.open("run.mcap")
    (series,) = [series for topic, series in recording.imu.items() if topic == "imu/data"]
    assert series.t_ns.tolist() == [32_000_000 * step for step in range(1, 16)]
    np.testing.assert_allclose(np.linalg.norm(series.specific_force, axis=-1), 9.81)
    assert "wrote run.mcap" in done.stderr  # standard output is the controller's


def test_the_same_seed_gives_the_same_bytes_and_another_one_others():
    Path("n.wbt").write_text(WORLD.replace("InertialUnit { }", "InertialUnit { noise 0.01 }"))
    files = []
    for number, seed in enumerate((3, 3, 4)):
        file = Path(f"{number}.mcap")
        arguments = ["--duration", 0.5, "--record", file, "--seed", seed]
        assert run("steps.py", "--world", "n.wbt", *arguments).exit_code == 0
        files.append(file.read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


def test_a_motion_moves_the_robot_and_ends_the_simulation():
    write(
        "c.py",
        """
        from controller import Robot
        robot = Robot()
        gyro = robot.getDevice("gyro")
        gyro.enable(32)
        while robot.step(32) != -1:
            last = gyro.getValues()
        print(robot.getTime(), last)
        """,
    )
    done = run("c.py", "--world", "w.wbt", "--motion", "circle", "--duration", 1.0, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["time_s"] == pytest.approx(0.992)
    assert data["steps"] == 31


def test_a_real_part_gives_its_noise_to_axes_that_read_zero():
    options = ("--world", "w.wbt", "--duration", 5, "--sensor", "mpu6050", "--record", "run.mcap")
    assert run("steps.py", *options).exit_code == 0
    series = strapdown.open("run.mcap").imu_series("imu/data")
    assert series.angular_velocity.std(axis=0).min() > 1e-4
    assert series.specific_force[:, 2].mean() == pytest.approx(9.81, abs=2.0)


@pytest.mark.parametrize(("axes", "roll"), [("FUR", -np.pi / 2.0), ("FLU", 0.0)])
def test_a_unit_mounted_as_in_ros_is_read_so_if_asked(capfd, axes, roll):
    write("c.py", STEPS + "print(robot.getDevice('inertial unit').getRollPitchYaw()[0])")
    run("c.py", "--world", "w.wbt", "--profile", "documented", "--axes", axes, "--duration", 0.1)
    assert float(capfd.readouterr().out) == pytest.approx(roll, abs=1e-12)


ROTOR = """#VRML_SIM R2025a utf8
WorldInfo { coordinateSystem "NUE" basicTimeStep 32 }
Robot {
  name "rob" supervisor TRUE
  children [
    HingeJoint {
      jointParameters HingeJointParameters { axis 0 1 0 }
      device RotationalMotor { name "motor" }
      endPoint Solid {
        children [ Accelerometer { translation 0.1 0 0 } ]
        physics Physics { mass 1 density -1 centerOfMass [ 0.1 0 0 ] }
      }
    }
  ]
}
"""


@pytest.mark.parametrize("model", ["exact", "ode"])
def test_velocities_are_those_of_the_chosen_model(capfd, model):
    Path("rotor.wbt").write_text(ROTOR)
    write(
        "c.py",
        """
        from controller import Robot
        robot = Robot()
        motor, sensor = robot.getDevice("motor"), robot.getDevice("accelerometer")
        motor.setPosition(float("inf"))
        motor.setVelocity(3.0)
        sensor.enable(32)
        for _ in range(6):
            robot.step(32)
        print(*sensor.getValues())
        """,
    )
    options = ("--dynamics", "kinematic", "--velocity-model", model)
    assert run("c.py", "--world", "rotor.wbt", *options).exit_code == 0
    x, y, z = map(float, capfd.readouterr().out.split())
    # The velocity turns by an angle a step. The engine's is a step old, that of the centre of mass.
    turn, speed = 3.0 * 0.032, 3.0 * 0.1
    change = np.array([-np.sin(turn), np.cos(turn) - 1.0]) * speed / 0.032
    c, s = np.cos(turn), np.sin(turn)
    expected = change if model == "exact" else np.array([[c, -s], [s, c]]) @ change
    assert (x, y, z) == pytest.approx((expected[0], 9.81, expected[1]), abs=1e-9)


@pytest.mark.parametrize("options", [(), ("--late-devices",)])
def test_devices_that_come_later_are_found_if_asked(capfd, options):
    Path("rotor.wbt").write_text(ROTOR)
    write(
        "c.py",
        """
        from controller import Supervisor
        robot = Supervisor()
        robot.getSelf().getField("children").importMFNodeFromString(-1, "Gyro { }")
        robot.step(32)
        print(robot.getNumberOfDevices())
        """,
    )
    run("c.py", "--world", "rotor.wbt", "--dynamics", "kinematic", *options)
    assert capfd.readouterr().out == f"{2 + len(options)}\n"


def test_json_tells_how_it_went():
    write("c.py", "import sys\nfrom controller import Robot\nRobot().step(32)\nsys.exit(4)\n")
    done = run("c.py", "--world", "w.wbt", "--profile", "documented", "--seed", 9, "--json")
    assert done.exit_code == 4
    data = json.loads(done.stdout)
    assert data["exit"] == 4
    assert data["controllers"] == [{"robot": "rob", "status": 4, "time_s": 0.032, "forced": ""}]
    assert (data["profile"], data["seed"], data["record"]) == ("documented", 9, None)


def test_two_sample_robots_run_their_own_controllers(capfd):
    done = run("--world", "two_arms", "--duration", 0.1)
    assert done.exit_code == 0, done.output
    words = {line.split()[0] for line in capfd.readouterr().out.splitlines()}
    assert words == {"left", "right"}


def test_proto_folders_are_searched():
    Path("parts").mkdir()
    Path("parts/Part.proto").write_text(
        "#VRML_SIM R2025a utf8\nPROTO Part [ ] { InertialUnit { } }\n"
    )
    Path("p.wbt").write_text(
        '#VRML_SIM R2025a utf8\nEXTERNPROTO "https://example.org/Part.proto"\n'
        'Robot { name "rob" children [ Part { } Accelerometer { } Gyro { } ] }\n'
    )
    assert run("steps.py", "--world", "p.wbt", "--duration", 0.1).exit_code == 1
    done = run("steps.py", "--world", "p.wbt", "--duration", 0.1, "--proto-dir", "parts")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--world", "nothing.wbt"], "nothing.wbt: No such file or directory"),
        (["--world", "w.wbt", "--profile", "R2019a"], "R2025a.*R2021a|R2021a.*R2025a"),
        (["--world", "w.wbt", "--robot", "bob"], "no robot 'bob'"),
        (["--world", "w.wbt", "--motion", "nowhere"], "no motion or file 'nowhere'"),
        (["--world", "w.wbt", "--duration", "-1"], "duration"),
        (["--world", "w.wbt", "--record", "x.doc"], "x.doc"),
        (["--world", "two_arms"], "expected --robot in a world with 2 robots, one of: left, right"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_1(arguments, text):
    done = run("steps.py", *arguments)
    assert done.exit_code == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert re.search(text, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--robot", "bob"], "no robot 'bob'"),
        (["nothing.py"], "No such controller"),
        ([], "has no controller"),
    ],
)
def test_a_wrong_robot_or_controller_is_reported_without_warnings(arguments, text):
    write(
        "w.wbt",
        '#VRML_SIM R2025a utf8\nEXTERNPROTO "https://example.org/Table.proto"\n'
        'Table { }\nRobot { name "rob" controller "nothing" }\n',
    )
    done = run("--world", "w.wbt", *arguments)
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert text in line


def test_a_missing_controller_is_named():
    done = run("none.py", "--world", "w.wbt")
    assert done.exit_code == 1
    assert "none.py: No such controller" in done.stderr


def test_a_robot_without_a_controller_is_named():
    done = run("--world", "w.wbt")
    assert done.exit_code == 1
    assert "robot 'rob' has no controller" in done.stderr


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (WORLD.replace("basicTimeStep 32 }", "basicTimeStep }"), "line 2 column 27"),
        (WORLD.replace("Gyro { }", "Gyro { "), "line 6 column 61"),
        ("not a world", "line 1 column 1"),
    ],
)
def test_a_syntax_error_in_the_world_has_line_and_column(text, place):
    Path("bad.wbt").write_text(text)
    done = run("steps.py", "--world", "bad.wbt")
    assert done.exit_code == 1
    assert "bad.wbt" in done.stderr
    assert place in done.stderr


def test_a_recording_is_not_replaced_unasked():
    Path("run.mcap").write_text("mine")
    done = run("steps.py", "--world", "w.wbt", "--duration", 0.1, "--record", "run.mcap")
    assert done.exit_code == 1
    assert Path("run.mcap").read_text() == "mine"
    arguments = ["--duration", 0.1, "--record", "run.mcap", "--force"]
    assert run("steps.py", "--world", "w.wbt", *arguments).exit_code == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("robot.getDevice('nope').enable(32)", 'Device "nope" was not found on robot "rob"'),
        ("imu.enable('32')", "argument 2: TypeError"),
        ("imu.enable(32.5)", "argument 2: TypeError"),
        ("robot.step('x')", "argument 1: TypeError"),
        ("robot.step(-32)", "ValueError"),
        ("robot.getDeviceByIndex(77)", "out of the bounds"),
        ("robot.nosuch", "AttributeError"),
        ("imu.nosuch()", "AttributeError"),
    ],
)
@pytest.mark.by_default(
    "robot.step('x')-argument 1: TypeError",
    "robot.step(-32)-ValueError",
    'robot.getDevice(\'nope\').enable(32)-Device "nope" was not found on robot "rob"',
    "robot.nosuch-AttributeError",
)
def test_a_wrong_call_ends_the_controller_with_1_and_the_recording_is_whole(capfd, body, said):
    write("c.py", STEPS.replace("while robot.step(32) != -1:\n    pass", "robot.step(96)"))
    text = Path("c.py").read_text() + "imu = robot.getDevice('inertial unit')\n" + body + "\n"
    Path("c.py").write_text(text)
    done = run("c.py", "--world", "w.wbt", "--record", "run.mcap")
    assert done.exit_code == 1
    assert said in capfd.readouterr().err
    assert "controller of robot 'rob': exit status 1 after 0.096 s" in done.stderr
    assert len(strapdown.open("run.mcap").imu["imu/data"]) == 3


@pytest.mark.parametrize(
    ("period", "kept", "samples"),
    [(-5, 0, 0), (32767, 32767, 0), (32768, 32768, 3), (65536, 65536, 0), (65536 + 64, 65600, 2)],
)
def test_a_negative_or_huge_period_does_as_the_release_does(capfd, period, kept, samples):
    """A release reads 16 bits: 32768 is negative there, and over at every step; 65536 is 0."""
    write(
        "c.py",
        f"""
        from controller import Robot
        robot = Robot()
        imu = robot.getDevice("inertial unit")
        imu.enable({period})
        print(imu.getSamplingPeriod())
        for _ in range(3):
            robot.step(32)
            print(imu.getQuaternion())
        """,
    )
    done = run("c.py", "--world", "w.wbt")
    assert done.exit_code == 0, done.output
    said = capfd.readouterr()
    lines = said.out.splitlines()
    assert int(lines[0]) == kept
    assert sum("nan" not in line for line in lines[1:]) == samples
    assert ("called with negative sampling period" in said.err) == (period < 0)


def test_a_controller_that_hangs_is_ended_and_the_recording_is_whole():
    hang = "    while robot.getTime() > 0.3: time.sleep(0.01)"
    write("c.py", "import time" + STEPS.replace("    pass", hang))
    done = run("c.py", "--world", "w.wbt", "--timeout", 3, "--record", "run.mcap")
    assert done.exit_code == 143
    assert "it let the simulation wait for 3 s" in done.stderr
    assert len(strapdown.open("run.mcap").imu["imu/data"]) == 10


def test_work_after_the_end_is_allowed_as_long_as_asked():
    write("c.py", STEPS + "import time\ntime.sleep(0.7)\nopen('done', 'w').write('x')\n")
    done = run("c.py", "--world", "w.wbt", "--duration", 0.1, "--grace", 0.1)
    assert done.exit_code == 143
    assert "it still ran 0.1 s after the end of the simulation" in done.stderr
    assert run("c.py", "--world", "w.wbt", "--duration", 0.1, "--grace", 5).exit_code == 0
    assert Path("done").exists()


def test_a_world_that_breaks_is_one_line_and_the_recording_is_whole(monkeypatch):
    advance_to = Timeline.advance_to

    def break_at(timeline, step):
        if step > 5:
            raise DeviceError("the world broke")
        advance_to(timeline, step)

    monkeypatch.setattr(Timeline, "advance_to", break_at)
    done = run("steps.py", "--world", "w.wbt", "--record", "run.mcap")
    assert done.exit_code == 1
    assert "strapdown: the world broke" in done.stderr
    assert len(strapdown.open("run.mcap").imu["imu/data"]) == 5


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_keeps_the_recording_and_lets_the_controller_finish(tmp_path, start, number, code):
    write(
        "c.py", STEPS.replace("    pass", "    open('going', 'w').write('x')") + "print('saved')\n"
    )
    process = start("c.py", "--world", "w.wbt", "--record", "run.mcap", "--realtime")
    wait_for(tmp_path / "going")
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert (process.returncode, out) == (code, "saved\n")
    assert len(strapdown.open("run.mcap").imu["imu/data"]) >= 1


def test_a_second_interrupt_ends_everything_at_once(tmp_path, start, is_gone):
    write(
        "c.py",
        """
        import os, time
        open("pid", "w").write(str(os.getpid()))
        time.sleep(60)
        """,
    )
    process = start("c.py", "--world", "w.wbt", "--grace", "30")
    pid = int(wait_for(tmp_path / "pid"))
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert is_gone(pid)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("while robot.step(32) != -1: pass", marks=pytest.mark.slow),
        "while True: pass",
    ],
)
def test_nobody_outlives_a_runner_that_is_killed(tmp_path, start, is_gone, body):
    write(
        "c.py",
        f"""
        import os, subprocess
        from controller import Robot
        robot = Robot()
        child = subprocess.Popen(["sleep", "60"])
        folder = os.environ["WEBOTS_INSTANCE_PATH"]
        open("pids", "w").write(f"{{os.getpid()}} {{child.pid}} {{folder}}")
        {body}
        """,
    )
    process = start("c.py", "--world", "w.wbt")
    *pids, folder = wait_for(tmp_path / "pids").split()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    assert all(is_gone(int(pid)) for pid in pids)
    assert not Path(folder).exists()


def test_help_names_the_samples_and_shows_examples():
    done = run("--help")
    assert done.exit_code == 0
    assert "pendulum" in done.stdout
    assert done.stdout.count("strapdown webots run") >= 3


@pytest.mark.parametrize(
    ("stream", "bar"),
    [pytest.param("stdout", False, marks=pytest.mark.slow), ("stderr", True)],
)
def test_no_bar_is_drawn_where_controllers_write(stream, bar):
    write("c.py", STEPS.replace("    pass", "    print(robot.getTime(), flush=True)"))
    ours, theirs = os.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": theirs} | {stream: theirs}
    command = [*COMMAND, "c.py", "--world", "w.wbt", "--duration", "0.32"]
    with subprocess.Popen(command, **streams) as process:
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 4096):
                said += data
        except OSError:  # the other end was closed
            os.close(ours)
    assert process.returncode == 0
    assert (b"simulating" in said) == bar
    assert (b"\n0.32\r\n" in said) != bar
