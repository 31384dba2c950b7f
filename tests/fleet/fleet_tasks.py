"""Tasks of the tests, where other processes can import them."""

import os
import signal
import time
from pathlib import Path


def square(number):
    return {"number": number, "square": number * number / 3.0}


def slow_first(number):
    time.sleep(0.3 * (number == 0))
    return square(number)


def reciprocal(number):
    return {"number": number, "reciprocal": 1.0 / number}


def killed_once(folder, number):
    """End the process of a number by SIGKILL the first time."""
    marker = Path(folder) / f"{number}"
    if number in {2, 5} and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def killed_alone(folder, number):
    """End the process of 0 once 1 has begun, and then that of 1, the next time, once too."""
    begun, marker = Path(folder) / "begun", Path(folder) / f"{number}"
    while number == 0 and not begun.exists():
        time.sleep(0.01)
    if number == 1 and not (Path(folder) / "0").exists():
        begun.touch()
        time.sleep(5.0)  # the most a pool waits that notices the loss of 0 at its next event only
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def killed_always(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def counted(folder, number):
    """Leave a file for every call."""
    (Path(folder) / f"{number}-{time.monotonic_ns()}-{os.getpid()}").touch()
    return square(number)


def waits(folder, number):
    """Announce the process, and wait where the folder has no file ``go``."""
    (Path(folder) / f"pid-{os.getpid()}").touch()
    while number >= 4 and not (Path(folder) / "go").exists():
        time.sleep(0.02)
    return square(number)


def length(path):
    return {"bytes": path.stat().st_size}


def entries(path):
    return {"entries": len(list(path.iterdir()))}


def located(folder, number):
    """Leave a file that names the network namespace of this process, in 0.1 s."""
    time.sleep(0.1)
    place = Path("/proc/self/ns/net").readlink().name.strip("net:[]")
    (Path(folder) / f"{place}-{number}-{os.getpid()}").touch()
    return square(number)
