"""Make the README's screenshots anew from the checkout's data: ``nox -s images``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data"
WIDTH, HEIGHT = 1280, 1180
HOME_HEIGHT = 1560  # most of the table of choices is seen


def main() -> None:
    """Build a site and the page of a diff in a folder of their own, and photograph both."""
    tacholog = Path(sys.executable).with_name("tacholog")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site, diff = Path(folder, "site"), Path(folder, "diff.html")
        subprocess.run([tacholog, "report", "--data", DATA, "--output", site], check=True)
        subprocess.run([tacholog, "diff", "0.1.0", "0.2.0", "--data", DATA, "--format", "html", "--output", diff], check=True)
        browser = playwright.chromium.launch(executable_path=os.environ["TACHOLOG_CHROMIUM"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        for name, shown in (
            ("side-by-side", site / "side-by-side.html"),
            ("home-page", site / "index.html"),
            ("transport-page", site / "rti-connext-dds/shmem.html"),
            ("diff-page", diff),
        ):
            photograph(page, shown, HERE / f"{name}.png")
        browser.close()


def photograph(page: Page, shown: Path, picture: Path) -> None:
    """Photograph the top of a page as a reader first sees it."""
    page.set_viewport_size({"width": WIDTH, "height": HOME_HEIGHT if picture.stem == "home-page" else HEIGHT})
    page.goto(shown.as_uri())
    page.screenshot(path=picture)


if __name__ == "__main__":
    main()
