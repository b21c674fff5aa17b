"""Checks all numbers on the pages of a site. A number must link to a log line that contains it, or its element must name its statistic."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from tests.unpacked import pieces_of

from tacholog.render.tables.definitions import STATISTICS
from tacholog.schema.metrics import METRICS
from tacholog.view.numerals import SECONDS, rounded, steps_of, unit_shown

# Matches a number that is not part of a name, a version, a date or an address.
_NUMERAL = re.compile(
    r"(?<![\w.\-/:+#,])([<~>]?)\u202f?(\d[\d\u202f]*(?:\.\d+)?)(?![\w]|[.:\-/]\d|-\w)"  # The sign of the bound, and the number.
    r"(?:[\u00a0\u202f]?((?:[kM]\u202f)?[A-Za-zµ%][\w/]*))?"  # The unit.
)
_PRINTED = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPEC = re.compile(r'class="tl-spec">(.*?)</script>', re.DOTALL)
_WITHOUT = {
    "script",
    "style",
    "code",
    "pre",
    "svg",
    "th",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "nav",
    "button",
    "dt",
    "title",
    "em",
}
_VOID = {"meta", "link", "img", "br", "input", "hr", "path", "circle", "line", "rect", "source", "wbr", "col"}
# Pages with prose about numbers, and pages without numbers: they show no results.
_PROSE = ("about", "definitions", "downloads", "fairness", "methodology", "search", "genindex")
# For each unit of the schema: the sizes of the units that logs print. These are s, ms or us for times; Mbit/s, Gbit/s, MB/s or MiB/s for rates; and
# percent for shares.
_SCALES = {
    "ns": (1.0, 1e3, 1e6, 1e9),
    "bit_per_s": (1.0, 1e3, 1e6, 1e9, 8.0, 8e3, 8e6, 8e9, 8.0 * 2**10, 8.0 * 2**20, 8.0 * 2**30),
    "messages_per_s": (1.0, 1e3, 1e6),
    "ratio": (1.0, 0.01),
}


class Numeral(NamedTuple):
    """A number on a page, with its bound and unit, its link, the classes of the elements around it, and the text around it."""

    page: str
    bound: str
    text: str
    unit: str
    href: str | None
    classes: frozenset[str]
    said: str


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.page, self.stack, self.found = page, list[tuple[str, dict[str, str | None]]](), list[Numeral]()
        self.heads, self.column = list[str](), 0

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Do nothing, because an element such as ``<br/>`` has no content."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        self.stack.append((tag, dict(attrs)))
        if tag == "table":
            self.heads = []
        elif tag == "tr":
            self.column = 0
        elif tag in ("th", "td"):
            self.column += 1
            if "thead" in {name for name, _ in self.stack}:
                self.heads.append("")

    def handle_endtag(self, tag: str) -> None:
        while tag not in _VOID and self.stack and self.stack.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = {name for name, _ in self.stack}
        classes = frozenset(word for _, attributes in self.stack for word in (attributes.get("class") or "").split())
        if "tl-unit" in classes and self.heads and "thead" in tags:
            self.heads[-1] = data
        if "article" not in tags or tags & _WITHOUT:
            return
        href = next((attributes.get("href") for name, attributes in reversed(self.stack) if name == "a"), None)
        unit = self.heads[self.column - 1] if "td" in tags and self.column <= len(self.heads) else ""
        for match in _NUMERAL.finditer(data):
            self.found.append(Numeral(self.page, match[1], match[2], match[3] or unit, href, classes, data.strip()))


def numerals(site: Path) -> Iterator[Numeral]:
    """Yield each number in the sentences and tables of a site, also from scripts of pages, but not from log pages."""
    for file in sorted(site.rglob("*.html")):
        page = file.relative_to(site).with_suffix("").as_posix()
        if not page.startswith(("logs/", "raw/", "_static/", "downloads/")) and page not in _PROSE:
            reader = _Reader(page)
            reader.feed(file.read_text(encoding="utf-8"))
            yield from reader.found
    for script in sorted(site.glob("*/*-runs.js")):  # Older releases have pages too, but tables of single runs are only in these scripts.
        reader = _Reader(script.relative_to(site).with_suffix("").as_posix())
        reader.feed(f"<article>{''.join(pieces_of(script).values())}</article>")
        yield from reader.found


@lru_cache(maxsize=4096)
def lines_of(page: Path) -> dict[str, str]:
    """Return the text of the line of each id on a log page."""
    found: dict[str, str] = {}
    for line in re.findall(r'<li id="L\d+".*?</li>', page.read_text(encoding="utf-8"), re.DOTALL):
        text = html.unescape(re.sub("<[^>]*>", "", line[line.index("<code>") : line.index("</code>")]))
        found |= dict.fromkeys(map(html.unescape, re.findall(r'\bid="([^"]*)"', line)), text)
    return found


def target(site: Path, page: str, href: str) -> tuple[str, str] | None:
    """Return the text of the log line to which a link leads, and the metric of its number. Return None for other links."""
    where, _, anchor = html.unescape(href).partition("#")
    if not re.match(r"L\d+:", anchor):
        return None
    text = lines_of(((site / page).parent / where).resolve()).get(anchor)
    return text or "", re.split(r"\.(?=p\d|[a-z-]+$)", anchor.partition(":")[2].partition("~")[0])[0]


def sizes_shown(metric: str, unit: str) -> list[float]:
    """Return the size of the shown unit, as a multiple of the unit that the schema states for the metric.

    The list contains only this size. But if the metric has no such unit, for example because a number is shown without a unit, the list contains the
    sizes of all units of the metric.
    """
    of = METRICS[metric].unit
    steps = {str(sign): float(str(size)) for sign, size in steps_of(of)} | {unit_shown(of).sign: unit_shown(of).size}
    if metric == "duration":
        steps[SECONDS.sign] = SECONDS.size
    return [steps[unit]] if unit in steps else list(steps.values())


def says(line: str, shown: Numeral, metric: str) -> bool:
    """Return whether a log line contains a shown number, or contains numbers from which the shown number can be computed.

    Before the comparison, each number of the line is converted to the shown unit and rounded.
    """
    scales = _SCALES.get(METRICS[metric].unit, (1.0,))
    for printed in _PRINTED.findall(line):
        value = float(printed.replace(",", ""))
        if shown.bound == "<" and value == 0:
            return True
        if any(rounded(value * scale / size) == shown.text for scale in scales for size in sizes_shown(metric, shown.unit)):
            return True
    return any(rounded(value / size) == shown.text for value in _worked_out(line, metric) for size in sizes_shown(metric, shown.unit))


def _worked_out(line: str, metric: str) -> list[float]:
    """Return the values of a metric that the line does not print but that can be computed from its numbers."""
    if metric == "loss":
        return _shares(line)
    counts = dict(re.findall(r"(messages|sides_ns|companion_ns)=(\d+)", line)) if metric == "cpu_per_message" else {}
    return [(int(counts["sides_ns"]) + int(counts.get("companion_ns", 0))) / int(counts["messages"])] if "messages" in counts else []


def _shares(line: str) -> list[float]:
    """Return each share of lost messages that two whole numbers of a line can give.

    The first number may count the lost messages. The second number may count the received messages or the sent messages.
    """
    counts = [int(text) for text in _PRINTED.findall(line) if text.isdigit()]
    pairs = [(lost, other) for lost in counts for other in counts if lost > 0 and other > 0]
    return [share for lost, other in pairs for share in (lost / (lost + other), lost / other)]


class Walk(NamedTuple):
    """The result of checking all numbers of a site: how many link to a line, how many name their statistic, and which are wrong.

    A number is wrong if it has neither a link nor a statistic, or if it is not in the line of its link.
    """

    linked: int
    named: Counter[str]
    wrong: list[str]


def walk(site: Path) -> Walk:
    linked, named, wrong = 0, Counter[str](), list[str]()
    for one in numerals(site):
        there = target(site, one.page, one.href) if one.href else None
        classes = [name for name in STATISTICS if name in one.classes]
        if there is not None:
            linked += 1
            if not says(there[0], one, there[1]):
                wrong.append(f"{one.page}: {one.said!r} is not what its line says: {there[0][:160]!r}")
        elif "std-doc" in one.classes:  # The number is part of a page name, in the text of a link.
            named["std-doc"] += 1
        elif classes:
            named[classes[0]] += 1
        else:
            wrong.append(f"{one.page}: {one.text!r} of {one.said[:80]!r} has neither a line nor a name {sorted(one.classes)[-3:]}")
    return Walk(linked, named, wrong)


def points(site: Path) -> tuple[int, list[str]]:
    """Return how many points of figures have a link to a number in a log.

    Also return a text for each point whose value is not on the linked line.
    """
    count, wrong = 0, list[str]()
    for file in sorted(site.rglob("*.html")):
        text, page = file.read_text(encoding="utf-8"), file.relative_to(site).with_suffix("").as_posix()
        for figure in re.findall(r'<figure [^>]*class="tl-figure".*?</figure>', text, re.DOTALL):
            places = [html.unescape(href) for href in re.findall(r'<a href="([^"]*)" tabindex="-1">', figure)]
            block = _SPEC.search(figure) or _spec_in_part(file, figure)
            for trace in json.loads(block[1])["data"] if block else []:
                number = trace.get("meta", {}).get("number")
                for y, place in zip(trace["y"], trace.get("customdata") or [], strict=False):
                    if number and place:
                        count += 1
                        found = target(site, page, f"{places[place[0]]}#L{place[1]}{number}")
                        if found is None or not _is_said(found[0], y, found[1]):
                            wrong.append(f"{page}: {y} {number}: {found and found[0][:160]!r}")
    return count, wrong


def _spec_in_part(page: Path, figure: str) -> re.Match[str] | None:
    """Return the data of a figure that a separate script of the page contains."""
    named = re.search(r'data-part="([^"]+)"[^>]* id="([^"]+)"', figure)
    if named is None:
        return None
    whole = pieces_of(page.with_name(named[1]))[""]
    return _SPEC.search(whole, whole.index(f'<figure class="tl-figure" id="{named[2]}">'))


def _is_said(line: str, value: float, metric: str) -> bool:
    printed = [float(text.replace(",", "")) for text in _PRINTED.findall(line)]
    said = [each * scale for each in printed for scale in _SCALES.get(METRICS[metric].unit, (1.0,))] + _worked_out(line, metric)
    return any(abs(each - value) <= 1e-9 * abs(value) for each in said)
