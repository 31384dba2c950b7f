"""Fixtures shared by every test."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import strapdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The same examples in every run, so that a commit which passed goes on passing, and few of them;
# `pytest -m hypothesis --hypothesis-profile=whole` takes all, and `search` looks for new ones.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("whole", settings.get_profile("search"), derandomize=True)
settings.register_profile("repeatable", settings.get_profile("whole"), max_examples=10)
settings.load_profile("repeatable")

# Test processes run side by side and use the same names: topics stay within each, unless a test
# names another backend.
os.environ["STRAPDOWN_BACKEND"] = "local"
os.environ["HORUS_NAMESPACE"] = f"strapdown_test_{os.getpid()}"

# And they occupy every processor: further threads of linear algebra, which spin while they wait,
# took a third of the time of a calibration.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# A shell that runs the tests in the background has them and their children ignore an interrupt,
# and some tests interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

FOLDER = Path(__file__).parent
DEFAULT_DATA = FOLDER.parents[1] / "shared" / "data"


LONGEST_S = 540.0  # of a test; .ci/run ends the worker after 600 s
GRACE_S = 60.0  # for each clean-up that then hangs too


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Fail where the main thread waits after so many seconds, whatever it waits for; 0 is never."""

    def fail(*_: object) -> None:
        pytest.fail(f"not done after {seconds:g} s: what it waits for does not come")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, GRACE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def limit_part(item):
    """Let no part of a test hang, be it in another process that never answers."""
    with limited(0.0 if item.get_closest_marker("long") else LONGEST_S):
        return (yield)


pytest_runtest_setup = pytest.hookimpl(limit_part, wrapper=True)
pytest_runtest_call = pytest.hookimpl(limit_part, wrapper=True)
pytest_runtest_teardown = pytest.hookimpl(limit_part, wrapper=True)


WARM_UP = """
import sys
from strapdown.warming import parts, warm_up
warm_up(list(parts())[int(sys.argv[1]) :: 2])
"""


def pytest_xdist_auto_num_workers():
    """Start one worker more than there are processors: many tests wait for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_sessionstart(session):
    """Compile kernels and modules once, before workers start that would each compile them.

    Most of the time of a collection goes into assertions that pytest rewrites.
    """
    config = session.config
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        return
    sources = sorted(Path(strapdown.__file__).parent.rglob("*.py"))
    state = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in sources]
    cache = getattr(config, "cache", None)  # none with -p no:cacheprovider
    if config.option.collectonly or (cache and cache.get("strapdown/warm", None) == state):
        return
    bytecode = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "-p", "no:cacheprovider"],
        cwd=config.rootpath,
        env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
        stdout=subprocess.DEVNULL,
    )
    command = [sys.executable, "-c", WARM_UP]
    halves = [subprocess.Popen([*command, str(half)]) for half in range(2)]
    with limited(LONGEST_S):
        codes = [half.wait() for half in halves]
        bytecode.wait()
    if cache and not any(codes):
        cache.set("strapdown/warm", state)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector from visiting ten thousand tests again and again.

    With these out of its sight it would collect the few other objects very often.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave rows of sweeps to the slow tests, and run the others grouped by module fixtures.

    Tests that share a fixture of their module run in one process, which builds it once. Slow tests
    are spread over the processes: they take longer than their fixtures.
    """
    for item in items:
        kept = item.get_closest_marker("by_default")
        if kept and item.callspec.id not in kept.args:
            item.add_marker(pytest.mark.slow)
        scopes = [each[-1].scope for each in item._fixtureinfo.name2fixturedefs.values()]
        apart = any(map(item.get_closest_marker, ("xdist_group", "slow")))
        if "module" in scopes and not apart:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(FOLDER).as_posix()))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the recordings and golden vectors that are not shipped with the package."""
    folder = Path(os.environ.get("STRAPDOWN_DATA", DEFAULT_DATA))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}: set STRAPDOWN_DATA")
    return folder


@pytest.fixture(scope="session", autouse=True)
def no_horus_topic_is_left():
    yield
    shutil.rmtree(f"/dev/shm/horus_{os.environ['HORUS_NAMESPACE']}", ignore_errors=True)  # noqa: S108


@pytest.fixture(params=[17, pytest.param(1, marks=pytest.mark.slow)], ids=["thinned", "whole"])
def stride(request) -> int:
    """Step of a sweep over all bits, cuts or mutants: whole among the slow tests.

    It is prime, so that the thinned sweep comes to every bit of a byte and every column of a table.
    """
    return request.param


@pytest.fixture(scope="session")
def need_peer():
    """Skip, saying so, where another program is not installed; in CI that is a failure."""

    def need(name: str, available: object, how_to_install: str) -> None:
        if not available:
            line = f"{name} is not installed: {how_to_install}"
            if os.environ.get("STRAPDOWN_REQUIRE_PEERS"):
                pytest.fail(line)
            pytest.skip(line)

    return need


def beside(name: str):
    """Return a module beside this file."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def px4():
    """The module ``px4_flight`` beside this file: an autopilot of our own, and its logs."""
    return beside("px4_flight")


@pytest.fixture(scope="session")
def ardupilot_log():
    """The module ``ardupilot_log`` beside this file: a writer of DataFlash logs of our own."""
    return beside("ardupilot_log")


@pytest.fixture(scope="session")
def sessions():
    """The module ``calibration_sessions`` beside this file: sessions with known truth."""
    return beside("calibration_sessions")


@pytest.fixture(scope="session")
def flight(px4):
    """A flight of that autopilot."""
    return px4.fly()


@pytest.fixture(scope="session")
def flight_log(px4, flight, tmp_path_factory):
    """The log of the flight."""
    return px4.write(tmp_path_factory.mktemp("flight") / "flight.ulg", flight)


@pytest.fixture(scope="session")
def is_gone() -> Callable[[int], bool]:
    """Tell whether a process ends soon; one that is dead and not yet reaped has ended."""

    def wait(pid: int) -> bool:
        end = time.monotonic() + 5.0
        while time.monotonic() < end:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text("ascii")
            except FileNotFoundError:
                return True
            if stat.rpartition(")")[2].split()[0] == "Z":
                return True
            time.sleep(0.02)
        return False

    return wait
