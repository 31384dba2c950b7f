"""The page of promises names tests that exist, and leaves no promise without one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "fidelity.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: Path) -> set[str]:
    """Return the names of a module's functions."""
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_on_the_page_exists():
    named = NAMED.findall(PAGE)
    assert len(named) > 60
    known = {path: functions(ROOT / path) for path, _ in named}
    assert [f"{path}::{name}" for path, name in named if name not in known[path]] == []


def test_every_promise_from_1_to_28_has_a_row_with_a_test():
    rows = dict(re.findall(r"^\| (S\d+) \|(.*)$", PAGE, re.MULTILINE))
    assert list(rows) == [f"S{number}" for number in range(1, 29)]
    assert [number for number, row in rows.items() if not NAMED.search(row)] == []


def test_every_mistake_names_a_promise():
    _, mistakes = PAGE.split("## Mistakes")
    rows = re.findall(r"^\| (?!mistake|---)[^|]+ \| ([^|]+) \|$", mistakes, re.MULTILINE)
    assert len(rows) > 15
    assert all(re.fullmatch(r"S\d+(, S\d+)*", row) for row in rows)
