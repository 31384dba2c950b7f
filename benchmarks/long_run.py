"""Whether memory stays bounded: a hundred million samples, block by block.

Run with ``python benchmarks/long_run.py [SAMPLES]``. A tactical IMU at 1 kHz lies on a turntable
at rest; blocks are taken and dropped, and the largest memory of the process so far is printed
at each power of ten. Only the number of a sample counts its way, so a thousand million are ten
times the time and the same memory.
"""

from __future__ import annotations

import resource
import sys
import time

from strapdown.motion import MOTIONS, Mounted
from strapdown.sensors import ImuSimulator, load_profile

FIRST = 10_000


def main(samples: int) -> None:
    """Print samples, time and memory as the run goes on."""
    spec = load_profile("stim300").spec(rate_hz=1000)
    imu = ImuSimulator(spec, Mounted(MOTIONS["static"]), seed=1)
    print(f"{'samples':>12} {'seconds':>9} {'M samples/s':>12} {'largest memory [MiB]':>21}")
    done, next_line, start = 0, FIRST, time.perf_counter()
    for block in imu.blocks(samples):
        done += len(block)
        if done >= min(next_line, samples):
            seconds = time.perf_counter() - start
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{done:12,d} {seconds:9.1f} {done / seconds / 1e6:12.2f} {memory:21.0f}")
            next_line *= 10


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000)
