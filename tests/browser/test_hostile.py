"""A site with texts that try to break out, in a real browser: no text is executed, and nothing is requested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import open_folds
from tests.browser.pages import every_page, pages_for
from tests.browser.patience import draw_all, patient
from tests.depth import NIGHTLY

from tacholog.site.build import build_site
from tacholog.site.settings import Link, SiteSettings

pytestmark = [
    pytest.mark.browser,
    # Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_hostile_texts_on_pages_are_not_executed_and_cause_no_request(
    browser: Browser, tmp_path: Path, hostile: Sequence[str], runs_of: Callable[[Path, Sequence[str]], Path], screenshots: Path | None
) -> None:
    text = hostile[1]
    settings = SiteSettings(name=text, title=text, intro=text, copyright=text, links=(Link(title=text, url=f"https://a.test/{text}"),))
    site = build_site([runs_of(tmp_path / "data", hostile)], tmp_path / "site", tmp_path / "work", settings).parent
    found: list[str] = []
    context = patient(browser)
    pages = every_page(site) if NIGHTLY else pages_for(site, "phone")
    for number, name in enumerate(pages):
        page = context.new_page()
        watch(page, name, found)
        page.goto((site / name).as_uri() + ("?q=PWNED" if name == "search.html" else ""))
        open_folds(page)
        draw_all(page)
        if page.evaluate("document.title === 'PWNED'"):
            found.append(f"{name}: a script was run")
        if screenshots and not name.startswith("logs/"):
            page.screenshot(path=screenshots / f"hostile-{number}.png")
        page.close()
    context.close()

    assert len(pages) > 20
    assert found == []


def watch(page: Page, name: str, found: list[str]) -> None:
    """Add to ``found`` whatever a page must not do: open a dialog, print warnings or errors on the console, or load something from a network.

    Violations of a page's security policy also appear on the console.
    """
    page.on("dialog", lambda dialog: found.append(f"{name}: dialog {dialog.message}"))
    page.on("console", lambda message: found.append(f"{name}: {message.text}") if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.append(f"{name}: {error}"))
    page.on("request", lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else found.append(f"{name}: {request.url}"))
