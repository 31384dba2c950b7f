"""Coverage-guided search for inputs that a reader does not withstand, with atheris.

Run with ``pip install atheris`` and::

    python tests/fuzz/campaign.py FORMAT FOLDER [--seconds 60]

``FORMAT`` is a sample of ``tests/faults/conftest.py``, such as ``bag`` or ``"mcap zstd"``, and
``FOLDER`` keeps the inputs that reach new code from run to run. An input fails when another
error than FormatError leaves a reader, or when it takes more than a second or 1 GiB; it is then
saved in the folder as ``crash-...``, ``timeout-...`` or ``oom-...``.

``--keep FOLDER --bytes 12000`` copies the smallest of them to a corpus that the tests replay
(``tests/faults/corpus``), as many as fit.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["strapdown.formats"], enable_loader_override=False):
    import strapdown.formats as files
    from strapdown.formats.arrays import npz, parquet, zip_members
    from strapdown.formats.bag import chunk_index, db3_pages, scan
    from strapdown.formats.bag import index as bag_index
    from strapdown.formats.bag import reader as bag
    from strapdown.formats.mcap import index, reader
    from strapdown.formats.text import csv_file, euroc, tum
    from strapdown.formats.ulog import block_summary
    from strapdown.formats.ulog import reader as ulog

from strapdown.errors import FormatError

INSTRUMENTED = (
    npz, parquet, zip_members, chunk_index, db3_pages, scan, bag_index, bag, index, reader,
    csv_file, euroc, tum, ulog, block_summary,
)  # fmt: skip
LONGEST_S = 1.0
SUMMARIES = {
    "mcap": index.summarize,
    "bag": bag_index.summarize,
    "db3": bag_index.summarize,
    "npz": npz.summarize,
    "parquet": parquet.summarize,
    "csv": csv_file.summarize,
    "tum": tum.summarize,
    "euroc": euroc.summarize,
    "ulog": block_summary.summarize,
}
"""Of files above 16 MiB, which inputs are not."""


def samples():
    """Return the writers of samples by format."""
    path = Path(__file__).parents[1] / "faults" / "conftest.py"
    spec = importlib.util.spec_from_file_location("samples", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["samples"] = module
    spec.loader.exec_module(module)
    return module.WRITERS


def read_all_ways(path: Path, form: str) -> None:
    """Read a file in both ways, and summarise it; only FormatError is expected."""
    start = time.process_time()
    for read in (
        lambda: files.open(path),
        lambda: files.open(path, on_error="salvage"),
        lambda: SUMMARIES.get(form.partition(" ")[0], files.summarize)(path),
    ):
        with suppress(FormatError):
            read()
    if time.process_time() - start > 3 * LONGEST_S:
        raise TimeoutError(f"{path} took longer than {LONGEST_S} s each")


def keep(folder: Path, corpus: Path, form: str, most: int) -> None:
    """Copy the smallest inputs to a corpus, as many as fit."""
    corpus.mkdir(exist_ok=True)
    for path in sorted(folder.iterdir(), key=lambda each: (each.stat().st_size, each.name)):
        data = path.read_bytes()
        most -= len(data)
        if most < 0:
            return
        name = f"{form.replace(' ', '_')}_{zlib.crc32(data):08x}"
        (corpus / name).write_bytes(data)


def main() -> None:
    """Run a campaign, or keep its inputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("form", choices=samples())
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--bytes", type=int, default=12_000)
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    if options.keep is not None:
        keep(options.folder, options.keep, options.form, options.bytes)
        return
    temporary = Path(tempfile.mkdtemp())
    seed = temporary / "seed"
    samples()[options.form](seed)
    (options.folder / "seed").write_bytes(seed.read_bytes())
    path = temporary / "input"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        read_all_ways(path, options.form)

    flags = [f"-max_total_time={options.seconds}", "-rss_limit_mb=1024", "-timeout=10"]
    flags += [f"-max_len={2 * seed.stat().st_size}", f"-artifact_prefix={options.folder}/"]
    atheris.Setup([sys.argv[0], *flags, str(options.folder)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
