"""Write the pages of the API reference: one for each package, one for each public name.

Sphinx's ``conf.py`` calls :func:`write`. Names come from ``__all__``; texts are taken from the
docstrings by autodoc when the site is built.
"""  # noqa: INP001 (a script beside the pages, not a package)

from __future__ import annotations

import ast
import ctypes
import inspect
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECTIONS = {
    "Measurements": (
        "series",
        "series.timebase",
        "series.decimation",
        "samples",
        "geometry",
        "units",
        "errors",
    ),
    "Estimation and detection": (
        "inertial",
        "inertial.navigation",
        "estimation",
        "detection",
        "checking",
        "joints",
        "calibration",
        "evaluation",
        "plots",
        "viewer",
        "fleet",
        "warming",
    ),
    "Simulation": ("motion", "motion.command_file", "sensors", "simulation", "webots"),
    "Messages, files and live data": (
        "messages",
        "messages.covariance",
        "formats",
        "formats.foreign",
        "formats.px4",
        "transport",
        "px4",
        "bridges.live",
        "bridges.mavlink",
        "bridges.ros1",
        "bridges.webots.server",
    ),
}
"""The public packages; a name that stands in two of them has its page below the first."""

HEAD = """\
API reference
=============

Every public name, from the docstrings. What most programs need can be imported from
:py:mod:`strapdown` itself: :doc:`strapdown`.

.. toctree::
   :hidden:

   strapdown
"""


@dataclass(frozen=True)
class Name:
    """A public name: where it is listed, and what it is."""

    package: str
    name: str
    value: object

    @property
    def full(self) -> str:
        """The name with its package."""
        return f"{self.package}.{self.name}"


def write(folder: Path) -> None:
    """Write every page of the reference into a folder, and remove what was there before."""
    pages = dict(all_pages())
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text() != text:  # what is unchanged is not read again
            path.write_text(text)


def all_pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each page."""
    homes: dict[str, str] = {}
    parts = [HEAD]
    for section, packages in SECTIONS.items():
        full = [f"strapdown.{package}" for package in packages]
        parts += [heading(section, "-"), table((p, summary(import_module(p)), "mod") for p in full)]
        parts.append(toctree(full, caption=section))
        for package in full:
            yield from pages_of_package(package, homes)
    yield "index.rst", "\n".join(parts)
    yield from pages_of_package("strapdown", homes)


def pages_of_package(package: str, homes: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the page of a package and those of its names that have none yet."""
    rows = []
    own = []
    for name in names_of(package):
        home = homes.setdefault(identity(name), name.full)
        rows.append((home, summary(name.value, name), "mod" if is_module(name) else "obj"))
        if home != name.full:
            continue
        own.append(name.full)
        if is_module(name):
            yield from pages_of_package(name.full, homes)
        else:
            yield f"{name.full}.rst", page_of_name(name)
    about = f".. automodule:: {package}\n   :no-members:\n"
    parts = [heading(package, "="), about, table(rows, package), toctree(own, package)]
    yield f"{package}.rst", "\n".join(parts)


def classes() -> dict[str, str]:
    """Return the full names of public classes by their own, which docstrings give as types.

    Of several classes of one name none is there.
    """
    full = listed()
    found = {identity(name): name for p in full[::-1] for name in names_of(p)}
    known = [name for name in found.values() if inspect.isclass(name.value)]
    count = Counter(name.name for name in known)
    return {name.name: name.full for name in known if count[name.name] == 1}


def listed() -> list[str]:
    """Return the full names of the packages of all sections."""
    return [f"strapdown.{package}" for packages in SECTIONS.values() for package in packages]


def names_of(package: str) -> list[Name]:
    """Return the names in a package's ``__all__`` that have no section of their own."""
    module = import_module(package)
    known = [f"{full}." for full in listed()]
    return [
        Name(package, n, getattr(module, n))
        for n in module.__all__
        if n != "__version__" and not any(full.startswith(f"{package}.{n}.") for full in known)
    ]


def identity(name: Name) -> str:
    """Return what two names of one thing have in common."""
    value = name.value
    if is_module(name):
        return value.__name__
    if inspect.isclass(value) or inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{defined_in(name.package, name.name)}.{name.name}"


