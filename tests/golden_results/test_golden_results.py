"""Results stay as they are, to the last bit; ``cases.py`` says how to renew them.

These pin behaviour: a change of results must be deliberate. On a platform whose mathematics
rounds otherwise, the written numbers have to agree to 1e-6, where rounding stays small.
"""

from __future__ import annotations

import json

import pytest
from cases import GROUPS, RESULTS, is_missing
from pins import difference, fingerprint, pinned

pytestmark = pytest.mark.data

ROUNDING_GROWS = ("aided navigator", "started navigator", "navigator of increments")
"""Fixes that are not of this motion, drift over minutes: elsewhere they end elsewhere."""


LONG = 100  # rows of a series
EARLY = 2  # of its written numbers: where rounding has not grown yet


def beginning(pin):
    return pin | {"samples": pin["samples"][:EARLY]}


@pytest.fixture(scope="module")
def known():
    return json.loads(RESULTS.read_text("utf-8"))


@pytest.fixture(scope="module")
def same_mathematics(known):
    return fingerprint() == known["fingerprint"]


def test_every_case_is_written(known):
    assert list(known["cases"]) == [name for group in GROUPS.values() for name in group]


def marks_of(group, name):
    """By default the hard series and two recordings; the others take minutes."""
    usual = any(recording in name for recording in ("hard", "broad-08", "pyshoe-walk"))
    return [pytest.mark.xdist_group(f"golden {group}"), *[pytest.mark.slow] * (not usual)]


@pytest.mark.parametrize(
    ("group", "name"),
    [
        pytest.param(group, name, id=name, marks=marks_of(group, name))
        for group, cases in GROUPS.items()
        for name in cases
    ],
)
def test_results_stay_as_they_are(known, same_mathematics, group, name):
    if missing := is_missing(name):
        pytest.skip(f"no recording {missing}: see the data's README")
    found, pins = pinned(GROUPS[group][name]()), known["cases"][name]
    if same_mathematics:
        assert found == pins
        return
    assert {each: pin["shape"] for each, pin in found.items()} == {
        each: pin["shape"] for each, pin in pins.items()
    }
    if name.startswith(ROUNDING_GROWS):
        early = [each for each, pin in pins.items() if pin["shape"][:1] > [LONG]]
        found, pins = (
            {each: beginning(numbers[each]) for each in early} for numbers in (found, pins)
        )
    assert pins
    assert max(difference(found[each], pins[each]) for each in pins) <= 1.0
