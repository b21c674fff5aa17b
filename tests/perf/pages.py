"""The site: the bytes that a reader loads, and the CPU seconds for a thousand pages, compared with the same number of plain text pages.

To run it alone: ``python tests/perf/pages.py [PAGES]``. It makes a data folder for about this number of pages, and builds its site. It builds a plain
Sphinx project with the same theme and the same number of text pages. Then it builds the site again: without a change, and with one changed log.

CPU seconds include the child processes of a command. (The file is not called ``site``, because Python has a module of this name.)
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
from perf_table import Effort, Goal, LeftOut, Row, show

from tacholog.installation import site_dir
from tacholog.runs.manifest import Command, LogFile, Manifest, write
from tacholog.site.bundle import plotly_bundle
from tacholog.sphinx.assets import PLOTLY

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = (ROOT / "tests/formats/native/latency-udp.log", ROOT / "tests/formats/native/throughput-udp.log")
TRANSPORTS_A_SYSTEM = 24
MEGABYTE = 1e6
PAGES = 1000
PATIENCE_MS = 120_000  # How long a browser may take to open a page. On a busy machine, this takes long for a page with hundreds of series.
IMPORTS = "import pandas, duckdb, sphinx.builders.html, myst_parser.sphinx_ext.main, pydata_sphinx_theme, tacholog.site.whole"
SECTION = (
    "## Part {part}\n\nA bare page says what was measured and how, and links to [the next one]({next}). The words of this paragraph are many enough "
    "to be one: the publisher sends, the subscriber receives, and somebody writes down how long it took and how much of it came through.\n\n"
    "```sh\nperftest --test latency --transport udp\n```\n\n"
)


def write_runs(root: Path, pages: int) -> int:
    """Write runs for about ``pages`` pages of all kinds (transports, logs, systems). Return the number of runs."""
    count = max(1, round((pages - 12) / (2 + 1 / TRANSPORTS_A_SYSTEM)))
    logs = [sample.read_bytes() for sample in SAMPLES]
    for number in range(count):
        system, transport = divmod(number, TRANSPORTS_A_SYSTEM)
        folder = root / f"system-{system}" / f"transport-{transport}"
        folder.mkdir(parents=True)
        log = logs[number % len(logs)].replace(b"transport=udp", f"transport=way-{transport}".encode())
        (folder / "perftest.log").write_bytes(log)
        entry = LogFile(file="perftest.log", sha256=hashlib.sha256(log).hexdigest())
        command = Command(role="both", argv=("perftest", "--transport", f"way-{transport}"))
        manifest = Manifest(system=f"System {system}", tool="perftest", host=f"host-{system % 3}", commands=(command,), logs=(entry,))
        write(folder / "run.toml", manifest)
    return count


def write_bare(source: Path, pages: int) -> None:
    """Write the source of a site with only text pages, for comparison. The site has the nesting, theme and settings of a real site."""
    shutil.copytree(site_dir(), source, ignore=shutil.ignore_patterns("*.md", "__pycache__"))
    conf = (source / "conf.py").read_text().replace(', "tacholog.sphinx"', "")
    (source / "conf.py").write_text(conf)
    (source / "_extra").mkdir()
    (source / "site.json").write_text(json.dumps({"name": "Bare", "author": "", "copyright": "", "logo": None, "links": []}))
    names = [f"group-{number // TRANSPORTS_A_SYSTEM}/page-{number}" for number in range(pages)]
    for number, name in enumerate(names):
        (source / name).parent.mkdir(exist_ok=True)
        following = f"/{names[(number + 1) % pages]}.md"
        body = "".join(SECTION.format(part=part, next=following) for part in range(3))
        (source / f"{name}.md").write_text(f"# Page {number}\n\n{body}")
    groups = sorted({name.partition("/")[0] for name in names})
    for group in groups:
        inside = "\n".join(f"/{name}" for name in names if name.startswith(f"{group}/"))
        (source / group / "index.md").write_text(f"# {group}\n\n```{{toctree}}\n:hidden:\n\n{inside}\n```\n")
    listed = "\n".join(f"/{group}/index" for group in groups)
    (source / "index.md").write_text(f"# Bare\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def cpu_s(*command: object) -> float:
    """Run a command, and return the CPU seconds that the command and its child processes used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def changed(site: Path, since: Mapping[Path, int]) -> int:
    return sum(1 for path, at in ages(site).items() if since.get(path) != at)


