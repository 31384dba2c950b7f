"""Controllers in separate processes, and the handling of faulty ones."""

from __future__ import annotations

import os
import signal
import threading
import time
from textwrap import dedent

import pytest

from strapdown.errors import DeviceError
from strapdown.webots.run.programs import Program
from strapdown.webots.run.runner import run_controllers
from strapdown.webots.world.world import World

ROBOT = 'Robot {{ name "{}" supervisor TRUE children [ InertialUnit {{ }} Gyro {{ }} ] }}\n'
HEAD = "#VRML_SIM R2025a utf8\nWorldInfo { basicTimeStep 32 }\n"
BEGIN = """
import os, signal, subprocess, sys, time
from controller import Robot
robot = Robot()
imu = robot.getDevice("inertial unit")
imu.enable(32)
"""


@pytest.fixture
def runs(tmp_path, capfd):
    """Run one controller for each robot, given as text; return report, world and output."""

    def run(*texts, duration_s=0.32, observe=None, **options):
        robots = [f"r{number}" for number in range(len(texts))]
        world = World(HEAD + "".join(map(ROBOT.format, robots)), duration_s=duration_s)
        if observe is not None:
            world.observe(observe)
        programs = []
        for robot, text in zip(robots, texts, strict=True):
            script = tmp_path / f"{robot}.py"
            script.write_text(dedent(text), "utf-8")
            programs.append(Program(robot, script))
        report = run_controllers(world, programs, **options)
        return report, world, capfd.readouterr()

    return run


def test_a_plain_controller_runs_to_the_end_of_the_simulation(runs):
    report, world, said = runs(
        BEGIN + "while robot.step(32) != -1:\n    print(round(robot.getTime(), 3))\n"
    )
    assert [float(time) for time in said.out.split()] == pytest.approx(
        [0.032 * step for step in range(1, 11)]
    )
    assert report.status == 0
    assert (report.steps, report.time_s) == (10, 0.32)
    assert report.ended[0].forced == ""
    assert world.step_count == 10


def test_a_crash_leaves_every_sample_up_to_the_last_step(runs):
    steps = []
    report, _, said = runs(
        BEGIN + "for _ in range(3):\n    robot.step(32)\nraise ValueError('broken')\n",
        observe=lambda _robot, _device, step, _values: steps.append(step),
    )
    assert steps == [1, 2, 3]
    assert report.status == 1
    assert report.ended[0].time_s == pytest.approx(0.096)
    assert said.err.startswith("Traceback")
    assert "r0.py" in said.err
    assert "ValueError: broken" in said.err
    assert "child.py" not in said.err  # no frames of the runner


def test_a_syntax_error_names_file_and_line(runs):
    report, world, said = runs("from controller import Robot\nrobot = = Robot()\n")
    assert report.status == 1
    assert 'r0.py", line 2' in said.err
    assert "SyntaxError" in said.err
    assert "child.py" not in said.err
    assert world.step_count == 0


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("sys.exit(5)", 5),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("os.abort()", 134),
        ("sys.exit('no more')", 1),
        ("pass", 0),
    ],
)
def test_the_status_is_that_of_the_controller_and_the_others_go_on(runs, ending, status):
    report, world, _ = runs(
        BEGIN + f"robot.step(32)\n{ending}\n",
        BEGIN + "while robot.step(32) != -1: pass\n",
    )
    assert [each.status for each in report.ended] == [status, 0]
    assert report.status == status
    assert report.ended[0].forced == ""
    assert world.step_count == 10


def test_a_controller_that_never_steps_stops_time_until_it_leaves(runs):
    report, world, said = runs(
        BEGIN + "time.sleep(0.4)\nprint('left', flush=True)\n",
        BEGIN + "robot.step(32)\nprint('stepped', flush=True)\n",
    )
    assert said.out.split() == ["left", "stepped"]
    assert report.status == 0
    assert world.step_count == 1


def test_without_any_step_the_run_ends_at_time_zero(runs):
    report, world, _ = runs("from controller import Robot\nrobot = Robot()\n")
    assert (report.status, world.step_count) == (0, 0)


def test_a_file_that_is_no_controller_runs_all_the_same(runs):
    report, _, said = runs("print('nothing to do')")
    assert (report.status, said.out) == (0, "nothing to do\n")


def test_a_controller_that_hangs_is_ended_when_it_is_late(runs):
    begun = time.monotonic()
    report, world, _ = runs(
        BEGIN + "robot.step(32)\nwhile True: time.sleep(1)\n",
        BEGIN + "while robot.step(32) != -1: pass\n",
        timeout_s=3.0,  # a healthy one may take as long to start
    )
    assert time.monotonic() - begun < 10.0
    assert [each.status for each in report.ended] == [143, 0]
    assert report.ended[0].forced == "it let the simulation wait for 3 s"
    assert world.step_count == 10  # the other one continued


def test_waiting_for_a_slow_robot_is_not_hanging(runs):
    report, _, _ = runs(
        BEGIN + "robot.step(32)\ntime.sleep(0.7)\n" * 3,
        BEGIN + "robot.step(32)\nrobot.step(320)\n",
        timeout_s=2.0,
    )
    assert [each.status for each in report.ended] == [0, 0]


def test_a_controller_that_ignores_sigterm_gets_sigkill(runs):
    report, _, _ = runs(
        BEGIN + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)\n",
        timeout_s=3.0,  # it has as long to come so far
        grace_s=0.3,
    )
    assert report.ended[0].status == 137


