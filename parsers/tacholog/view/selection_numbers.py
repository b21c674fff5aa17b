"""Numbers for the selections on a page whose names are the same in ids, so that no two tables have one id."""

from __future__ import annotations

import msgspec

from tacholog.slugs import slug
from tacholog.view.views import Selection


class SelectionNumbers:
    """Numbers selections in the order in which a page shows them: `UDP` is the first of its name, and `udp` the second."""

    def __init__(self) -> None:
        """Start with none."""
        self._found: dict[str, list[list[str]]] = {}

    def number(self, selection: Selection) -> int:
        """Return the number of a selection: 1 unless another one was there before. All tests of a part have the same."""
        values = msgspec.structs.replace(selection, test=None).values()
        alike = self._found.setdefault(slug("-".join(values)), [])
        if values not in alike:
            alike.append(values)
        return 1 + alike.index(values)
