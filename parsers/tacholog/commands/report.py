"""Build the site: pages with tables, plots, scripts and raw logs.

Without --data, the runs in the checkout's data/ and in the newest folder of build/runs/ that holds any are shown. The site needs no server:
index.html opens in any browser. Exit code 2: a run, a log or a folder could not be read (the site is built of all others, and names it).
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tacholog.campaign import folders
from tacholog.commands._complaints import tell
from tacholog.commands._paths import Folder
from tacholog.errors import UnreadableInput
from tacholog.extras import require
from tacholog.resources import checkout

_STEP = 16_000_000


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs; may be given several times.")
@click.option("--site", "config", metavar="FILE", type=click.Path(path_type=Path), help="A site.toml: name, logo, systems, privacy.  [default: none]")
@click.option("--output", metavar="DIR", type=Folder(), help="Where the site goes.  [default: build/site]")
def report(roots: tuple[Path, ...], config: Path | None, output: Path | None) -> None:
    """Find the data, build the site, and print where it is."""
    require("site", "tacholog report")
    from tacholog.dataset.complaints import saved_complaints
    from tacholog.site.build import build_site
    from tacholog.site.bundle import plotly_bundle
    from tacholog.site.settings import read_settings

    given = roots or default_roots()
    for root in given:
        if not root.is_dir():
            raise UnreadableInput(f"--data {root}: no such folder")
    site = (output or (checkout() or Path.cwd()) / "build" / "site").resolve()
    # A site of somebody's own choice gets a working folder of its own beside it: two sites must not share one Sphinx cache.
    work = site.parent if output is None else site.with_name(f".{site.name}-build")
    index = build_site(given, site, work, read_settings(config) if config else None, Progress())
    lost = tell([saved_complaints(work)])
    if note := plotly_bundle().note:
        click.echo(note)
    click.echo(f"The site is in {site}")
    click.echo(f"Open it with: xdg-open {index}   (or any browser: {index.as_uri()})")
    sys.exit(lost)


class Progress:
    """Reports on standard error how far a large log has been read: one line for every 16 MB of text."""

    def __init__(self) -> None:
        """Start with no bytes read."""
        self._read = 0

    def __call__(self, log: str, count: int) -> None:
        """Count more bytes of the text of a log."""
        before = self._read // _STEP
        self._read += count
        if self._read // _STEP > before:
            click.echo(f"reading {log!r}: {self._read // 1_000_000} MB of text so far", err=True)


def default_roots() -> tuple[Path, ...]:
    """Return the ``data/`` of the checkout and the newest folder of ``build/runs/`` with a run, and print the latter.

    Raises:
        UnreadableInput: there is neither.
    """
    root = checkout() or Path.cwd()
    newest = folders(root / "build" / "runs")[-1:]
    for path in newest:
        click.echo(f"own runs: {path}", err=True)
    found = tuple(path for path in (root / "data", *newest) if path.is_dir())
    if not found:
        raise UnreadableInput(f"no data in {root / 'data'} and no runs in {root / 'build' / 'runs'}: name a folder with --data")
    return found
