"""Removal of files that iceoryx2 0.10 leaves when a process is killed while opening or closing.

Its own cleaning forgets the tag of a port, therefore the node of the process, and sometimes the
memory of the port. File names contain the numbers of ports, and these identify the process. What
is half created or removed blocks the name of a service, or who cleans after a port, for ever. The
caller is the only process that creates or removes services.
"""

from __future__ import annotations

import os
import re
import stat
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import iceoryx2 as iox

__all__ = [
    "numbering",
    "remove_unfinished",
    "remove_unused_services",
    "renew",
    "sweep",
    "unfinished",
]

SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 (where iceoryx2 has it)
PATIENCE_S = 0.5  # a process may have died since the cleaning
_DEAD_SINCE: Final[dict[int, float]] = {}
_PORT: Final = re.compile(r"_(\d{20,})(?=[_.])(?!.*\.(?:dynamic|node_))")


def sweep(root: Path, config: Any) -> None:  # noqa: ANN401 (iceoryx2 has no types)
    """Remove the files of ports whose processes are dead, and then the nodes of these."""
    files = [path for place in (SHARED_MEMORY, root) for path in place.glob(f"{root.name}_*")]
    nodes = iox.Node.list(iox.ServiceType.Ipc, config)  # looked up later, so none is missing
    alive = {_process(_number(node)) for node in nodes if not _is_dead(node)}
    for path in files:
        ports = _PORT.findall(path.name)
        if ports and alive.isdisjoint(_process(int(port)) for port in ports):
            path.unlink(missing_ok=True)
    now = time.monotonic()
    dead = {_number(node) for node in nodes if _is_dead(node)}
    for number in _DEAD_SINCE.keys() - dead:
        del _DEAD_SINCE[number]
    for number in dead:
        if now - _DEAD_SINCE.setdefault(number, now) > PATIENCE_S:
            _remove_node(root, number)


def renew(root: Path) -> None:
    """Renew the times of all files, so that what removes old ones from /tmp leaves them."""
    for path in (root, *root.rglob("*")):
        with suppress(FileNotFoundError):
            os.utime(path)


def unfinished(root: Path) -> list[Path]:
    """Return the files that are not yet readable, as they are once they are complete."""
    found = []
    for path in (*_descriptions(root), *SHARED_MEMORY.glob(f"{root.name}_*")):
        with suppress(FileNotFoundError):
            if not path.stat().st_mode & stat.S_IRUSR:
                found.append(path)
    return found


def remove_unfinished(root: Path, config: Any) -> None:  # noqa: ANN401 (as sweep)
    """Remove the files whose creation was not finished, and the services that they belong to.

    What belongs to ports of living processes stays: these open ports, and connect them, without the
    lock.
    """
    remove_unused_services(root, config)
    alive = {_process(_number(node)) for node in _living(config)}
    for path in unfinished(root):
        owners = {_process(int(port)) for port in _PORT.findall(path.name)}
        if not owners or owners - alive:
            path.unlink(missing_ok=True)


def numbering(root: Path) -> list[Path]:
    """Return the shared memory that numbers processes, one file."""
    return list(SHARED_MEMORY.glob(f"{root.name}_*.global_mgmt"))


def remove_unused_services(root: Path, config: Any) -> None:  # noqa: ANN401 (as sweep)
    """Remove the services of which no living process has a tag."""
    folders = [root / "nodes" / str(_number(node)) for node in _living(config)]
    used = {tag.stem for folder in folders for tag in folder.glob("*.service_tag")}
    kept = set()
    for path in _descriptions(root):
        if path.stem in used:
            numbers = tomllib.loads(path.read_text())["unique_service_id"]
            kept.add(numbers["unique_value"] << 64 | numbers["payload_value"])
        else:
            path.unlink(missing_ok=True)
    for path in _memory(root):
        if int(path.stem.rpartition("_")[2]) not in kept:
            path.unlink(missing_ok=True)


def _descriptions(root: Path) -> list[Path]:
    return list((root / "services").glob("*.service"))


def _memory(root: Path) -> list[Path]:
    """Return the shared memory of services, in which their users are counted."""
    return list(SHARED_MEMORY.glob(f"{root.name}_*.dynamic"))


def _remove_node(root: Path, number: int) -> None:
    """Remove what holds no memory any more, and would be cleaned for ever."""
    folder = root / "nodes" / str(number)
    monitor = folder.parent.glob(f"{root.name}_{number}.node_monitor*")
    for path in (*folder.glob("*"), *monitor):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # the process is just ending
        folder.rmdir()


def _living(config: Any) -> list[Any]:  # noqa: ANN401 (as sweep)
    return [node for node in iox.Node.list(iox.ServiceType.Ipc, config) if not _is_dead(node)]


def _is_dead(node: Any) -> bool:  # noqa: ANN401 (iceoryx2 has no types)
    return isinstance(node, iox.NodeState.Dead)


def _number(node: Any) -> int:  # noqa: ANN401 (iceoryx2 has no types)
    number: int = getattr(node[0], "id", node[0]).value  # some states hold no more than that
    return number


def _process(number: int) -> int:
    """Return the process that gave out a unique number."""
    return (number >> 64) & 0xFFFFFFFF
