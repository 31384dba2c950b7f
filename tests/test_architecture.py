"""Modules form no circles of imports, type hints and imports within functions included."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import strapdown

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(strapdown.__file__).parent
CONTROLLERS = ROOT / "webots" / "controllers"
"""Programs of their own, that import the ``controller`` of Webots."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements inside of a node, in which alone imports can stand."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for each in getattr(node, name, []):
            yield each
            yield from statements(each)


def imported(tree: ast.AST) -> set[str]:
    """Return all that a module imports anywhere, and of what it takes names from."""
    names = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of modules that import each other; a name counts for its module."""
    number = {name: index for index, name in enumerate(imports)}
    graph = np.zeros((len(number), len(number)), bool)
    for name, targets in imports.items():
        for target in targets:
            module = target if target in number else target.rpartition(".")[0]
            if module in number:
                graph[number[name], number[module]] = True
    _, labels = connected_components(csr_array(graph), connection="strong")
    groups = defaultdict(set)
    for name, label in zip(imports, labels, strict=True):
        groups[label].add(name)
    return [group for group in groups.values() if len(group) > 1]


def test_modules_form_no_circles():
    paths = [path for path in ROOT.rglob("*.py") if not path.is_relative_to(CONTROLLERS)]
    found = circles({module_name(path): imported(ast.parse(path.read_text())) for path in paths})
    assert found == []


def test_a_circle_is_found_wherever_its_imports_stand():
    sources = {
        "a.x": "from a import y",
        "a.y": "if TYPE_CHECKING:\n    from a.z import Thing",
        "a.z": "def f():\n    import a.x",
        "a.w": "from a.x import Other",
    }
    imports = {name: imported(ast.parse(text)) for name, text in sources.items()}
    assert circles(imports) == [{"a.x", "a.y", "a.z"}]
