"""Every code block of the README and the docs runs, and gives what it says."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.motion import MOTIONS
from strapdown.sensors import profile_names

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")
"""A block that begins so is a file of that name, for the commands of the page."""
PEERS = {
    "ros1.md": ("rosmaster", "apt-get install python3-rosmaster python3-rospy"),
}
"""Programs that the commands of a page need, and how to install them."""
ARDUPILOT = "ardupilot.md"
"""The page whose blocks read ``flight.bin`` and ``flight.tlog``, which the tests write."""
RECORDING = re.compile(r"\bsample_\w+\.ulg\b")
"""A block that names one of these needs a file that is not shipped with the package."""


def blocks(page: Path, language: str, *, on_recordings: bool = False) -> list[str]:
    return [
        body
        for kind, body in BLOCK.findall(page.read_text())
        if kind == language and bool(RECORDING.search(body)) is on_recordings
    ]


def on_recordings(page: Path) -> list[str]:
    return [
        body
        for language in ("console", "pycon", "python")
        for body in blocks(page, language, on_recordings=True)
    ]


@pytest.fixture(params=[page for page in PAGES if on_recordings(page)], ids=lambda page: page.name)
def page_with_recordings(request, data_dir, tmp_path) -> Path:
    """A page, and in ``tmp_path`` the recordings that its blocks name."""
    page = request.param
    for name in {name for body in on_recordings(page) for name in RECORDING.findall(body)}:
        (tmp_path / name).symlink_to(data_dir / "px4" / "ulog" / name)
    return page


def files(page: Path) -> dict[str, str]:
    texts = blocks(page, "python") + blocks(page, "toml")
    return {match[1]: body for body in texts if (match := FILE.match(body))}


def test_every_block_has_a_language_that_is_executed():
    kinds = {kind for page in PAGES for kind, _ in BLOCK.findall(page.read_text())}
    assert kinds <= {"python", "pycon", "console", "sh", "toml"}
    assert all(FILE.match(body) for page in PAGES for body in blocks(page, "toml"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_interactive_blocks_print_what_they_say(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_interactive(page, blocks(page, "pycon"))


def test_interactive_blocks_on_recordings_print_what_they_say(
    page_with_recordings, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    check_interactive(
        page_with_recordings, blocks(page_with_recordings, "pycon", on_recordings=True)
    )


def check_interactive(page: Path, bodies: list[str]) -> None:
    text = "\n".join(bodies)
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    for body in blocks(page, "python"):
        if FILE.match(body):
            continue
        exec(compile(body, page.name, "exec"), scope)  # noqa: S102 (our own page)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=page.name, marks=[] if page == ROOT / "README.md" else [pytest.mark.slow]
        )
        for page in PAGES
    ],
)
def test_console_blocks_run_and_print_what_they_say(page, tmp_path, need_peer, ardupilot_log):
    if page.name == ARDUPILOT:
        ardupilot_log.write_flight(tmp_path / "flight.bin")
        ardupilot_log.write_telemetry(tmp_path / "flight.tlog")
    if page.name in PEERS:
        program, how = PEERS[page.name]
        need_peer(program, shutil.which(program), how)
    for name, text in files(page).items():
        (tmp_path / name).write_text(text)
    check_console(blocks(page, "console"), tmp_path)


@pytest.mark.slow
def test_console_blocks_on_recordings_print_what_they_say(page_with_recordings, tmp_path):
    check_console(blocks(page_with_recordings, "console", on_recordings=True), tmp_path)


def check_console(bodies: list[str], folder: Path) -> None:
    for body in bodies:
        commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        words = [shlex.split(command, comments=True) for command in commands]
        shell = [k for k, command in enumerate(words) if needs_a_shell(command)]
        first, last = (shell[0], shell[-1] + 1) if shell else (len(words), len(words))
        with chdir(folder):
            output = "".join(map(in_this_process, words[:first]))
            output += in_a_shell("\n".join(commands[first:last]))
            output += "".join(map(in_this_process, words[last:]))
        said = [line for line in body.splitlines() if not line.startswith("$ ") and line != "..."]
        printed = iter([line.rstrip() for line in output.splitlines()])
        assert [line for line in said if line not in printed] == [], output


def needs_a_shell(words: list[str]) -> bool:
    return words[0] not in {"strapdown", "python"} or bool(set("|&;<>$") & set("".join(words)))


def in_a_shell(script: str) -> str:
    usual = {name: value for name, value in os.environ.items() if name != "STRAPDOWN_BACKEND"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**usual, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_this_process(words: list[str]) -> str:
    program, *arguments = words
    if program == "python":
        with redirect_stdout(StringIO()) as output:
            runpy.run_path(*arguments, run_name="__main__")
        return output.getvalue()
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_file_of_a_page_is_used_by_its_commands(subtests):
    for page in PAGES:
        with subtests.test(page=page.name):
            commands = "".join(blocks(page, "console"))
            assert [name for name in files(page) if name not in commands] == []


def test_the_readme_gives_the_two_commands_that_set_everything_up():
    commands = blocks(ROOT / "README.md", "sh")
    assert [line.split("#")[0].strip() for body in commands for line in body.splitlines()] == [
        "pip install . && strapdown demo",
        "pip install '.[test]' && pytest",
    ]


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 150


def test_linked_files_of_the_pages_exist():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links {target}"


@pytest.fixture
def make_gallery():
    spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_is_the_page_that_its_script_writes(make_gallery):
    assert (ROOT / "docs" / "gallery.md").read_text() == make_gallery.page()


def test_the_gallery_shows_every_motion_and_every_profile(subtests):
    for name in [*MOTIONS, *profile_names()]:
        with subtests.test(name=name):
            page = (ROOT / "docs" / "gallery.md").read_text()
            assert f"### {name}\n" in page
            assert f"](gallery/{name}.png)" in page


def test_the_pictures_of_the_gallery_are_small_and_all_of_them_shown():
    pages = "".join(page.read_text() for page in PAGES)
    for picture in (ROOT / "docs" / "gallery").iterdir():
        assert f"gallery/{picture.name})" in pages
        assert picture.stat().st_size < 60_000, f"{picture.name}: draw less of it"
