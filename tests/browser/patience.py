"""How long tests wait for a browser: a guard against hanging. Only a failing test waits that long.

Some content is loaded late by a page. A test that checks this content without waiting for it passes only by chance. ``TACHOLOG_LATE_MS=500 nox -s
browser`` finds such tests: it delays all late actions of a page, such as loading a part or drawing a plot that comes into view.
"""

from __future__ import annotations

import os

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

PATIENCE_S = 300
PATIENCE_MS = 1000 * PATIENCE_S
expect.set_options(timeout=PATIENCE_MS)

# Delays the handlers of late events: loaded scripts, observers, opened folds, and changes of the address.
_LATE = """
(() => {
  const late = (call) => call && function (...given) { setTimeout(() => call.apply(this, given), LATE_MS); };
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (name, call, how) {
    return listen.call(this, name, ["toggle", "hashchange"].includes(name) ? late(call) : call, how);
  };
  Object.defineProperty(HTMLScriptElement.prototype, "onload", { set(call) { listen.call(this, "load", late(call)); } });
  for (const name of ["IntersectionObserver", "MutationObserver", "ResizeObserver"]) {
    window[name] = class extends window[name] { constructor(call, how) { super(late(call), how); } };
  }
})();
"""


def patient(browser: Browser, width: int = 1280, height: int = 720, *, dark: bool = False, scripts: bool = True) -> BrowserContext:
    """Return a new browser context with the timeout `PATIENCE_MS`. The default timeouts of Playwright are only 5 and 30 s.

    Pages scroll at once, because a click on an element that still moves can hit another element.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    if os.environ.get("TACHOLOG_LATE_MS"):
        context.add_init_script(_LATE.replace("LATE_MS", str(int(os.environ["TACHOLOG_LATE_MS"]))))
    return context


def draw(figure: Locator) -> None:
    figure.get_by_role("button", name="Show exact values").press("Enter")
    figure.locator(".tl-is-live").wait_for()


def draw_all(page: Page) -> None:
    for figure in page.locator(".tl-figure:visible:has(script)").all():
        figure.locator(".tl-stage").hover()
        figure.locator(".tl-is-live").wait_for()
