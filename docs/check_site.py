"""Check the built site: ``python docs/check_site.py site``.

Every internal link and anchor leads somewhere, no page asks for anything from elsewhere, and in a
browser the pages and the search work. Without Chromium the last part is left out, unless
``STRAPDOWN_REQUIRE_PEERS`` is set.
"""  # noqa: INP001 (a script beside the pages, not a package)

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SEEN = {
    "index.html": (r"<title>[^<]*strapdown", r"<h1[^>]*>\s*strapdown"),
    "search.html?q=ErrorStateFilter": (
        r"<title>Search",
        r'<ul[^>]* class="search">.*?strapdown\.estimation\.ErrorStateFilter\.html',
    ),
}
"""Pages as a browser has to show them, and what has to be in them."""
BROWSER = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--enable-logging=stderr",
    "--virtual-time-budget=30000",
    "--dump-dom",
)
CONSOLE = re.compile(r':CONSOLE.*?\] ("(?!\[PST\]).*)')
"""What a page says on the console, but for the theme's own remarks."""
IMPORTED = re.compile(r"""(?:url\(|@import\s)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and by what names it is referred to."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")
            elif name in {"src", "href", "srcset", "data", "poster"}:
                self.loads.append(value or "")


def faults_of_pages(site: Path) -> Iterator[str]:
    """Yield the links that lead nowhere, and what is loaded from elsewhere."""
    pages = {
        path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts
    }
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for url in page.links + page.loads:
            if fault := fault_of_link(url, path, pages):
                yield f"{where}: {url}: {fault}"
        yield from (f"{where} loads {url}" for url in page.loads if urlsplit(url).netloc)
    for path in site.rglob("*.css"):
        for url in IMPORTED.findall(path.read_text()):
            yield f"{path.relative_to(site)} loads {url}"


def fault_of_link(url: str, path: Path, pages: Mapping[Path, Page]) -> str:
    """Return what is wrong with a link of a page, if anything."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    known = target not in pages or unquote(parts.fragment) in pages[target].anchors
    return "" if known else "no such anchor"


def faults_in_browser(site: Path, browser: str) -> Iterator[str]:
    """Yield what a browser does not find on pages where it should be, and what it complains of."""
    handler = partial(QuietHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page, patterns in SEEN.items():
            address = f"http://127.0.0.1:{server.server_port}/{page}"
            shown = subprocess.run(  # noqa: S603 (a browser, on a page of our own)
                [browser, *BROWSER, f"--user-data-dir={profile}", address],
                capture_output=True,
                text=True,
                check=True,
                timeout=120.0,
            )
            for pattern in patterns:
                if not re.search(pattern, shown.stdout, re.DOTALL):
                    yield f"{page}: the browser shows nothing like {pattern}"
            yield from (f"{page}: {line}" for line in CONSOLE.findall(shown.stderr))
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """A handler that logs no requests."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main(site: Path) -> int:
    """Print every fault; return the exit code."""
    faults = list(faults_of_pages(site))
    if browser := shutil.which("chromium"):
        faults += faults_in_browser(site, browser)
    elif os.environ.get("STRAPDOWN_REQUIRE_PEERS"):
        faults.append("no chromium: apt-get install chromium")
    print("\n".join(faults) or f"{site}: nothing wrong")  # noqa: T201 (a script)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
