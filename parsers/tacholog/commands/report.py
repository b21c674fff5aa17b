"""Build the site: pages with tables, plots, scripts and raw logs.

Without --data, the runs in the checkout's data/ and the newest folder in build/runs/ are shown. The site needs no server: index.html opens in any
browser.
"""

from __future__ import annotations

from pathlib import Path

import click

from tacholog.errors import UnreadableInput
from tacholog.resources import checkout


@click.command(help=__doc__)
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs; may be given several times.")
@click.option("--site", "config", metavar="FILE", type=click.Path(path_type=Path), help="A site.toml: name, logo, systems, privacy.  [default: none]")
@click.option("--output", metavar="DIR", type=click.Path(path_type=Path), help="Where the site goes.  [default: build/site]")
def report(roots: tuple[Path, ...], config: Path | None, output: Path | None) -> None:
    """Find the data, build, say where the site is."""
    from tacholog.report.build import build_site
    from tacholog.report.bundle import plotly_bundle
    from tacholog.report.settings import read_settings

    given = roots or default_roots()
    for root in given:
        if not root.is_dir():
            raise UnreadableInput(f"--data {root}: no such folder")
    site = (output or (checkout() or Path.cwd()) / "build" / "site").resolve()
    # A site of somebody's own choice gets a working folder of its own beside it: two sites must not share one Sphinx cache.
    work = site.parent if output is None else site.with_name(f".{site.name}-build")
    index = build_site(given, site, work, read_settings(config) if config else None)
    if note := plotly_bundle().note:
        click.echo(note)
    click.echo(f"The site is in {site}")
    click.echo(f"Open it with: xdg-open {index}   (or any browser: {index.as_uri()})")


def default_roots() -> tuple[Path, ...]:
    """Return the checkout's ``data/`` and the newest of ``build/runs/``.

    Raises:
        UnreadableInput: there is no checkout, or nothing in it.
    """
    root = checkout() or Path.cwd()
    runs = sorted((path for path in (root / "build" / "runs").glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime)
    found = tuple(path for path in (root / "data", *runs[-1:]) if path.is_dir())
    if not found:
        raise UnreadableInput(f"no data in {root / 'data'} and no runs in {root / 'build' / 'runs'}: name a folder with --data")
    return found
