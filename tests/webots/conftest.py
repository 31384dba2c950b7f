"""Names of the client library of Webots R2025a, as recorded."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def recorded(data_dir):
    """Return the recorded names by section, and the expected number of each."""
    text = (data_dir / "webots" / "python_api_names_r2025a.txt").read_text("utf-8")
    sections = re.findall(r"^\[(.+)\] (\d+) names\n((?:\w+\n)+)", text, re.MULTILINE)
    return {name: (int(count), set(names.split())) for name, count, names in sections}
