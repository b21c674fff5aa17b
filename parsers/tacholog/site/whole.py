"""Build a whole site: the dataset, the sources of the pages, then Sphinx. What of it did not change since the last build is not made again."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from jinja2 import Environment

from tacholog.compare.policy import Policy
from tacholog.compare.result import SCHEMA, json_schema
from tacholog.errors import TachologError
from tacholog.garbage import give_back
from tacholog.interruption import interrupt_again
from tacholog.render.diff.text import github_of_systems
from tacholog.render.templates import myst_templates, take_compiled
from tacholog.resources import site_dir, templates_dir
from tacholog.site.compiled_templates import CompiledTemplates
from tacholog.site.downloads import write_downloads
from tacholog.site.output.diffs import comparison
from tacholog.site.output.kept_series import SeriesMemory
from tacholog.site.output.log_pages import LogPage, PageMaker, log_pages, write_log_pages
from tacholog.site.output.page_frame import PageFrame
from tacholog.site.output.parts import forget_damaged, note_parts, part_names, write_parts
from tacholog.site.output.raw_logs import write_raw
from tacholog.site.output.styles import renew_addresses
from tacholog.site.pages import FRAME, PART_FRAME, KeptPages, SitePage, parents_of_runs, plan
from tacholog.site.prepare import prepared
from tacholog.site.programs.citation import description
from tacholog.site.programs.feed import Feed, feeds_of_site, newest_change, write_feeds
from tacholog.site.programs.write import write_for_programs
from tacholog.site.requirements import DOCUMENT as REQUIREMENTS
from tacholog.site.requirements import write_requirements_page
from tacholog.site.settings import Link, SiteSettings
from tacholog.site.shown import keep, state_of
from tacholog.site.sources import Sources, delete_orphans, forget_trees
from tacholog.site.stamp import begin_changes, write_stamp
from tacholog.site.unchanged import Inputs
from tacholog.store.complaints import saved_complaints
from tacholog.store.frames import Dataset, without_distributions
from tacholog.store.logs import Progress
from tacholog.store.pool import Work
from tacholog.view.history import latest
from tacholog.view.own_names import DATA, DOWNLOADS, LOGS, RAW, STATIC
from tacholog.view.run_digests import digest, run_digests
from tacholog.view.views import View, view_of
from tacholog.visible import drawn

_OTHER_PAGES, _KEPT_PAGES, _KEPT_SERIES, _PARTS, _KNOWN_PARTS = "other-pages.json", "pages.json", "series.json", "parts", "parts.json"
_COMPILED = "compiled-templates"
_SEARCH_INDEX = "searchindex.js"
_TOCTREE = re.compile(r"^```\{toctree\}$.*?^```$", re.DOTALL | re.MULTILINE)
_WRITTEN_HERE = (LOGS, RAW, DATA, DOWNLOADS)  # folders of a site; in none of their folders does Sphinx write anything
CHECKS = ("every page was built without a warning", "every reference leads somewhere")
LATEST_DIFF = f"{DOWNLOADS}/latest-diff.md"
SCHEMA_FILE = f"{DOWNLOADS}/{SCHEMA.replace('/', '-')}.schema.json"


def build_whole(
    roots: Sequence[Path], site: Path, work: Path, settings: SiteSettings, inputs: Inputs, progress: Progress | None, reading: Work | None
) -> None:
    """Build the site, as `tacholog.site.build.build_site` says. ``inputs`` is the state of everything that it is built from.

    Data and settings are read first: if they are refused, the site stays as it was.
    """
    data = prepared(roots, work, settings, inputs.data, progress, reading)
    view = view_of(data)
    data = without_distributions(data)  # They take more memory than all else, and the view has them packed.
    give_back()
    keep(work / "dataset", data, view)
    take_compiled(*(CompiledTemplates(work / _COMPILED / kind, inputs.code) for kind in ("pages", "comparisons")))
    series = SeriesMemory(work / _KEPT_SERIES, inputs.code, view)
    sources = Sources(work / "source")
    sources.copy_tree(site_dir())
    logo = _write_settings(sources, settings)
    templates = myst_templates()
    extra = write_requirements_page(sources, work / "dataset", templates, settings)
    kept = KeptPages(work / _KEPT_PAGES, inputs.code)
    feeds = feeds_of_site(work / "dataset", view, settings)
    pages = plan(view, settings.pages, kept)
    kept.save()
    documents = [*_write_pages(sources, templates, pages, _shared(view, settings, extra, feeds)), *extra]
    sources.tidy()
    logs = log_pages(view, LOGS, parents_of_runs(view, settings.pages))
    of_sphinx = [*documents, *(path.stem for path in site_dir().glob("*.md"))]
    documents = [*of_sphinx, *(page.document for page in logs)]
    (work / _OTHER_PAGES).write_text(json.dumps([page.document for page in logs]), encoding="utf-8")
    begin_changes(work, site)
    _delete_other_logos(site, logo)
    _run_sphinx(sources.folder, site, work, feeds, digest([inputs.code, *_templates_of_directives(), _menu(sources.folder)]), documents)
    series.save()
    renew_addresses(site, [f"{document}.html" for document in (*of_sphinx, "search")], inputs.styles)
    give_back()
    _write_files(site, work, _Shown(data, view, settings, inputs.code), logs, frozenset(documents))
    parts = part_names(work / _PARTS, documents)
    write_feeds(site, feeds, settings)
    delete_orphans(site, {*documents, *parts} - {FRAME, PART_FRAME}, _WRITTEN_HERE)
    found = saved_complaints(work)
    write_stamp(site, inputs.text, CHECKS, len(found.unread) - found.altered, settings.limits.sizes, found.altered)


class _Shown(NamedTuple):
    """What a build shows: the dataset, as tables and as rows, and the digest of the code."""

    data: Dataset
    view: View
    settings: SiteSettings
    code: str


def _write_files(site: Path, work: Path, shown: _Shown, logs: Sequence[LogPage], documents: frozenset[str]) -> None:
    """Write what Sphinx does not: pages of logs, raw logs and downloads. What is no longer wanted in their folders is deleted."""
    runs = {run: digest([shown.code, made]) for run, made in run_digests(shown.view).items()}
    folders = {name: Sources(site / name, is_alone=True) for name in _WRITTEN_HERE}
    maker = PageMaker(site, work / "log-pages.json", PageFrame(site / f"{FRAME}.html"))
    write_log_pages(maker, folders[LOGS], logs, shown.view, runs, documents)
    maker.frame = PageFrame(site / f"{PART_FRAME}.html")
    write_parts(maker, Sources(site), work / _PARTS, sorted(documents), documents, shown.code)
    write_raw(maker, folders[RAW], shown.view, runs)
    maker.save()
    write_downloads(folders[DATA], work / "downloads.json", shown.data, shown.view, runs, shown.settings.pages)
    _write_latest(folders[DOWNLOADS], work / "dataset", shown.view)
    folders[DOWNLOADS].write(SCHEMA_FILE.removeprefix(f"{DOWNLOADS}/"), json.dumps(json_schema(), indent=2))
    for folder in folders.values():
        folder.tidy()
    write_for_programs(site, work / "dataset", shown.data, shown.view, shown.settings)


def _write_settings(sources: Sources, settings: SiteSettings) -> str | None:
    """Write the settings that ``conf.py`` reads, and copy the logo; return its name."""
    logo = Path(settings.logo) if settings.logo else None
    logo_name = f"{STATIC}/logo{logo.suffix.lower()}" if logo else None
    if logo and logo_name:
        sources.write(logo_name, logo.read_bytes())
    links = tuple(Link(drawn(link.title), drawn(link.url)) for link in settings.links)
    owner = drawn(settings.copyright) if settings.copyright else None
    safe = msgspec.structs.replace(settings, name=drawn(settings.name), copyright=owner, links=links, logo=logo_name)
    sources.write("site.json", msgspec.json.encode(safe))
    return logo_name


def _delete_other_logos(site: Path, logo: str | None) -> None:
    """Delete a logo of an earlier build. Sphinx would leave it there, and its owner does not want to publish it any more."""
    for other in (site / STATIC).glob("logo.*"):
        if f"{STATIC}/{other.name}" != logo:
            other.unlink()


def _shared(view: View, settings: SiteSettings, extra: Sequence[str], feeds: Sequence[Feed]) -> dict[str, Any]:
    """Return the values that the templates of all pages get. ``extra`` are the other pages that are there, which some of them link to."""
    return {
        "site": settings,
        "has_requirements": REQUIREMENTS in extra,
        "description": description(view.runs.values(), settings),
        "newest_change": newest_change(feeds),
    }


def _write_pages(sources: Sources, templates: Environment, pages: Sequence[SitePage], shared: Mapping[str, Any]) -> list[str]:
    """Write the pages that the data give, and return their documents."""
    for page in pages:
        sources.write(f"{page.document}.md", templates.get_template(page.template).render(page.context, **shared))
    return [page.document for page in pages]


def _write_latest(into: Sources, dataset: Path, view: View) -> None:
    """Write a summary of the newest comparisons of two releases, one for each system. `tacholog publish` prints their headings."""
    reports = {pair[0]: comparison(dataset.resolve(), state_of(dataset), pair, Policy()) for pair in latest(list(view.runs.values()))}
    if reports:
        into.write(LATEST_DIFF.removeprefix(f"{DOWNLOADS}/"), github_of_systems(reports))


def _templates_of_directives() -> list[bytes]:
    """Return the templates of directives and of the theme. Those of pages need no notice: a page whose text changed is read again."""
    return [path.read_bytes() for path in (*sorted(templates_dir().glob("*.html.jinja")), *sorted((site_dir() / "_templates").iterdir()))]


def _menu(source: Path) -> list[str]:
    """Return the pages of the menu, which stands on all pages: Sphinx does not write them again when one of its pages comes or goes."""
    return _TOCTREE.findall((source / "index.md").read_text(encoding="utf-8"))


def _run_sphinx(source: Path, site: Path, work: Path, feeds: Sequence[Feed], made_by: str, documents: Collection[str]) -> None:
    from sphinx.cmd.build import build_main

    # Sphinx counts pages as done even if it warned about them or had no time to write them. After a failed build its cache is deleted.
    trees, unfinished = work / "doctrees", work / "doctrees" / "unfinished"
    if unfinished.exists():
        shutil.rmtree(trees)
    forget_damaged(work / _PARTS, work / _KNOWN_PARTS)
    # The directives put the parts of pages there when Sphinx reads the pages. And of a page that it does not read, only the index holds the words.
    if not ((work / _PARTS).is_dir() and (site / _SEARCH_INDEX).is_file()):
        shutil.rmtree(trees, ignore_errors=True)
    (work / _PARTS).mkdir(parents=True, exist_ok=True)
    trees.mkdir(parents=True, exist_ok=True)
    unfinished.touch()
    folders = ["-d", str(trees), str(source), str(site)]
    settings = {"tacholog_dataset": str((work / "dataset").resolve()), "tacholog_logs": LOGS, "tacholog_csp": "1"}
    settings["tacholog_made_by"] = made_by
    settings["tacholog_parts"] = str((work / _PARTS).resolve())
    settings["tacholog_feeds"] = json.dumps([(feed.file, feed.title) for feed in feeds])
    settings["tacholog_other_pages"] = str((work / _OTHER_PAGES).resolve())
    settings["tacholog_other_folders"] = json.dumps(_WRITTEN_HERE)
    overrides = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    if build_main(["-q", "-N", "-W", "--keep-going", "-b", "html", *overrides, *folders]):
        interrupt_again()  # Sphinx ends by Ctrl-C as by an error
        raise TachologError(f"Sphinx found problems in {source} (they are named above); the site is not complete")
    forget_trees(trees, documents)
    note_parts(work / _PARTS, work / _KNOWN_PARTS)
    unfinished.unlink()