def is_module(name: Name) -> bool:
    """Whether a name is that of a module."""
    return isinstance(name.value, ModuleType)


def page_of_name(name: Name) -> str:
    """Return the page of a class, a function or a constant."""
    value = name.value
    if inspect.isclass(value):
        body = class_directive(name, value)
    elif inspect.isroutine(value):
        body = f".. autofunction:: {name.full}\n"
    else:
        body = data_directive(name)
    return f"{heading(name.name, '=')}\n.. currentmodule:: {name.package}\n\n{body}"


def class_directive(name: Name, cls: type) -> str:
    """Return a directive that documents a class with its members, inherited ones too."""
    options = [] if is_dataclass(cls) or issubclass(cls, ctypes.Structure) else [":undoc-members:"]
    if not issubclass(cls, Enum):
        foreign = {b.__name__ for b in cls.__mro__ if not b.__module__.startswith("strapdown")}
        options += [f":inherited-members: {', '.join(sorted(foreign))}"]
        # Numbers are for users; other constants are for those who write a filter or detector.
        internal = [n for n in dir(cls) if n.isupper() and type(getattr(cls, n)) is not int]
        options += [f":exclude-members: {', '.join(internal)}"] if internal else []
    kind = "autoexception" if issubclass(cls, BaseException) else "autoclass"
    return "\n   ".join([f".. {kind}:: {name.full}", ":members:", *options]) + "\n"


def data_directive(name: Name) -> str:
    """Return a constant with the text that stands below it in the source.

    Autodoc looks for that text only where the constant is defined.
    """
    text = attribute_text(name).splitlines()
    if isinstance(name.value, Mapping):
        text += ["", f"Keys: {', '.join(f'``{key}``' for key in name.value)}."]
        options = []
    else:
        value = repr(name.value)
        options = [f":value: {value}"] if len(value) < 200 else []
    return "\n   ".join([f".. data:: {name.name}", *options, "", *text]) + "\n"


def attribute_text(name: Name) -> str:
    """Return the string that follows the definition of a constant."""
    home = import_module(defined_in(name.package, name.name))
    for statement, after in pairwise(ast.parse(inspect.getsource(home)).body):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id)) | ast.Assign(targets=[ast.Name(id)]),
                ast.Expr(ast.Constant(str(text))),
            ) if id == name.name:
                return inspect.cleandoc(text)
    return ""


def defined_in(package: str, name: str) -> str:
    """Return the module that defines a name, which others import from one another."""
    module = import_module(package)
    stub = Path(module.__file__).with_suffix(".pyi")
    tree = ast.parse(stub.read_text() if stub.exists() else inspect.getsource(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            home = f"{package}.{node.module}" if node.level else node.module
            return defined_in(home, name)
    return package


def summary(value: object, name: Name | None = None) -> str:
    """Return the first paragraph of a docstring, in one line and without links."""
    has_own = isinstance(value, ModuleType) or inspect.isclass(value) or inspect.isroutine(value)
    text = inspect.getdoc(value) if has_own else attribute_text(name)
    line = " ".join((text or "").partition("\n\n")[0].split())
    return re.sub(r":[\w:]+:`~?(?:[^`]*\.)?([^`]+)`", r"``\1``", line)


def heading(text: str, line: str) -> str:
    """Return a heading."""
    return f"{text}\n{line * len(text)}\n"


def table(rows: Iterable[tuple[str, str, str]], package: str = "strapdown") -> str:
    """Return a table of names with what they are."""
    lines = [f".. currentmodule:: {package}", "", ".. list-table::", "   :widths: auto", ""]
    for full, text, role in rows:
        title = full.removeprefix(f"{package}.")
        lines += [f"   * - :py:{role}:`{title} <{full}>`", f"     - {text}"]
    return "\n".join(lines) + "\n"


def toctree(entries: list[str], package: str = "strapdown", caption: str = "") -> str:
    """Return a hidden table of contents, with titles as seen from a package."""
    head = [".. toctree::", "   :hidden:", *([f"   :caption: {caption}"] if caption else []), ""]
    titles = [f"   {entry.removeprefix(f'{package}.')} <{entry}>" for entry in entries]
    return "\n".join(head + titles) + "\n"
