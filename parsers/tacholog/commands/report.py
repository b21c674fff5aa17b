"""Build the site: pages with tables, plots, scripts and raw logs.

DIR is a folder of runs; --data DIR means the same. If no folder is named, two folders are shown: data/, and the newest folder in build/runs/ that
contains runs. The site is written to build/site. All these paths are in the current folder, or, in a checkout of Tacholog, at its root.

The site needs no server: open index.html in any browser.

Exit code 2: a run, a log or a folder could not be read. The site is built without it, and names it. If no site can be built, for example because of a
wrong site.toml, the previous site is not changed, and a message tells you.
"""

from __future__ import annotations

import difflib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder, home, reading_options, work_of
from tacholog.commands.shared.defaults import defaults
from tacholog.commands.shared.messages import mention_order, print_complaints, tally_words
from tacholog.errors import UnreadableInput
from tacholog.folders import not_ours_alone
from tacholog.runs.labels import is_label, label_fields


@click.command(help=__doc__)
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="A folder of runs. Can be given several times.")
@click.option(
    "--site",
    "config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A site.toml with name, logo, systems and privacy.  [default: site.toml beside data/, if no folder is named]",
)
@reading_options
@click.option("--output", metavar="DIR", type=Folder(), help="The folder for the site.  [default: build/site]")
def report(
    *, folders: tuple[Path, ...], roots: tuple[Path, ...], config: Path | None, jobs: int | None, cluster: str | None, output: Path | None
) -> None:
    """Find the data, build the site, and print its location."""
    from tacholog.site.build import build_site
    from tacholog.site.bundle import plotly_bundle
    from tacholog.site.settings import read_settings
    from tacholog.site.stamp import STAMP, former_site_named, large_of
    from tacholog.store.complaints import saved_complaints
    from tacholog.store.frames import saved_runs

    if output is None and (named := defaults().output):
        output = Path(named)
    site = (output or home() / "build" / "site").resolve()
    # With --output, the working folder is next to the site, because two sites must not share one Sphinx cache.
    work_folder = site.parent if output is None else site.with_name(f".{site.name}-build")
    work = click.get_current_context().with_resource(_private_folder(work_folder))
    with former_site_named(site):
        data = _data(folders, roots)
        if config is None and (named := defaults().site):
            config = Path(named)
        elif config is None and not (folders or roots) and (home() / "site.toml").is_file():
            config = home() / "site.toml"
        settings = read_settings(config) if config else None
        reading = work_of(jobs, cluster)
        try:
            index = build_site(data, site, work, settings, reading.text_read, reading=reading)
        except KeyboardInterrupt:
            if site.is_dir() and not (site / STAMP).is_file():
                terminal.line(f"tacholog: {site} is not finished: run the same command again", err=True)
            raise
    exit_code = print_complaints([saved_complaints(work)])
    mention_order(saved_runs(work / "dataset"))
    if settings:
        _mention_missing_labels(settings.pages, work / "dataset", config)
    if note := plotly_bundle().note:
        terminal.remark(note, err=False)
    if reading.tally.cached + reading.tally.read:
        terminal.remark(tally_words(reading), err=False)
    for sentence in large_of(site):
        terminal.line(f"tacholog: {sentence}", err=True)
    click.echo(f"The site is in {site}")
    terminal.remark(f"Open it with: xdg-open {index}   (or any browser: {index.as_uri()})", err=False)
    sys.exit(exit_code)


@contextmanager
def _private_folder(work: Path) -> Iterator[Path]:
    reason = not_ours_alone(work)
    if reason is None:
        yield work
        return
    terminal.line(f"tacholog: {reason}, so nothing is kept for the next build, and no file in {work} is used", err=True)
    with tempfile.TemporaryDirectory(prefix="tacholog-") as alone:
        yield Path(alone)


def _data(folders: tuple[Path, ...], roots: tuple[Path, ...]) -> tuple[Path, ...]:
    named = (*folders, *roots)
    data = named or default_roots()
    for root in data:
        if root.is_file():
            raise UnreadableInput(
                f"{root} is a file, and a site is built from folders: name its folder, or make a run from a log with tacholog import. "
                f"tacholog parse {root} prints what is in it"
            )
        if not root.is_dir():
            raise UnreadableInput(f"{'--data ' if root in roots else ''}{root}: no such folder")
    if named:
        _refuse_bare_logs(named)
    return data


def _refuse_bare_logs(folders: Sequence[Path]) -> None:
    from tacholog.commands._import_listing import import_command
    from tacholog.runs.listing import run_folders

    if any(next(run_folders(folder), None) for folder in folders):
        return
    commands = [command for folder in folders if (command := import_command(folder))]
    if commands:
        names = ", ".join(map(str, folders))
        raise UnreadableInput(f"{names}: there are logs, but no run.toml. Make runs of them first, as in: {'; '.join(commands)}")


def _mention_missing_labels(fields: Sequence[str], dataset: Path, config: Path | None) -> None:
    asked = [field for field in fields if is_label(field)]
    if not asked:
        return
    from tacholog.store.frames import saved_runs

    labels = label_fields(saved_runs(dataset)["labels"].dropna())
    for field in (field for field in asked if field not in labels):
        near = difflib.get_close_matches(field, labels, 1)
        hint = f" (is {near[0]} meant?)" if near else f" (there are {', '.join(labels)})" if labels else ""
        terminal.line(f'tacholog: {config}: pages: no run has {field}{hint}, so its results are on pages with the title "not stated"', err=True)


def default_roots() -> tuple[Path, ...]:
    """Return the folders of runs that are used if the user names no folder.

    These are the folders of `defaults`. Without them, two folders are used: ``data/``, and the newest folder in ``build/runs/`` that contains runs
    (see `home`).

    The name of this newest folder is printed on standard error.

    Raises:
        UnreadableInput: none of these folders exists.
    """
    from tacholog.campaign.campaign_folder import campaign_folders

    if folders := defaults().folders():
        return folders
    root = home()
    newest = campaign_folders(root / "build" / "runs")[-1:]
    for path in newest:
        terminal.remark(f"own runs: {path}")
    roots = tuple(path for path in (root / "data", *newest) if path.is_dir())
    if not roots:
        raise UnreadableInput(f"there is no data in {root / 'data'} and no run in {root / 'build' / 'runs'}: name a folder with --data")
    return roots
