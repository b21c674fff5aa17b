"""Badges: small SVG pictures for a README that say how a requirement or a release stands. They need no other service."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tacholog.compare.requirements.result import RequirementReport, RequirementResult, RequirementVerdict
from tacholog.render.html import Html, tag
from tacholog.render.requirements.words import TITLES, headline
from tacholog.slugs import slug

# White text on these has a contrast of 4.5 or more.
_COLOURS: Mapping[RequirementVerdict, str] = MappingProxyType(
    {"failed": "#b3261e", "missing": "#8a5a00", "undecided": "#8a5a00", "passed": "#1e7b34"}
)
_GREY = "#555"
_HEIGHT, _PAD, _BASE = 20, 6, 14
_NARROW, _WIDE = "fijlrt.,:;!|'()[] I", "mwMW%@"  # letters that differ most from the mean width of a sans serif at 11 px
_LONGEST = 80


def badges(report: RequirementReport) -> dict[str, str]:
    """Return a badge for each requirement and one for all of them, ``requirements``, by the names of their files without ``.svg``."""
    worst = report.results[0].verdict if report.results else "missing"  # they are sorted
    found = {"requirements": badge("requirements", headline(report), worst)}
    for result in report.results:
        name = slug(result.name)
        while name in found:  # two requirements may have one name
            name += "-2"
        found[name] = badge(result.name, _said(result), result.verdict)
    return found


def _said(result: RequirementResult) -> str:
    return f"{result.stated}: {TITLES[result.verdict].lower()}"


def badge(label: str, said: str, verdict: RequirementVerdict) -> str:
    """Return a badge: the label on grey, what is said on the colour of a verdict. It also says so in words, for those who see no colours."""
    texts = [_shortened(label), _shortened(said)]
    widths = [_width(text) + 2 * _PAD for text in texts]
    total = sum(widths)
    boxes = [
        tag("rect", width=widths[0], height=_HEIGHT, fill=_GREY),
        tag("rect", x=widths[0], width=widths[1], height=_HEIGHT, fill=_COLOURS[verdict]),
    ]
    placed = [_text(texts[0], 0, widths[0]), _text(texts[1], widths[0], widths[1])]
    head = {"xmlns": "http://www.w3.org/2000/svg", "width": total, "height": _HEIGHT, "role": "img", "aria_label": f"{label}: {said}"}
    font = tag("g", *placed, fill="#fff", text_anchor="middle", font_family="Verdana,DejaVu Sans,sans-serif", font_size="11")
    return str(tag("svg", tag("title", f"{label}: {said}"), *boxes, font, **head)) + "\n"


def _text(text: str, left: int, width: int) -> Html:
    return tag("text", text, x=f"{left + width / 2:g}", y=_BASE, textLength=width - 2 * _PAD)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}\u2026"


def _width(text: str) -> int:
    """Return about how wide a text is at 11 px; ``textLength`` makes it so wide in any font."""
    return round(sum(4.0 if char in _NARROW else 10.0 if char in _WIDE else 7.0 for char in text))
