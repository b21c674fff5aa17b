"""Measure how large a page is for a reader: bytes of a first visit, height, tab stops, elements, sheets of paper.

    python tests/browser/measures.py SITE [PAGE ...]

prints a table. Its rows are the named pages, or one page of each kind if no page is named. Bytes are counted as a web server sends them: text
with gzip, pictures and fonts without. No measure depends on the speed of the machine.
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.browser.patience import draw_all, patient

SCREEN = (1280, 800)  # width, height
PHONE: ViewportSize = {"width": 375, "height": 800}
# The page that is measured for each kind. If the name contains `*`, the largest page in this folder is measured.
KINDS = {
    "home": "index.html",
    "side by side": "side-by-side.html",
    "compare": "compare.html",
    "systems": "systems.html",
    "transport (shm)": "tacholog-perftest/shm.html",
    "transport, largest": "tacholog-perftest/*.html",
    "transport, published": "rti-connext-dds/shmem.html",
    "diff, largest": "diffs/*.html",
    "history, largest": "history/*.html",
    "releases": "releases.html",
    "machines": "hosts.html",
    "quality": "quality.html",
    "methodology": "methodology.html",
    "definitions": "definitions.html",
    "log": "logs/hmbdc/15-17-1/perf-sample.txt.html",
}
_ZIPPED = {".html", ".css", ".js", ".svg", ".json"}
_LEVEL = 6  # The compression level that web servers use by default.
STOPS = """() => {
    const names = new Set();
    return [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
        .filter((element) => element.tabIndex >= 0 && !element.disabled && !element.closest('dialog, [inert]'))
        .filter((element) => element.checkVisibility({visibilityProperty: true}))
        .filter((element) => { // the radio buttons of one name are one stop
            if (element.type !== 'radio') return true;
            const first = !names.has(element.name);
            names.add(element.name);
            return first;
        }).length;
}"""


class Weights(NamedTuple):
    """The bytes of a first visit to a page, by kind.

    Attributes:
        own: the page itself, our styles and scripts, and the data of its plots.
        theme: styles, scripts and fonts of the theme and of Sphinx.
        fonts: only the fonts. They are also included in ``theme``.
        plotly: the library for interactive plots; 0 if it is not loaded.
    """

    own: int
    theme: int
    fonts: int
    plotly: int


class Measures(NamedTuple):
    """The measures of a page.

    Attributes:
        weights: the bytes of a first visit.
        height: in pixels, on a screen of 1280 x 800.
        phone_height: in pixels, on a screen of 375 x 800.
        stops: how often a reader presses Tab to get through the page.
        nodes: the number of elements.
        sheets: the number of sheets when the page is printed.
    """

    kind: str
    page: str
    weights: Weights
    height: int
    phone_height: int
    stops: int
    nodes: int
    sheets: int


def pages_of_kinds(site: Path) -> Iterator[tuple[str, str]]:
    for kind, pattern in KINDS.items():
        found = sorted(site.glob(pattern), key=lambda path: (path.stat().st_size, path.name))
        if found:
            yield kind, found[-1].relative_to(site).as_posix()


def weigh(site: Path, browser: Browser, name: str) -> Weights:
    """Return how many bytes a page loads. First scroll through the page, so that all plots are drawn."""
    page, asked = _opened(site, browser, name)
    draw_all(page)
    page.context.close()
    return _weights(asked)


def measure(site: Path, browser: Browser, kind: str, name: str) -> Measures:
    """Return the measures of a page, such as its height and its bytes.

    Scroll through the page before its bytes are counted, so that all plots are drawn.
    """
    page, asked = _opened(site, browser, name)
    nodes, stops, height = (page.evaluate(script) for script in ("document.getElementsByTagName('*').length", STOPS, _HEIGHT))
    draw_all(page)
    sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))
    page.set_viewport_size(PHONE)
    found = Measures(kind, name, _weights(asked), height, page.evaluate(_HEIGHT), stops, nodes, sheets)
    page.context.close()
    return found


def _opened(site: Path, browser: Browser, name: str) -> tuple[Page, dict[str, None]]:
    page, asked = patient(browser, *SCREEN).new_page(), dict[str, None]()
    page.on("request", lambda request: asked.setdefault(request.url))
    page.goto((site / name).as_uri())
    return page, asked


def _weights(asked: Iterable[str]) -> Weights:
    weights = {path: _weight(path) for path in map(_path_of, asked) if path is not None}
    own = sum(weight for path, weight in weights.items() if _is_ours(path))
    plotly = sum(weight for path, weight in weights.items() if "plotly" in path.name)
    fonts = sum(weight for path, weight in weights.items() if path.suffix in (".woff", ".woff2", ".ttf"))
    return Weights(own, sum(weights.values()) - own - plotly, fonts, plotly)


_HEIGHT = "document.documentElement.scrollHeight"


def _path_of(address: str) -> Path | None:
    """Return the path of the file that an address names. Return ``None`` if the content is in the page itself (``data:``, ``blob:``)."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _weight(path: Path) -> int:
    content = path.read_bytes() if path.exists() else b""
    return len(gzip.compress(content, _LEVEL)) if path.suffix in _ZIPPED else len(content)


def _is_ours(path: Path) -> bool:
    return "_static" not in path.parts or path.name.startswith(("tacholog", "favicon"))


def table(found: Sequence[Measures]) -> str:
    heads = ("page", "own kB", "theme kB", "fonts kB", "Plotly kB", "height", "at 375", "stops", "elements", "sheets")
    rows = [
        (
            *(f"{one.kind}: {one.page}", *(f"{size / 1000:.1f}" for size in one.weights)),
            *(one.height, one.phone_height, one.stops, one.nodes, one.sheets),
        )
        for one in found
    ]
    lines = [heads, ("---", *("--:" for _ in heads[1:])), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def main(arguments: Sequence[str]) -> None:
    site = Path(arguments[0]).resolve()
    names = [("page", name) for name in arguments[1:]] or list(pages_of_kinds(site))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium") or shutil.which("google-chrome"))
        sys.stdout.write(table([measure(site, browser, kind, name) for kind, name in names]))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
