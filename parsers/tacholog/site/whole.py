"""Build a complete site into a new folder: Sphinx renders the pages, and the files for download are written next to them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from tacholog import terminal
from tacholog.compare.result import SCHEMA, json_schema
from tacholog.errors import TachologError
from tacholog.installation import site_dir
from tacholog.memory import return_freed_memory
from tacholog.render.diff.text import github_of_systems
from tacholog.site.data import SiteData, hold
from tacholog.site.downloads import write_downloads
from tacholog.site.for_programs import Feed, feeds, write_feeds, write_for_programs
from tacholog.site.generated_pages import GeneratedPages
from tacholog.site.log_pages import log_pages, raw_files
from tacholog.site.pages import plan
from tacholog.site.prepare import prepare
from tacholog.site.settings import Link, SiteSettings
from tacholog.site.stamp import FormerSite
from tacholog.store.frames import without_distributions
from tacholog.store.logs import Progress
from tacholog.store.pool import Work
from tacholog.view.history import latest
from tacholog.view.page_index import DOWNLOADS, LOGS, STATIC
from tacholog.view.views import view_of
from tacholog.visible import drawn

# Matches the rules for the 2000 icons of the theme. They are removed, because tacholog.css draws the icons that pages use.
_ICON = re.compile(r'\.fa-[a-z0-9-]+(?:,\.fa-[a-z0-9-]+)*\{--fa:"[^"]*"\}')
# Matches two of the three fonts for icons. The theme uses only the third font.
_FONT = re.compile(r"@font-face\{[^}]*/fa-(?:brands|regular)-[^}]*\}")
_NEVER_LOADED = ("**/*.map", "scripts/fontawesome.js*", "webpack-macros.html", "copybutton_funcs.js", "vendor/fontawesome/webfonts/fa-[br]*")
_STEMMERS = "*-stemmer.js"  # not needed by pages: Sphinx also copies the content of these files into language_data.js
LATEST_DIFF = f"{DOWNLOADS}/latest-diff.md"
SCHEMA_FILE = f"{DOWNLOADS}/{SCHEMA.replace('/', '-')}.schema.json"


def build_whole(
    roots: Sequence[Path],
    site: Path,
    work: Path,
    settings: SiteSettings,
    former: FormerSite,
    progress: Progress | None,
    reading: Work | None,
) -> None:
    """Build a site.

    Args:
        roots: the folders of runs.
        site: a folder that does not exist yet.
        work: the folder that stores the dataset.
        settings: the content of ``site.toml``.
        former: the files of the previous build. Those that are up to date are not made again.
        progress: a function that is called with the name of a log and the number of bytes read from it.
        reading: the processes that read the logs.

    Raises:
        TachologError: data or settings are refused, or Sphinx reported a problem.
    """
    everything = prepare(roots, work, settings, progress, reading)
    terminal.status("planning the pages")
    view = view_of(everything)
    # The distributions of the dataset need more memory than all other data. They are left out, because the view contains them in compressed form.
    data = SiteData((work / "dataset").resolve(), without_distributions(everything), view)
    del everything
    return_freed_memory()
    hold(data)
    all_feeds = feeds(view, data.compare, settings.name)
    pages = plan(view, settings, has_requirements=data.requirements is not None)
    terminal.status("writing the files for download")
    digests = write_downloads(site, data.data, view, former, settings.pages)
    return_freed_memory()
    made = GeneratedPages(data, pages, log_pages(view, LOGS, settings.pages), all_feeds, settings, former, digests)
    _run_sphinx(made, site, work, settings)
    return_freed_memory()
    terminal.status("writing raw logs and files for programs")
    _write_other_files(site, data, settings, all_feeds, former)


def _run_sphinx(made: GeneratedPages, site: Path, work: Path, settings: SiteSettings) -> None:
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.console import nocolor
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source, trees = work / "source", work / "doctrees"
    for folder in (source, trees):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site_dir(), source, ignore=shutil.ignore_patterns("__pycache__"))
    _write_settings(source, settings)
    nocolor()
    try:
        with patch_docutils(source), docutils_namespace():
            overrides = {"tacholog_dataset": str(made.data.folder), "tacholog_logs": LOGS}
            app = Sphinx(source, source, site, trees, "html", overrides, status=None, warning=sys.stderr, freshenv=True, warningiserror=True)
            made.connect(app)
            app.build()
    except SphinxError as error:
        raise TachologError(f"Sphinx cannot build {source}: {error}; the site stays as it was") from error
    if app.statuscode:
        raise TachologError(f"Sphinx found problems in {source} (they are named above); the site stays as it was")
    shutil.rmtree(trees)
    _delete_unused_files(site)


def _write_settings(source: Path, settings: SiteSettings) -> None:
    logo = Path(settings.logo) if settings.logo else None
    logo_name = f"{STATIC}/logo{logo.suffix.lower()}" if logo else None
    if logo and logo_name:
        shutil.copyfile(logo, source / logo_name)
    links = tuple(Link(drawn(link.title), drawn(link.url)) for link in settings.links)
    owner = drawn(settings.copyright) if settings.copyright else None
    safe = msgspec.structs.replace(settings, name=drawn(settings.name), copyright=owner, links=links, logo=logo_name)
    # `conf.py` reads this file.
    (source / "site.json").write_bytes(msgspec.json.encode(safe))


def _delete_unused_files(site: Path) -> None:
    static, search = site / "_static", site / "search.html"
    loads_stemmers = search.is_file() and _STEMMERS[1:] in search.read_text(encoding="utf-8")
    (site / "objects.inv").unlink()  # Other projects use this file to link to prose.
    for pattern in (*_NEVER_LOADED, *(() if loads_stemmers else (_STEMMERS,))):
        for path in static.glob(pattern):
            path.unlink()
    for sheet in static.glob("styles/pydata-sphinx-theme.css"):
        text = sheet.read_text(encoding="utf-8")
        if (less := _FONT.sub("", _ICON.sub("", text))) != text:
            sheet.write_text(less, encoding="utf-8")


def _write_other_files(site: Path, data: SiteData, settings: SiteSettings, all_feeds: Collection[Feed], former: FormerSite) -> None:
    for name, content in raw_files(data.view, former):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    (site / DOWNLOADS).mkdir(exist_ok=True)
    (site / SCHEMA_FILE).write_text(json.dumps(json_schema(), indent=2), encoding="utf-8")
    # The newest comparisons are also written to a file of the site, because `tacholog publish` prints headings from this file.
    reports = {pair[0]: data.compare(*pair) for pair in latest(list(data.view.runs.values()))}
    if reports:
        (site / LATEST_DIFF).write_text(github_of_systems(reports), encoding="utf-8")
    write_feeds(site, list(all_feeds), settings)
    write_for_programs(site, data, settings)
