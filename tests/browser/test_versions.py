"""Pages of a published version state whether the version is old, and link to the newest version."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.patience import patient

from tacholog.site.publish import publish
from tacholog.site.stamp import write_stamp

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class _Handler(SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


def test_page_of_an_old_version_states_that_it_is_old_and_links_to_the_newest_version(site: Path, browser: Browser, tmp_path: Path) -> None:
    small, public = tmp_path / "small", tmp_path / "public"
    shutil.copytree(site / "_static", small / "_static")
    for name in ("index.html", "about.html"):
        shutil.copyfile(site / name, small / name)
    write_stamp(small, "0" * 64, (), problems=0)
    for label in ("0.9", "0.10"):  # Both versions have the same date.
        publish(small, public, label)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(public))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        page = patient(browser).new_page()
        root = f"http://127.0.0.1:{server.server_port}"
        note = page.locator(".tl-version")

        page.goto(f"{root}/versions/0.10/about.html")
        expect(note).to_contain_text("This is version 0.10, published on")
        expect(note).not_to_contain_text("old")
        page.goto(f"{root}/versions/0.9/about.html")
        expect(note).to_contain_text("It is old: there is a newer version.")
        assert page.locator("link[rel=canonical]").get_attribute("href") == f"{root}/about.html"
        note.get_by_role("link", name="This page in the newest version").click()
        page.wait_for_url(f"{root}/about.html")
        expect(note).to_have_count(0)
        page.get_by_role("contentinfo").get_by_role("link", name="All versions").click()
        expect(page.locator("li a")).to_have_text(["0.10", "0.9"])
        page.context.close()
        server.shutdown()
        thread.join()
