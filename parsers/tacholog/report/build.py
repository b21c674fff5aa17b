"""Build the site: dataset, pages, Sphinx."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tacholog.errors import TachologError
from tacholog.manifest import RUN_FILE, as_toml
from tacholog.report.downloads import write_downloads
from tacholog.report.listings import raw_name
from tacholog.report.pages import LOGS, environment, plan
from tacholog.report.prepare import prepare
from tacholog.report.settings import SiteSettings
from tacholog.report.sources import Sources, delete_orphans
from tacholog.report.views import View, manifest_of, view_of
from tacholog.resources import site_dir, templates_dir

_EXTRA = "_extra"


def build_site(roots: Sequence[Path], site: Path, work: Path, settings: SiteSettings | None = None) -> Path:
    """Build the site and return its first page.

    Args:
        roots: folders of runs (each with ``run.toml`` files below it).
        site: where the site goes.
        work: where sources, dataset and Sphinx's cache go; kept, so that the next build does less.
        settings: what ``site.toml`` says.

    Raises:
        TachologError: no run in the folders, or Sphinx reported a problem.
    """
    settings = settings or SiteSettings()
    data = prepare(roots, work, settings)
    view = view_of(data)
    sources = Sources(work / "source")
    sources.copy_tree(site_dir())
    _write_settings(sources, settings)
    documents = _write_pages(sources, view, settings)
    _offer_raw(sources, view)
    write_downloads(sources, _EXTRA, data)
    sources.tidy()
    _run_sphinx(sources.folder, site, work)
    delete_orphans(site, [*documents, *(path.stem for path in site_dir().glob("*.md"))])
    return site / "index.html"


def _write_settings(sources: Sources, settings: SiteSettings) -> None:
    """Write for ``conf.py`` what it needs to know, and the logo beside its other files."""
    logo = Path(settings.logo) if settings.logo else None
    shown = f"_static/logo{logo.suffix.lower()}" if logo else None
    if logo and shown:
        sources.copy(shown, logo)
    sources.write("site.json", msgspec.json.encode(msgspec.structs.replace(settings, logo=shown)))


def _write_pages(sources: Sources, view: View, settings: SiteSettings) -> list[str]:
    templates = environment(templates_dir())
    templates.globals["site"] = settings
    pages = plan(view)
    for page in pages:
        sources.write(f"{page.document}.md", templates.get_template(page.template).render(page.context))
    return [page.document for page in pages]


def _offer_raw(sources: Sources, view: View) -> None:
    for log in view.logs:
        root = view.runs[log.run].root
        if root is not None and Path(root, log.log).is_file():
            sources.copy(f"{_EXTRA}/{raw_name(log.run, log.log)}", Path(root, log.log))
    for run in view.runs.values():
        if manifest := manifest_of(run):
            sources.write(f"{_EXTRA}/{raw_name(run.run, RUN_FILE)}", as_toml(manifest))


def _run_sphinx(source: Path, site: Path, work: Path) -> None:
    from sphinx.cmd.build import build_main

    folders = ["-d", str(work / "doctrees"), str(source), str(site)]
    settings = {"tacholog_dataset": str((work / "dataset").resolve()), "tacholog_logs": LOGS, "tacholog_csp": "1"}
    overrides = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    if build_main(["-q", "-W", "--keep-going", "-b", "html", *overrides, *folders]):
        raise TachologError(f"Sphinx found problems in {source} (they are named above); the site is not complete")
