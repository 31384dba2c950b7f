"""The report of a study: one HTML file with tables and pictures."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from strapdown._html import html_table
from strapdown._version import __version__
from strapdown.fleet.figures import Layout, plot_metric, shown, values_of
from strapdown.fleet.manifest import Manifest
from strapdown.fleet.page import page
from strapdown.fleet.results import read_summary
from strapdown.formats._output import check_ending, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    Row = Mapping[str, Any]

__all__ = ["write_report"]

_PICTURES: Final = (
    ("inclination_deg", "inclination error, RMS [deg]", None),
    ("heading_deg", "heading error, RMS [deg]", None),
    ("nees", "NEES per degree of freedom [-]", 1.0),
)
_NOTE: Final = (
    "Each point is the mean over all seeds, each bar reaches from the smallest to the largest. "
    "Heading without a magnetometer is relative to the first second that counts. A NEES of 1 "
    "means that errors are as large as the covariance states; more is overconfident."
)


def write_report(folder: Path | str, output: Path | str, *, force: bool = False) -> list[str]:
    """Write the report of a study as an HTML file that needs no other.

    Parameters
    ----------
    folder : path-like
        Results of :func:`run_study`.
    output : path-like
        Ends in .html.
    force : bool
        Whether an existing file is replaced.

    Returns
    -------
    list of str
        The best filter of each case, one line each.

    Raises
    ------
    FormatError
        The folder has no results of a study.
    UnsupportedError
        Another ending.
    FileExistsError
        The file exists and ``force`` is not set.
    BackendMissingError
        pyarrow is not installed.
    """
    folder, output = Path(folder), Path(output)
    check_ending(output, (".html",))
    about, rows = read_summary(folder)
    with replacing(output, force=force) as partial:
        lines = page(about["title"], _parts(folder, about, rows))
        partial.write_text("\n".join(lines), "utf-8")
    return _best(rows)


def _parts(folder: Path, about: Mapping[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    """Yield the parts of the page."""
    yield f"<p>{escape(about['text'])}</p>"
    total, failed = (sum(row[name] for row in rows) for name in ("runs", "failed"))
    yield f"<p>{total} runs, {failed} of them failed; strapdown {__version__}.</p>"
    yield "".join(f"<p>{escape(note)}</p>" for note in about["notes"])
    layout = Layout.of(rows)
    for name, members in layout.groups(rows).items():
        yield _table(name, layout, members)
    yield f"<p>{_NOTE}</p>"
    for metric, label, expected in _PICTURES:
        if any(row[f"{metric}_mean"] is not None for row in rows):
            figure = plot_metric(rows, metric, label, title=about["title"], expected=expected)
            yield _image(figure, label)
    if failed:
        units = [(str(unit.item), unit.error) for unit in Manifest.read(folder).failed]
        yield html_table("Failed units", ("item", "error"), units)


def _table(name: str, layout: Layout, rows: Sequence[Row]) -> str:
    """Return the mean inclination errors of a panel; the least of each row has a star."""
    filters = values_of(rows, layout.line)
    lines = []
    for value in values_of(rows, layout.x):
        means = {
            row[layout.line]: row["inclination_deg_mean"] for row in rows if row[layout.x] == value
        }
        known = [mean for mean in means.values() if mean is not None]
        cells = [_cell(means.get(each), min(known, default=None)) for each in filters]
        lines.append([shown(value, layout.x), *cells])
    what = "Mean RMS inclination error [deg]; * is the least"
    return html_table(f"{name}: {what}" if name else what, [layout.x, *filters], lines)


def _cell(mean: float | None, least: float | None) -> str:
    return "-" if mean is None else f"{mean:.3f}{' *' if mean == least else ''}"


def _best(rows: Sequence[Row]) -> list[str]:
    """Return a line for each case: the filter with the least mean inclination error."""
    layout, lines = Layout.of(rows), []
    for name, members in layout.groups(rows).items():
        for value in values_of(members, layout.x):
            known = [
                row
                for row in members
                if row[layout.x] == value and row["inclination_deg_mean"] is not None
            ]
            if known:
                best = min(known, key=lambda row: float(row["inclination_deg_mean"]))
                case = ", ".join(filter(None, [name, f"{layout.x} {shown(value, layout.x)}"]))
                figure = f"{best['inclination_deg_mean']:.3f} deg"
                lines.append(f"{case}: {best[layout.line]}, {figure}")
    return lines


def _image(figure: Figure, text: str) -> str:
    """Return a figure as an image within the page, the same bytes for the same figure."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    content = b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(text)}" src="data:image/png;base64,{content}">'
