"""Folder in which controllers find a simulator on this machine, as in Webots R2025a.

Every simulator has a folder ``<tmp>/webots/<user>/<id>/``. A file ``loading`` in it makes
controllers wait, and every robot that they can connect to has sockets ``ipc/<robot>/extern`` and
``intern``.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Final

from strapdown.bridges.webots.names import encoded_name
from strapdown.errors import TransportError

__all__ = ["Instance", "instances_folder"]

DOORS: Final = ("extern", "intern")
"""Sockets for controllers that a user starts, and for those that a simulator starts."""
SETTLED_S: Final = 60.0
"""Age from which a folder without answering sockets is removed [s]."""
_SOCKETS: Final = "ipc/*/*tern"
_BACKLOG: Final = 16


def instances_folder() -> Path:
    """Return the folder that contains the folders of a user's simulators.

    The temporary folder is the fixed one; TMPDIR does not count. A snap of Webots has its own.
    """
    user = os.environ.get("USER") or os.environ.get("USERNAME") or "default"
    temporary = Path("/tmp")  # noqa: S108 (where the controller library looks)
    snap = "/snap/webots" in os.environ.get("WEBOTS_HOME", "")
    if snap and sys.platform == "linux" and os.environ.get("HOME"):
        temporary = Path(os.environ["HOME"], "snap/webots/common/tmp")
    return temporary / "webots" / user


class Instance:
    """The folder of one simulator; it is there from the start, and gone after :meth:`close`.

    Parameters
    ----------
    number : int
        The simulator's number among those of this user.

    Attributes
    ----------
    path : Path
        The folder.

    Raises
    ------
    TransportError
        Another simulator that still answers has this number.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.path = instances_folder() / str(number)
        if self.path.exists():
            if _is_alive(self.path):
                raise TransportError(
                    f"{self.path}: expected a free number, got one that another simulator uses; "
                    "stop it, or take another port"
                )
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        _remove_dead(self.path.parent)
        self._sockets: list[socket.socket] = []

    def set_loading(self, *, loading: bool) -> None:
        """Mark the simulator as loading, so that controllers wait, or as ready."""
        if loading:
            (self.path / "loading").touch()
        else:
            (self.path / "loading").unlink(missing_ok=True)

    def listen(self, robot: str) -> list[socket.socket]:
        """Return listening sockets for a robot.

        Raises
        ------
        TransportError
            The path is longer than the system allows, or two robots come to the same name.
        """
        folder = self.path / "ipc"
        folder /= encoded_name(robot, len(f"{folder}//extern"))
        try:
            folder.mkdir(parents=True)
            return [self._listen(folder / door) for door in DOORS]
        except OSError as error:
            raise TransportError(
                f"expected to open sockets for robot {robot!r} in {folder}: {error}; "
                "give it another name"
            ) from error

    def close(self) -> None:
        """Close the sockets and remove the folder."""
        for each in self._sockets:
            each.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def _listen(self, path: Path) -> socket.socket:
        """Return a listening socket at a path."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sockets.append(listener)
        listener.bind(str(path))
        listener.listen(_BACKLOG)
        return listener


def _remove_dead(folder: Path) -> None:
    """Remove what simulators that were killed have left."""
    for each in folder.iterdir():
        with suppress(OSError):  # another one may be doing the same
            is_old = each.stat().st_mtime < time() - SETTLED_S
            if is_old and any(each.glob(_SOCKETS)) and not _is_alive(each):
                shutil.rmtree(each)


def _is_alive(folder: Path) -> bool:
    """Return whether somebody answers at a socket of this instance."""
    for path in folder.glob(_SOCKETS):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(str(path))
            return True
    return False
