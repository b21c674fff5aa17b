"""The sign of each verdict. Shapes tell verdicts apart where colours do not: on grey paper, and for readers who do not see red and green."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tacholog.render.html import Html, tag

_SIZE = 14

# A path around (0, 0), in the pixels of a drawing: up is worse, down is better, hollow is undecided, a cross was not tested.
_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "worse": "M{x} {y}m0 -5.5l5.5 9.5h-11z",
        "better": "M{x} {y}m0 5.5l5.5 -9.5h-11z",
        "no_change": "M{x} {y}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        "inconclusive": "M{x} {y}m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
        "too_few_pairs": "M{x} {y}m-3.5 -3.5h7v7h-7z",
        "unreplicated_diff": "M{x} {y}m-3.5 -3.5l7 7m0 -7l-7 7",
        "unreplicated_same": "M{x} {y}m-3.5 0h7",
    }
)


def path_of(verdict: str, x: float, y: float) -> str | None:
    """Return the path of the sign of a verdict; nothing for a verdict that says nothing about a ratio."""
    path = _PATHS.get(verdict)
    return path.format(x=f"{x:g}", y=f"{y:g}") if path else None


def swatch(verdict: str) -> Html:
    """Return the sign on its own, for a legend; nothing if there is none."""
    path = path_of(verdict, _SIZE / 2, _SIZE / 2)
    if path is None:
        return Html()
    drawn = tag("path", d=path, class_=f"sign {verdict}")
    return tag("svg", drawn, class_="sw", viewBox=f"0 0 {_SIZE} {_SIZE}", aria_hidden="true")
