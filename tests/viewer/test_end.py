"""The viewer ends at once, whatever its threads do."""

from __future__ import annotations

import subprocess
import sys

WORK = """
import asyncio, time
from strapdown.viewer.column import in_daemon
async def main():
    task = asyncio.create_task(in_daemon(lambda: time.sleep(120.0)))
    await in_daemon(lambda: print("worked"))
asyncio.run(main())
"""


def test_a_search_for_events_does_not_delay_the_end_of_the_process():
    done = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, timeout=60.0, check=True
    )
    assert done.stdout == "worked\n"
