"""Build the site: dataset, pages, Sphinx."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Sequence
from pathlib import Path

from tacholog.dataset import Dataset, load
from tacholog.errors import TachologError, UnreadableInput
from tacholog.report.downloads import write_downloads
from tacholog.report.listings import raw_name
from tacholog.report.pages import LOGS, environment, plan
from tacholog.report.sources import Sources, delete_orphans
from tacholog.report.views import View, view_of
from tacholog.resources import site_dir, templates_dir

_EXTRA = "_extra"


def build_site(roots: Sequence[Path], site: Path, work: Path) -> Path:
    """Build the site and return its first page.

    Args:
        roots: folders of runs (each with ``run.toml`` files below it).
        site: where the site goes.
        work: where sources, dataset and Sphinx's cache go; kept, so that the next build does less.

    Raises:
        TachologError: no run in the folders, or Sphinx reported a problem.
    """
    data = _dataset(roots, work / "dataset")
    view = view_of(data)
    sources = Sources(work / "source")
    sources.copy_tree(site_dir())
    documents = _write_pages(sources, view)
    _offer_raw(sources, view)
    write_downloads(sources, _EXTRA, data)
    sources.tidy()
    _run_sphinx(sources.folder, site, work)
    delete_orphans(site, [*documents, *(path.stem for path in site_dir().glob("*.md"))])
    return site / "index.html"


def _dataset(roots: Sequence[Path], folder: Path) -> Dataset:
    data = load(roots)
    if data.runs.empty and data.problems.empty:
        raise UnreadableInput(f"no run.toml below {', '.join(str(root) for root in roots)}: nothing to report")
    fresh = folder.with_name(f"{folder.name}.new")
    data.save(fresh)
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(fresh.iterdir()):
        # Pages depend on these files: one that has not changed keeps its age.
        if not (folder / file.name).is_file() or not filecmp.cmp(file, folder / file.name, shallow=False):
            file.replace(folder / file.name)
    shutil.rmtree(fresh)
    return data


def _write_pages(sources: Sources, view: View) -> list[str]:
    templates = environment(templates_dir())
    pages = plan(view)
    for page in pages:
        sources.write(f"{page.document}.md", templates.get_template(page.template).render(page.context))
    return [page.document for page in pages]


def _offer_raw(sources: Sources, view: View) -> None:
    for log in view.logs:
        root = view.runs[log.run].root
        if root is not None and Path(root, log.log).is_file():
            sources.copy(f"{_EXTRA}/{raw_name(log.run, log.log)}", Path(root, log.log))


def _run_sphinx(source: Path, site: Path, work: Path) -> None:
    from sphinx.cmd.build import build_main

    folders = ["-d", str(work / "doctrees"), str(source), str(site)]
    settings = {"tacholog_dataset": str((work / "dataset").resolve()), "tacholog_logs": LOGS, "tacholog_csp": "1"}
    overrides = [word for name, value in settings.items() for word in ("-D", f"{name}={value}")]
    if build_main(["-q", "-W", "--keep-going", "-b", "html", *overrides, *folders]):
        raise TachologError(f"Sphinx found problems in {source} (they are named above); the site is not complete")
