"""How long tests wait for a browser: so long that a busy machine is forgiven. Only a test that fails waits it out."""

from __future__ import annotations

from playwright.sync_api import BrowserContext

PATIENCE_MS = 120_000


def patient(context: BrowserContext) -> BrowserContext:
    """Make everything in this context wait so long; Playwright's own limit is 30 s."""
    context.set_default_timeout(PATIENCE_MS)
    return context
