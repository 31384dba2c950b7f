"""The API reference has every public package, and every public name in words."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import strapdown

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return import_module("make_reference")


def packages(reference) -> list[str]:
    return [package for section in reference.SECTIONS.values() for package in section]


def test_every_public_package_has_its_place(reference):
    public = {info.name for info in pkgutil.iter_modules(strapdown.__path__) if info.name[0] != "_"}
    assert {package.partition(".")[0] for package in packages(reference)} == public - {"cli"}


def test_every_public_name_says_what_it_is(reference, subtests):
    for package in packages(reference):
        for name in reference.names_of(f"strapdown.{package}"):
            with subtests.test(name=name.full):
                assert reference.summary(name.value, name)


def test_every_public_name_has_one_page(reference):
    pages = [file for file, _ in reference.all_pages()]
    assert len(set(pages)) == len(pages)
    assert {"index.rst", "strapdown.rst", "strapdown.series.ImuSeries.rst"} <= set(pages)
    assert "strapdown.ImuSeries.rst" not in pages  # a second name of the same thing
    assert "strapdown.motion.MOTIONS.rst" in pages  # loads lazily


def test_pages_that_are_no_longer_written_are_removed(reference, tmp_path):
    reference.write(tmp_path)
    (tmp_path / "strapdown.old.rst").write_text("Gone\n====\n")
    reference.write(tmp_path)
    assert not (tmp_path / "strapdown.old.rst").exists()
    assert (tmp_path / "index.rst").read_text().startswith("API reference\n====")
