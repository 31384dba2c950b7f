"""Module ``controller`` for controllers: it exists only while a runner provides it.

No package of this name is installed, since an unrelated distribution has the same name.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from strapdown.errors import ValueRangeError
from strapdown.webots import api
from strapdown.webots.api import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from strapdown.webots.file.world_file import WorldFile
    from strapdown.webots.port import Port
    from strapdown.webots.world.world import World

__all__ = ["controller_module", "install"]

MODULE = "controller"
REFUSAL = (
    "expected options of the world in World(), got them in controller_module(); "
    "pass a path or the options there"
)


def install(port: Port) -> ModuleType:
    """Provide ``controller`` to this process, with one robot that a port connects to.

    Parameters
    ----------
    port : Port
        Port of the robot that ``Robot()`` returns.

    Returns
    -------
    ModuleType
        The module.
    """
    runtime.port, runtime.single_instance = port, True
    modules = _modules()
    sys.modules.update(modules)
    return modules[MODULE]


@contextmanager
def controller_module(
    world: str | PathLike[str] | WorldFile | World | None = None,
    *,
    port: Port | None = None,
    robot: str | None = None,
    profile: str = "R2025a",
    **options: Any,  # noqa: ANN401 (those of the world)
) -> Iterator[ModuleType]:
    """Provide ``controller`` to this process temporarily, for example to test a controller.

    Parameters
    ----------
    world : path, text, WorldFile or World
        World of the robot; a World keeps its profile and options.
    port : Port, optional
        The robot's port, instead of a world.
    robot : str, optional
        Name of the robot; needed if the world has several.
    profile : str
        Behaviour of devices; one of :data:`~strapdown.webots.PROFILES`.
    **options
        Other options of :class:`~strapdown.webots.World`, such as ``duration_s`` and ``motion``.

    Yields
    ------
    ModuleType
        The module. On exit, ``sys.modules`` has its previous entries under these names.

    Raises
    ------
    ValueRangeError
        Neither or both of ``world`` and ``port`` were given.
    TypeError
        Options were given with a World or a port.
    """
    if (world is None) == (port is None):
        raise ValueRangeError("expected either a world or a port, got neither or both")
    if port is None:
        port = _world(world, profile, options).port(robot)
    elif options:
        raise TypeError(REFUSAL)
    state = runtime.port, runtime.single_instance
    created = vars(api.Robot)["created"]
    api.Robot.created = None  # earlier robots do not count
    shadowed = _installed()
    for name in shadowed:
        del sys.modules[name]
    try:
        yield install(port)
    finally:
        for name in _installed():
            del sys.modules[name]
        sys.modules.update(shadowed)
        runtime.port, runtime.single_instance = state
        api.Robot.created = created


def _world(world: Any, profile: str, options: dict[str, Any]) -> World:  # noqa: ANN401 (checked there)
    from strapdown.webots.world.world import World  # noqa: PLC0415 (a controller's process has none)

    if not isinstance(world, World):
        return World(world, profile=profile, **options)
    if options:
        raise TypeError(REFUSAL)
    return world


def _installed() -> dict[str, ModuleType]:
    """Return the loaded modules with the names of the module and its submodules."""
    return {
        name: module
        for name, module in sys.modules.items()
        if name == MODULE or name.startswith(f"{MODULE}.")
    }


def _modules() -> dict[str, ModuleType]:
    """Create the module and the submodules of its classes and of their bases."""
    package = ModuleType(MODULE, "Controllers that strapdown runs find their robot here.")
    package.__path__ = []  # a package, for ``import controller.robot``
    vars(package)["__all__"] = list(api.__all__)
    modules = {MODULE: package}
    classes = {*api.__all__, "Device", "Sensor"}
    for short, module in vars(api).items():
        public = isinstance(module, ModuleType) and not short.startswith("_")
        if public and not classes.isdisjoint(getattr(module, "__all__", ())):
            modules[f"{MODULE}.{short}"] = module
            setattr(package, short, module)
    for name in api.__all__:
        setattr(package, name, getattr(api, name))
    return modules