def ages(site: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in site.rglob("*.html") if "_static" not in path.parts and path.name != "search.html"}


def gzipped(paths: Iterable[Path]) -> int:
    """Return the size of files as sent to a reader."""
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)


def first_load(page: Path) -> list[Path]:
    """Return the files that a browser requests to show a page, before any plot comes into view."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium())
        opened = browser.new_page()
        opened.set_default_timeout(PATIENCE_MS)
        asked: set[str] = {page.as_uri()}
        opened.on("requestfinished", lambda request: asked.add(request.url))
        opened.goto(page.as_uri())
        opened.wait_for_load_state("networkidle")
        browser.close()
    found = {Path(unquote(urlsplit(url).path)) for url in asked}
    return sorted(path for path in found if path.is_file() and path.name != PLOTLY)


def chromium() -> str | None:
    return os.environ.get("TACHOLOG_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def loads(site: Path) -> Iterator[Row | LeftOut]:
    """Yield the bytes that the browser of a reader loads, with gzip, and their budget."""
    heaviest = max(ages(site), key=lambda page: gzipped([page]))
    for what, page in (("the home page", site / "index.html"), (f"the heaviest page, {heaviest.relative_to(site)}", heaviest)):
        if chromium():
            yield Row(f"first load of {what}, without plots", gzipped(first_load(page)) / MEGABYTE, "MB", "budget", 0.3, Goal("<=", 1))
        else:
            yield LeftOut(f"first load of {what}", "no Chromium found")
    yield Row("plotting code, once a site", gzipped([site / "_static" / PLOTLY]) / MEGABYTE, "MB", "budget", 0.4, Goal("<=", 1))


def builds(folder: Path, pages: int) -> Iterator[Row]:
    """Build all kinds of sites into ``folder/site``, and yield the resources."""
    runs = write_runs(folder / "data", pages)
    tacholog, sphinx = Path(sys.executable).with_name("tacholog"), (sys.executable, "-m", "sphinx", "-q")
    site = folder / "site"
    report = (tacholog, "report", "--data", folder / "data", "--output", site)
    plotly_bundle()  # If necessary, plotly is fetched here, so that the build does not wait for it.
    imported = min(cpu_s(sys.executable, "-c", IMPORTS) for _ in range(3))
    built = cpu_s(*report)
    made = len(ages(site))
    write_bare(folder / "bare", made)
    bare = cpu_s(*sphinx, "-b", "html", folder / "bare", folder / "bare-site")
    yield Row(f"from the logs of {runs} runs to the site, {made} pages", built, "s", "bare pages", bare)
    known = ages(site)
    again = cpu_s(*report)
    yield Row(f"without a change ({changed(site, known)} pages written)", again, "s", "importing", imported, Goal("<=", 2))
    change_one(folder / "data")
    known = ages(site)
    one = cpu_s(*report)
    yield Row(f"with one changed log ({changed(site, known)} pages written)", one, "s", "all anew", built)


def change_one(data: Path) -> None:
    log = next(path for path in sorted(data.rglob("*.log")) if b"p50_ns=" in path.read_bytes())
    before = log.read_bytes()
    after = before.replace(b"p50_ns=3851", b"p50_ns=3852")
    if after == before:
        raise RuntimeError(f"{log}: nothing was changed")
    log.write_bytes(after)
    manifest = log.with_name("run.toml")
    manifest.write_text(manifest.read_text().replace(hashlib.sha256(before).hexdigest(), hashlib.sha256(after).hexdigest()))


def measure(_effort: Effort, pages: int = PAGES) -> Iterator[Row | LeftOut]:
    """Build sites, and yield the resources of the builds and the bytes that a browser loads.

    Each site is built only once, because CPU seconds vary little and a thousand pages take minutes. So the effort is ignored.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield from builds(Path(folder), pages)
        yield from loads(Path(folder, "site"))


if __name__ == "__main__":
    click.echo(show(measure(Effort(1, 0), int(sys.argv[1]) if len(sys.argv) > 1 else PAGES)))
