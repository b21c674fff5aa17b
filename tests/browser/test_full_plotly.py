"""On a machine without npm, a site contains the complete Plotly and not its small build. The plots are drawn too."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import add_own_runs
from tests.browser.patience import patient
from tests.browser.test_pages import scroll_through
from tests.command import run_tacholog

from tacholog.site.bundle import full_bundle

pytestmark = pytest.mark.browser


def test_plots_are_drawn_with_the_full_plotly_too(browser: Browser, tmp_path: Path) -> None:
    site, data = tmp_path / "site", add_own_runs(tmp_path / "data")
    done = run_tacholog("report", "--data", data, "--output", site, environment={"TACHOLOG_PLOTLY": "full"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = patient(browser).new_page()
    page.goto((site / "tacholog-perftest" / "udp.html").as_uri())
    scroll_through(page)

    assert (site / "_static" / "plotly.min.js").read_bytes() == full_bundle().read_bytes()
    assert page.locator(".tl-is-live .js-plotly-plot").count() > 0
    page.context.close()
