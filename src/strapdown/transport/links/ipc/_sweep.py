"""Removal of files that iceoryx2 0.10 leaves when a process is killed while opening or closing.

Its own cleaning forgets the tag of a port, therefore the node of the process, and sometimes the
memory of the port. File names contain the numbers of ports, and these identify the process. A
service whose creation was not finished blocks its name for ever.
"""

from __future__ import annotations

import re
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import iceoryx2 as iox

__all__ = ["SHARED_MEMORY", "sweep", "unfinished"]

SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 (where iceoryx2 has it)
PATIENCE_S = 0.5  # another process may be cleaning
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


def unfinished(root: Path) -> set[tuple[Path, int]]:
    """Return the files of services that are just being created, and their inodes."""
    found = set()
    for path in (root / "services").glob("*.service"):
        with suppress(FileNotFoundError):
            status = path.stat()
            if status.st_mode & stat.S_IWUSR:  # it becomes read-only in the end
                found.add((path, status.st_ino))
    return found


def _remove_node(root: Path, number: int) -> None:
    """Remove what holds no memory any more, and would be cleaned for ever."""
    folder = root / "nodes" / str(number)
    monitor = folder.parent.glob(f"{root.name}_{number}.node_monitor*")
    for path in (*folder.glob("*"), *monitor):
        path.unlink(missing_ok=True)
    with suppress(OSError):  # another process is just doing the same
        folder.rmdir()


def _is_dead(node: Any) -> bool:  # noqa: ANN401 (iceoryx2 has no types)
    return isinstance(node, iox.NodeState.Dead)


def _number(node: Any) -> int:  # noqa: ANN401 (iceoryx2 has no types)
    number: int = getattr(node[0], "id", node[0]).value  # some states hold no more than that
    return number


def _process(number: int) -> int:
    """Return the process that gave out a unique number."""
    return (number >> 64) & 0xFFFFFFFF
