"""Process of a controller: ``python -u -P -m strapdown.webots.run.child SOCKET SCRIPT ARGS...``.

The runner starts it with one end of a pair of sockets and as the leader of a process group. It
runs the script as ``__main__``, in the script's folder, with a ``controller`` module whose
robot is on the other end.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from socket import socket
from types import ModuleType

from strapdown.webots.api import runtime
from strapdown.webots.run import controller_module
from strapdown.webots.run.process_port import MessageSocket, ProcessPort

__all__ = ["main"]

LAST_WORDS_S = 1.0
"""Time that a controller may continue after its runner has vanished [s]."""


def main() -> None:
    """Run the controller of the command line."""
    number, script, *arguments = sys.argv[1:]
    connection = MessageSocket(socket(fileno=int(number)))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # lines of several controllers stay whole
            stream.reconfigure(line_buffering=True, write_through=False)
    ours = connection.fileno()
    instance = os.environ["WEBOTS_INSTANCE_PATH"]  # before the controller can change it
    threading.Thread(target=_end_with_the_runner, args=(ours, instance), daemon=True).start()
    # registered first, so that it is called last
    atexit.register(lambda: _end_group(instance) if _is_closed(ours, 0) else None)
    runtime.owns_process = True
    controller_module.install(ProcessPort(connection))
    path = Path(script).absolute()
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path), *arguments]
    _run_as_main(path)


def _run_as_main(path: Path) -> None:
    """Execute a file as Python does, with nothing of this module in its traceback."""
    module = ModuleType("__main__")
    vars(module).update(__file__=str(path), __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    try:
        with io.open_code(str(path)) as file:
            code = compile(file.read(), str(path), "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 (this is what a runner is for)
    except Exception as error:  # noqa: BLE001 (reported as Python reports it)
        own = error.__traceback__
        error.__traceback__ = own and own.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _end_with_the_runner(socket: int, instance: str) -> None:
    """Wait until the other end is closed, then end this process after a short time.

    A step also ends a controller in that case, but not all controllers step.
    """
    if _is_closed(socket, None):
        time.sleep(LAST_WORDS_S)
        _end_group(instance)


def _is_closed(socket: int, timeout_ms: int | None) -> bool:
    poller = select.poll()
    poller.register(socket, 0)  # only hang-up events, which are always reported
    return any(event & select.POLLHUP for _, event in poller.poll(timeout_ms))


def _end_group(instance: str) -> None:
    """End this process and those that it started, and remove its folder in the runner's place."""
    with suppress(OSError):  # another controller was faster
        Path(instance).rmdir()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
