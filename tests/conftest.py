"""Fixtures shared by every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared-machine")

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the recordings and golden vectors that are not shipped with the package."""
    folder = Path(os.environ.get("STRAPDOWN_DATA", DEFAULT_DATA))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}: set STRAPDOWN_DATA")
    return folder
