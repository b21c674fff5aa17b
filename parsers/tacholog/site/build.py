"""Build the site: the dataset, the sources of the pages, then Sphinx."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tacholog.compare.bands import known
from tacholog.compare.diff.compare import compare
from tacholog.compare.policy import Policy
from tacholog.compare.renames import find_renames, renamed
from tacholog.compare.result import SCHEMA, json_schema
from tacholog.compare.sides import of_release
from tacholog.dataset.complaints import saved_complaints
from tacholog.dataset.frames import Dataset
from tacholog.dataset.logs import Progress
from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import open_evidence
from tacholog.render.diff.text import github
from tacholog.render.tables.logs import raw_name
from tacholog.render.templates import myst_templates
from tacholog.resources import site_dir
from tacholog.runs.manifest import RUN_FILE, as_toml
from tacholog.site.downloads import write_downloads
from tacholog.site.output_folder import claim
from tacholog.site.pages import LOGS, plan
from tacholog.site.prepare import prepare
from tacholog.site.programs.write import write_for_programs
from tacholog.site.requirements import DOCUMENT as REQUIREMENTS
from tacholog.site.requirements import write_requirements_page
from tacholog.site.settings import Link, SiteSettings
from tacholog.site.sources import Sources, delete_orphans
from tacholog.site.stamp import is_built_of, remove_changes, remove_stamp, write_stamp
from tacholog.site.unchanged import state_of
from tacholog.view.history import latest
from tacholog.view.views import View, manifest_of, view_of
from tacholog.visible import drawn

_EXTRA = "_extra"
CHECKS = ("every page was built without a warning", "every reference leads somewhere")
LATEST_DIFF = "downloads/latest-diff.md"
SCHEMA_FILE = f"downloads/{SCHEMA.replace('/', '-')}.schema.json"


def build_site(roots: Sequence[Path], site: Path, work: Path, settings: SiteSettings | None = None, progress: Progress | None = None) -> Path:
    """Build the site and return its first page.

    Args:
        roots: folders of runs (each with ``run.toml`` files below it).
        site: the folder that the site is written to.
        work: the folder for sources, dataset and Sphinx's cache. It is kept, so that the next build has less to do.
        settings: the content of ``site.toml``.
        progress: called with the name of a log and the number of bytes that were read of it.

    Raises:
        TachologError: there is no run in the folders, ``site`` holds files that Tacholog did not make, or Sphinx reported a problem.
    """
    settings = settings or SiteSettings()
    claim(site, roots)
    state = state_of(roots, settings)
    if is_built_of(site, state):
        return site / "index.html"
    remove_changes(site)
    remove_stamp(site)
    data = prepare(roots, work, settings, progress)
    view = view_of(data)
    sources = Sources(work / "source")
    sources.copy_tree(site_dir())
    _write_settings(sources, settings)
    extra = write_requirements_page(sources, work / "dataset", myst_templates(), settings)
    documents = [*_write_pages(sources, view, settings, extra), *extra]
    _offer_raw(sources, view)
    write_downloads(sources, _EXTRA, data, settings.pages)
    _write_latest(sources, data, view)
    write_for_programs(sources, _EXTRA, data, view, settings)
    sources.write(f"{_EXTRA}/{SCHEMA_FILE}", json.dumps(json_schema(), indent=2))
    sources.tidy()
    _run_sphinx(sources.folder, site, work)
    delete_orphans(site, [*documents, *(path.stem for path in site_dir().glob("*.md"))])
    write_stamp(site, state, CHECKS, len(saved_complaints(work).unread))
    return site / "index.html"


def _write_settings(sources: Sources, settings: SiteSettings) -> None:
    """Write the settings that ``conf.py`` reads, and copy the logo."""
    logo = Path(settings.logo) if settings.logo else None
    logo_name = f"_static/logo{logo.suffix.lower()}" if logo else None
    if logo and logo_name:
        sources.copy(logo_name, logo)
    links = tuple(Link(drawn(link.title), drawn(link.url)) for link in settings.links)
    safe = msgspec.structs.replace(settings, name=drawn(settings.name), copyright=drawn(settings.copyright), links=links, logo=logo_name)
    sources.write("site.json", msgspec.json.encode(safe))


def _write_pages(sources: Sources, view: View, settings: SiteSettings, extra: Sequence[str]) -> list[str]:
    """Write the pages that the data give, and return their documents. ``extra`` are the other pages that are there, which some of them link to."""
    templates = myst_templates()
    pages = plan(view, settings.pages)
    for page in pages:
        sources.write(
            f"{page.document}.md", templates.get_template(page.template).render(page.context, site=settings, has_requirements=REQUIREMENTS in extra)
        )
    return [page.document for page in pages]


def _write_latest(sources: Sources, data: Dataset, view: View) -> None:
    """Write a summary of the newest comparison of two releases, which `tacholog publish` prints."""
    pair = latest(list(view.runs.values()))
    if pair is None:
        return
    system, *releases = pair
    dataset = sources.folder.parent / "dataset"
    named = renamed(data, find_renames([dataset]))
    old, new = (of_release(named, release, system) for release in releases)
    report = compare(old, new, Policy(), (releases[0], releases[1]), everything=False, measured=known((old, new), (dataset,)))
    sources.write(f"{_EXTRA}/{LATEST_DIFF}", github(report))


def _offer_raw(sources: Sources, view: View) -> None:
    """Copy raw logs and manifests to where they can be downloaded."""
    for log in view.logs:
        root = view.runs[log.run].root
        if root is not None:
            with suppress(UnreadableInput), open_evidence(Path(root), log.log) as stream:
                sources.copy_stream(f"{_EXTRA}/{raw_name(log.run, log.log)}", stream)
    for run in view.runs.values():
        if manifest := manifest_of(run):
            sources.write(f"{_EXTRA}/{raw_name(run.run, RUN_FILE)}", as_toml(manifest))


def _run_sphinx(source: Path, site: Path, work: Path) -> None:
    from sphinx.cmd.build import build_main

    # Sphinx counts pages as done even if it warned about them or had no time to write them. After a failed build its cache is deleted.
    trees, unfinished = work / "doctrees", work / "doctrees" / "unfinished"
    if unfinished.exists():
        shutil.rmtree(trees)
    trees.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    folders = ["-d", str(trees), str(source), str(site)]
    settings = {"tacholog_dataset": str((work / "dataset").resolve()), "tacholog_logs": LOGS, "tacholog_csp": "1"}
    overrides = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    if build_main(["-q", "-N", "-W", "--keep-going", "-b", "html", *overrides, *folders]):
        raise TachologError(f"Sphinx found problems in {source} (they are named above); the site is not complete")
    unfinished.unlink()