def test_an_endless_loop_ends_with_status_0_after_the_end(runs):
    report, _, said = runs(
        BEGIN + "import atexit\natexit.register(print, 'bye')\nwhile True:\n    robot.step(32)\n"
    )
    assert report.ended[0].status == 0
    assert report.ended[0].forced == ""
    assert said.out == "bye\n"


def test_a_controller_that_swallows_its_exit_still_ends(runs):
    report, _, _ = runs(
        BEGIN
        + "while True:\n    try:\n        robot.step(32)\n    except SystemExit:\n        pass\n"
    )
    assert (report.ended[0].status, report.ended[0].forced) == (0, "")


def test_work_after_the_end_has_its_time_and_no_more(runs):
    work = BEGIN + "while robot.step(32) != -1: pass\ntime.sleep({})\nprint('done')\n"
    report, _, said = runs(work.format(0.5), work.format(60), grace_s=1.5)
    assert said.out == "done\n"
    assert [each.status for each in report.ended] == [0, 143]
    assert report.ended[1].forced == "it still ran 1.5 s after the end of the simulation"


def test_what_a_controller_started_does_not_outlive_it(runs, is_gone):
    report, _, said = runs(
        BEGIN + "print(subprocess.Popen(['sleep', '60']).pid)\nrobot.step(32)\nsys.exit(3)\n"
    )
    assert report.status == 3
    assert is_gone(int(said.out))


def test_a_process_that_keeps_the_link_open_does_not_keep_the_run(runs):
    begun = time.monotonic()
    report, _, _ = runs(BEGIN + "robot.step(32)\nif os.fork() == 0:\n    time.sleep(60)\n")
    assert report.status == 0
    assert time.monotonic() - begun < 8.0


def test_a_supervisor_ends_the_simulation_with_its_status(runs):
    report, world, _ = runs(
        """
        from controller import Supervisor
        robot = Supervisor()
        robot.step(32)
        robot.simulationQuit(3)
        while robot.step(32) != -1: pass
        """,
        BEGIN + "while robot.step(32) != -1: pass\n",
    )
    assert report.status == 3
    assert world.step_count < 10
    assert [each.status for each in report.ended] == [0, 0]


def test_a_wrong_call_of_a_supervisor_fails_at_the_controller_only(runs):
    report, _, said = runs(
        """
        from controller import Supervisor
        robot = Supervisor()
        field = robot.getSelf().getField("translation")
        field.setSFVec3f([1.0, 2.0, float("nan")])
        robot.step(32)
        print(field.getSFVec3f())
        """,
        BEGIN + "while robot.step(32) != -1: pass\n",
    )
    assert report.ended[1].status == 0
    assert "Traceback" in said.err
    assert "got nan" in said.err
    assert report.ended[0].status == 1


def test_a_refused_request_leaves_no_answer_behind(runs):
    report, _, said = runs(
        BEGIN
        + """
port = robot._session._port
try:
    port.exchange(32, [(99, "period", (32,))])
except Exception as error:
    print(type(error).__name__, error)
print(port.exchange(64, []).time_s)
"""
    )
    assert report.status == 0
    assert said.out.splitlines()[0].startswith("DeviceError")
    assert said.out.splitlines()[1] == "0.064"


def test_an_error_of_the_world_ends_all_controllers(runs, is_gone, tmp_path):
    def stop(_robot, _device, step, _values):
        if step == 3:
            raise DeviceError("the world broke")

    pid = tmp_path / "pid"
    with pytest.raises(DeviceError, match="the world broke"):
        runs(
            BEGIN + f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
            "while robot.step(32) != -1: pass\ntime.sleep(60)\n",
            observe=stop,
        )
    assert is_gone(int(pid.read_text()))


def test_a_program_that_does_not_start_leaves_none_behind(tmp_path):
    world = World(HEAD + ROBOT.format("a") + ROBOT.format("b"), duration_s=1.0)
    script = tmp_path / "a.py"
    script.write_text("import time\ntime.sleep(60)\n")
    missing = tmp_path / "gone" / "b.py"
    begun = time.monotonic()
    with pytest.raises(FileNotFoundError):
        run_controllers(world, [Program("a", script), Program("b", missing)])
    assert time.monotonic() - begun < 5.0


def test_a_run_needs_no_main_thread(runs):
    reports = []
    text = BEGIN + "while robot.step(32) != -1: pass\n"
    thread = threading.Thread(target=lambda: reports.append(runs(text)[0]))
    thread.start()
    thread.join(20.0)
    assert reports[0].status == 0


def test_realtime_is_not_faster_than_the_clock_and_progress_is_told(runs):
    told = []
    begun = time.monotonic()
    report, _, _ = runs(
        BEGIN + "while robot.step(32) != -1: pass\n", realtime=True, progress=told.append
    )
    assert time.monotonic() - begun > 0.32
    assert report.steps == 10
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_signal_handlers_are_as_before(runs):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    runs("pass")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_simulation_and_controllers_finish_their_work(runs, number):
    timer = threading.Timer(1.0, os.kill, (os.getpid(), number))
    timer.start()
    report, _, said = runs(
        BEGIN + "while robot.step(32) != -1: pass\nprint('saved')\n",
        BEGIN + "while robot.step(32) != -1: pass\nprint('saved')\n",
        duration_s=None,
    )
    assert report.status == 128 + number
    assert [each.status for each in report.ended] == [0, 0]
    assert said.out == "saved\nsaved\n"


def test_a_controller_that_closes_its_link_ends_at_its_next_step(runs):
    report, _, _ = runs(BEGIN + "os.closerange(3, 256)\nrobot.step(32)\n")
    assert report.status == 1
