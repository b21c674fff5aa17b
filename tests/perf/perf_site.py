"""Large sites: the size of two releases on the branch for publication, and the work of a browser to show a page."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perf_runs import ROOT, cost, write_long_runs
from perf_table import Goal, LeftOut, Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PUBLISHED_RUNS = int(os.environ.get("TACHOLOG_SCALE_PUBLISHED_RUNS", "200"))
#: The size of two releases with 1300 runs each that an old Tacholog published. It did not limit pages, and stored all raw logs for each version.
#: For fewer runs, the reference is this size multiplied by runs / 1300.
_BEFORE_BYTES, _BEFORE_RUNS = 467e6, 1300
_MOST_ELEMENTS, _MOST_CPU_NS, _SITE_BYTES, _REPORT_NS, _AGAIN_NS = 5000, 1e9, 25e6, 12e9, 2e9
#: Folders of runs that were recorded after the goals were set. The goals are only for the other 387 runs in data/.
_LATER = ("middleware/2026-11-23", "perftest/0.3.0-to-0.4.0", "perftest/0.4.0")
_SETTLED_MS = 500
_PATIENCE_MS = 120_000
_BRANCH = "gh-pages"
_DRAWN = "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


def published(folder: Path) -> Iterator[Row]:
    """Yield the size of a branch with two releases. The second site shows the runs of both releases."""
    root, repository, cache = folder / "runs", folder / "repository", folder / "cache"
    repository.mkdir()
    _git(repository, "init", "--quiet")
    for place, release in enumerate(("1.0", "2.0")):
        write_long_runs(root, range(place * PUBLISHED_RUNS, (place + 1) * PUBLISHED_RUNS), release)
        cost(["report", str(root), "--output", str(folder / "site")], cache)
        cost(["publish", str(folder / "site"), "--branch", _BRANCH, "--release", release], cache, cwd=repository)
        what = f"branch with {place + 1} of 2 releases of {PUBLISHED_RUNS} runs"
        before = _BEFORE_BYTES * PUBLISHED_RUNS / _BEFORE_RUNS
        yield Row(f"{what}, its files", _files_bytes(repository), "B", "two, before there were bounds", before)
        yield Row(f"{what}, as git keeps it", _kept_bytes(repository), "B", "its files", _files_bytes(repository))


def _files_bytes(repository: Path) -> int:
    listed = _git(repository, "ls-tree", "-r", "--format=%(objectsize)", _BRANCH)
    return sum(map(int, listed.split()))


def _kept_bytes(repository: Path) -> int:
    """Return the size of the packed repository, as it is sent to a hoster."""
    _git(repository, "gc", "--quiet")
    words = dict(line.split(": ") for line in _git(repository, "count-objects", "--verbose").splitlines())
    return int(words["size-pack"]) * 1024


def _git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *words], check=True, capture_output=True, text=True).stdout


def views(folder: Path) -> Iterator[Row | LeftOut]:
    """Build a site of the project's own data. Yield the time to build the site, the size of the site, and the work of a browser for some pages."""
    first = _copied(folder / "first")
    for later in _LATER:
        shutil.rmtree(first / "data" / later)
    yield from _reports("data/ of the goals", first, folder / "first-made", "0.3.0")
    whole = folder / "whole-made"
    yield from _reports("data/", _copied(folder / "whole"), whole, "0.4.0")
    site = whole / "site"
    executable = os.environ.get("TACHOLOG_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        yield LeftOut("first views", "no Chromium found")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        for page in (site / "index.html", *_largest(site)):
            browser = playwright.chromium.launch(executable_path=executable)
            cpu_s, elements = _view(browser, page)
            browser.close()
            name = page.relative_to(site)
            yield Row(f"first view of {name}, CPU of the whole browser", cpu_s * 1e9, "ns", "goal", _MOST_CPU_NS, Goal("<=", 1))
            yield Row(f"{name}, elements", elements, "ratio", "goal", _MOST_ELEMENTS, Goal("<=", 1))


def _reports(what: str, checkout: Path, folder: Path, newest: str) -> Iterator[Row]:
    """Build a site three times like ``nox -s report``, and yield the CPU time of each build.

    The first build begins with an empty cache. The second build has one run more, and the third build has a changed style sheet. For the first build,
    peak memory and the size of the site are yielded, too.
    """
    folder.mkdir()
    site, cache = folder / "site", folder / "cache"
    argv = ["report", "--data", str(checkout / "data"), "--site", str(checkout / "site.toml"), "--output", str(site)]
    made = cost(argv, cache, checkout=checkout)
    yield Row(f"report of {what}, cold", made.cpu_s * 1e9, "ns", "goal", _REPORT_NS, Goal("<=", 1))
    yield Row(f"report of {what}, cold, peak memory", made.peak_bytes, "B", "nothing", 0)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    yield Row(f"site of {what}", size, "B", "goal", _SITE_BYTES, Goal("<=", 1))
    write_long_runs(checkout / "data", [0], newest)
    more = cost(argv, cache, checkout=checkout)
    yield Row(f"report of {what}, one run more", more.cpu_s * 1e9, "ns", "goal", _AGAIN_NS, Goal("<=", 1))
    sheet = checkout / "site" / "_static" / "tacholog.css"
    sheet.write_text(sheet.read_text() + "\n/* changed */\n")
    styled = cost(argv, cache, checkout=checkout)
    yield Row(f"report of {what}, a style sheet", styled.cpu_s * 1e9, "ns", "goal", _AGAIN_NS, Goal("<=", 1))


def _copied(folder: Path) -> Path:
    for name in ("data", "docs", "parsers", "site", "templates"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "site.toml", folder)
    return folder


def _largest(site: Path) -> list[Path]:
    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    kinds = {"logs": [], "diffs": [], "": []}  # type: dict[str, list[Path]]
    for page in pages:
        first = page.relative_to(site).parts[0]
        kinds[first if first in kinds else ""].append(page)
    return [max(found, key=lambda page: page.stat().st_size) for found in kinds.values() if found]


def _view(browser: Browser, page: Path) -> tuple[float, int]:
    """Return the CPU seconds that a browser needs to show a page, and the number of elements of the page.

    Before the measurement, the browser shows an empty page, so that its start does not count.
    """
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.set_default_timeout(_PATIENCE_MS)
    opened.goto("about:blank")
    opened.wait_for_timeout(_SETTLED_MS)
    session = browser.new_browser_cdp_session()
    before = _busy(session)
    opened.goto(page.as_uri())
    opened.wait_for_load_state("networkidle")
    opened.evaluate(_DRAWN)
    spent = _busy(session)
    new = sum(seconds - before.get(process, 0.0) for process, seconds in spent.items())
    return new, int(opened.evaluate("document.querySelectorAll('*').length"))


def _busy(session: Any) -> dict[int, float]:  # noqa: ANN401 - Playwright's answers are of any type
    return {found["id"]: found["cpuTime"] for found in session.send("SystemInfo.getProcessInfo")["processInfo"]}
