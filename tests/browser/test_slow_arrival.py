"""On a slow network, the browser draws the first part of a page before the second part arrives. Drawn content must not move later."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import SCREENS
from tests.browser.patience import PATIENCE_S, patient
from tests.browser.shifts import DRAWN, MOST_SHIFT, SHIFTS
from tests.depth import tries

PAGES = (
    *("systems.html", "releases.html", "hosts.html", "tacholog-perftest/udp.html"),
    *("diffs/tacholog-perftest-0.3.0-to-0.4.0.html", "history/latency-mean.html"),
)
# The first part of a page ends within the first table: after a number of header cells (one of HEADS), or after a number of rows (one of ROWS).
HEADS = tries(gate=(4,), nightly=(2, 4, 6))
ROWS = tries(gate=(1, 4), nightly=(1, 2, 4, 8))

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class TwoParts(ThreadingHTTPServer):
    """A server for a site. If a page is requested with ``?CUT``, the server sends ``CUT`` bytes, and the rest only when `rest` is set."""

    daemon_threads = True

    def __init__(self, site: Path) -> None:
        self.site = site
        self.rest = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(SimpleHTTPRequestHandler):
    server: TwoParts

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        file = self.server.site / asked.path.lstrip("/")
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        cut = int(asked.query) if asked.path.endswith(".html") else len(content)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(asked.path))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(ConnectionError):  # The test has closed the page, so the remaining requests fail.
            self.wfile.write(content[:cut])
            if cut < len(content):
                self.wfile.flush()
                self.server.rest.wait(PATIENCE_S)
                self.wfile.write(content[cut:])


@pytest.fixture
def server(site: Path) -> Iterator[TwoParts]:
    with TwoParts(site) as started:
        thread = threading.Thread(target=started.serve_forever)
        thread.start()
        yield started
        started.rest.set()
        started.shutdown()
        thread.join()


def cuts(content: bytes) -> list[int]:
    table = content.index(b"<table")
    heads, rows = ([found.end() for found in re.finditer(mark, content[table:])] for mark in (b"</th>", b"</tr>"))
    return [table + ends[count] for ends, counts in ((heads, HEADS), (rows, ROWS)) for count in counts if count < len(ends)]


@pytest.mark.parametrize("screen", ["light", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_drawn_content_of_a_page_does_not_move_when_the_second_part_arrives(
    server: TwoParts, browser: Browser, site: Path, name: str, screen: str
) -> None:
    width, height = SCREENS[screen]
    context = patient(browser, width, height)
    context.add_init_script(SHIFTS)
    complaints = []
    places = cuts((site / name).read_bytes())
    assert len(places) >= len(ROWS)
    for cut in places:
        server.rest.clear()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/{name}?{cut}", wait_until="commit")
        page.evaluate(DRAWN)
        server.rest.set()
        page.wait_for_load_state()
        page.evaluate(DRAWN)
        if (shift := page.evaluate("window.shifts")) > MOST_SHIFT:
            complaints.append(f"after {cut} bytes, the layout shifts by {shift:.3f}: {page.evaluate('window.moved')}")
        page.close()
    context.close()

    assert complaints == []
