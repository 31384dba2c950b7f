"""The page for users of Webots agrees with the code: profiles, devices, commands, differences."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from strapdown.cli.webots_explain import explain
from strapdown.cli.webots_run import run
from strapdown.cli.webots_serve import serve
from strapdown.webots.api.kinds import INERT, KINDS
from strapdown.webots.profiles import DIFFERENCES, PROFILES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "webots.md").read_text()
VERBS = {"explain": explain, "run": run, "serve": serve}
SPELLED = {"output": "record"}
"""Options whose name differs from that of the parameter."""


def section(title):
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def options(verb):
    names = inspect.signature(verb).parameters
    return {SPELLED.get(name, name).replace("_", "-") for name in names}


@pytest.fixture
def make_webots():
    spec = importlib.util.spec_from_file_location("make_webots", DOCS / "make_webots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_profiles_is_that_of_the_code(make_webots):
    assert make_webots.page() == PAGE
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.count("|") == 6]
    assert rows[2:] == [list(row[:5]) for row in DIFFERENCES]
    assert rows[0][1:] == [name for name in PROFILES if name != "R2023b"]


def test_the_picture_is_small_and_shown():
    pictures = list((DOCS / "webots").iterdir())
    assert [f"](webots/{picture.name})" in PAGE for picture in pictures] == [True]
    assert pictures[0].stat().st_size < 60_000, "draw it in fewer colours"


def test_every_device_is_said_to_do_something_or_nothing():
    rows = dict(re.findall(r"^\| (measure|move|inert) \| (.*) \|$", PAGE, re.MULTILINE))
    named = {kind: set(re.findall(r"\w+", text)) for kind, text in rows.items()}
    assert named["inert"] >= INERT.keys()
    assert named["measure"] | named["move"] >= KINDS.keys() - INERT.keys()
    assert not (named["measure"] | named["move"]) & INERT.keys()


def test_every_profile_is_recommended_for_something():
    taken = re.findall(r"^\| (`.*?) \|", section("Profiles"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(taken))) >= PROFILES.keys()


def test_nine_deviations_are_listed():
    listed = section("Deliberate differences from the releases")
    numbers = re.findall(r"^(\d+)\. ", listed, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 10)]


def test_every_option_on_the_page_exists():
    used = re.findall(r"strapdown webots (\w+)([^\n`]*)", PAGE)
    assert {verb for verb, _ in used} == VERBS.keys()
    known = {verb: options(function) for verb, function in VERBS.items()}
    named = [(verb, option) for verb, rest in used for option in re.findall(r"--([\w-]+)", rest)]
    assert [(verb, name) for verb, name in named if name not in known[verb] | {"help"}] == []
    alone = set(re.findall(r"`--([\w-]+)", PAGE))
    assert alone <= set().union(*known.values())
