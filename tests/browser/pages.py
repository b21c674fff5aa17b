"""Choose the pages that the browser tests open.

The nightly tests open almost all pages. The tests of each change (the gate) open a few pages, which together have all kinds of content. These
pages are chosen automatically, so a new kind of page is tested too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.depth import NIGHTLY

_CLASSES = re.compile(r'<[a-z][^>]*?\sclass="([^"]*)"')


def every_page(site: Path) -> list[str]:
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html") if "_static" not in path.parts)


def pages_for(site: Path, screen: str) -> list[str]:
    """Return few pages, because axe checks all elements of a page on most screens, which takes seconds.

    A check on a phone is fast: there, all pages of the top folder are opened, and the largest page of each other folder. On other screens, the pages
    are enough to see each class of element.
    """
    names = every_page(site)
    if NIGHTLY:
        sampled = [name for name in names if name.startswith("logs/") or (screen == "dark" and "/" in name)]
        kept = {tuple(name.split("/")[: 2 if name.startswith("logs/") else 1]): name for name in sampled}
        return [name for name in names if name not in sampled or name in kept.values()]
    return showing_all_classes(site, (*(name for name in names if "/" not in name), *largest_of_folders(site)) if screen == "phone" else ())


def largest_of_folders(site: Path) -> list[str]:
    names = sorted((name for name in every_page(site) if "/" in name), key=lambda name: ((site / name).stat().st_size, name))
    return list({name.partition("/")[0]: name for name in names}.values())


def showing_all_classes(site: Path, chosen: Iterable[str]) -> list[str]:
    """Add pages until each CSS class of the site is on one of them."""
    shown = {name: _classes(site / name) for name in every_page(site)}
    found = set(chosen)
    missing = set[str]().union(*shown.values()).difference(*(shown[name] for name in found))
    while missing:  # Choose the page with most of the missing classes. If several pages have most, choose the smallest of them.
        best = max(sorted(shown), key=lambda name: (len(shown[name] & missing), -(site / name).stat().st_size))
        found.add(best)
        missing -= shown[best]
    return sorted(found)


def _classes(page: Path) -> frozenset[str]:
    return frozenset(word for words in _CLASSES.findall(page.read_text(encoding="utf-8")) for word in words.split())
