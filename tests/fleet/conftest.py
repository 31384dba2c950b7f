"""Fixtures of the fleet tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def tasks(monkeypatch):
    """The module of tasks, which processes that a test starts can import as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("fleet_tasks")


@pytest.fixture
def contents():
    """Return the bytes of every file of results by name, but for the times."""

    def read(folder):
        files = (path for path in Path(folder).rglob("*") if path.is_file())
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in files
            if path.name != "times.json"
        }

    return read
