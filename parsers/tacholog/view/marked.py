"""How many numbers have quality marks. Several pages count them, of all numbers of a site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

from tacholog.view.views import View

_Marked = Counter[tuple[str | None, tuple[str, ...]]]


def marked_of(view: View) -> Mapping[str, _Marked]:
    """Return for each run how many of its numbers have which marks, by transport. Numbers without marks are not counted."""
    return view.once("marked", partial(_marked_of, view))


def _marked_of(view: View) -> dict[str, _Marked]:
    return {name: Counter((result.conditions.transport, result.marks) for result in results if result.marks) for name, results in view.by_run.items()}
