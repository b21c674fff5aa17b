"""How far the content of a page moves after it is drawn: layout shift, as browsers report it."""

from __future__ import annotations

MOST_SHIFT = 0.05
# Adds up the shifts of a page, and collects the elements that moved. Must run before the scripts of the page.
SHIFTS = """
window.shifts = 0;
window.moved = [];
new PerformanceObserver((list) => list.getEntries().filter((entry) => !entry.hadRecentInput).forEach((entry) => {
  window.shifts += entry.value;
  entry.sources.forEach(({node}) => window.moved.push(`${node?.nodeName}.${node?.className} after ${entry.startTime} ms`));
})).observe({type: 'layout-shift', buffered: true});
"""
# Waits until a frame is drawn: when the browser starts the second frame, it has drawn the first frame.
DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
