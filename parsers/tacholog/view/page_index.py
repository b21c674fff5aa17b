"""The index of a site: the names of its folders, the page that shows each number, and suffixes for selections with equal ids.

A system, release, machine or label with the name of one of the site's own folders (`FOLDERS`) gets another folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tacholog.runs.labels import is_label
from tacholog.slugs import slug
from tacholog.view.results import RunRow
from tacholog.view.views import Selection

Entry = list[Any]  # [system, transport, document], optionally with the other fields of the selection as a fourth item: {"label.plugin": "flannel"}
_REST = 3
_FIELDS = ("host", "release")
_NUMBER = "number"


class PagePart(msgspec.Struct, frozen=True):
    """A part of a page: the numbers of a system over a transport, optionally only those of a host, a release or a label."""

    selection: Selection
    document: str
    number: int = 1  # 2 if an earlier part of the page has the same id: the parts `UDP` and `udp` both have the id `udp`

    @property
    def system(self) -> str:
        """The system of the part."""
        return str(self.selection.system)

    @property
    def transport(self) -> str:
        """The transport of the part."""
        return str(self.selection.transport)

    @property
    def others(self) -> tuple[tuple[str, str], ...]:
        """The host, the release and the labels of the selection, as far as they are stated. Each is a pair of a name and a value."""
        fields = ((name, getattr(self.selection, name)) for name in _FIELDS)
        return (*((name, value) for name, value in fields if value is not None), *self.selection.labels)


class PageIndex:
    """The parts of all pages."""

    def __init__(self, parts: Iterable[PagePart] = ()) -> None:
        """Index the parts. If two parts contain the same number, the first part is used."""
        self.parts = tuple(parts)
        self._by_pair: dict[tuple[str, str], list[PagePart]] = {}
        for part in self.parts:
            self._by_pair.setdefault((part.system, part.transport), []).append(part)

    def part_with(self, system: str, transport: str, run: RunRow) -> PagePart | None:
        """Return the part with the numbers of a run of a system over a transport; ``None`` if no page shows them."""
        parts = self._by_pair.get((system, transport), ())
        return next((part for part in parts if part.selection.wants_run(run)), None)


def page_index(entries: Sequence[Entry]) -> PageIndex:
    """Read the index from the body of a directive.

    Raises:
        ValueError: an entry is not [system, transport, document], or its fourth item has an unknown field.
    """
    return PageIndex(_part(entry) for entry in entries)


def _part(entry: Entry) -> PagePart:
    system, transport, document = (str(value) for value in entry[:_REST])
    others: Mapping[str, Any] = entry[_REST] if len(entry) > _REST else {}
    for name, value in others.items():
        if not ((isinstance(value, str) and (name in _FIELDS or is_label(name))) or (name == _NUMBER and isinstance(value, int))):
            raise ValueError(f"{name!r} is not one of {', '.join(_FIELDS)}, label.NAME")
    fields = {name: value for name, value in others.items() if name in _FIELDS}
    labels = tuple((name, value) for name, value in others.items() if is_label(name))
    return PagePart(Selection(system=system, transport=transport, labels=labels, **fields), document, others.get(_NUMBER, 1))


BADGES, DATA, DIFFS, DOWNLOADS, HISTORY, LOGS, RAW, RESULTS, VERSIONS = (
    *("badges", "data", "diffs", "downloads", "history", "logs", "raw", "results", "versions"),
)
STATIC, SOURCES = "_static", "_sources"
#: All folders of a site except those of its results.
FOLDERS = frozenset({BADGES, DATA, DIFFS, DOWNLOADS, HISTORY, LOGS, RAW, RESULTS, VERSIONS, STATIC, SOURCES})
#: Endings of files next to these folders, in the site and in the sources of its pages. The name of a folder must not have such an ending.
FILE_ENDINGS = (".atom", ".cff", ".html", ".inv", ".js", ".json", ".jsonld", ".md", ".py")


class SelectionNumbers:
    """Assigns numbers to selections with equal ids, in the order of the page: `UDP` gets 1, and `udp` gets 2."""

    def __init__(self) -> None:
        self._values_by_slug: dict[str, list[list[str]]] = {}

    def number(self, selection: Selection) -> int:
        """Return the number of a selection: 1 unless a different selection with the same id came earlier.

        Two selections that differ only in the test belong to the same part of a page. Therefore they get the same number.
        """
        values = msgspec.structs.replace(selection, test=None).values()
        alike = self._values_by_slug.setdefault(slug("-".join(values)), [])
        if values not in alike:
            alike.append(values)
        return 1 + alike.index(values)
