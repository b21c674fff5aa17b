"""The pages of results: how ``pages`` in ``site.toml`` divides the numbers into pages, and the parts of each page.

There is one page for each combination of values of the fields in the list: ``["system", "label.plugin"]`` gives a page for each plugin of each
system. The pages with the same value of the first field are in one folder, and are listed on one page. If system or transport is not in the list, a
page has a part for each of its values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from tacholog.runs.labels import is_label, label_name, labels_of
from tacholog.slugs import slug
from tacholog.view.names import words
from tacholog.view.numerals import NOT_STATED, natural
from tacholog.view.page_index import DATA, FILE_ENDINGS, FOLDERS, PagePart, SelectionNumbers
from tacholog.view.results import RunRow
from tacholog.view.views import Selection, View, transport_of

if TYPE_CHECKING:
    import pandas as pd

FIELDS = ("system", "transport", "host", "release")
DEFAULT = ("system", "transport")
_TITLES = {"system": "Systems", "transport": "Transports", "host": "Machines", "release": "Releases measured"}

Values = tuple[str, ...]  # the default fields of a page


#: The name of a transport that neither logs nor manifests state.
UNNAMED = "no transport named"


class ResultPage(msgspec.Struct, frozen=True):
    """A page of results: the values of its fields, its document, its parts, and the file with its numbers."""

    fields: tuple[str, ...]
    values: Values
    document: str
    file: str
    parts: tuple[PagePart, ...]
    names_transport: bool = True  # whether another page of its group has the same values, except for the transport

    @property
    def selection(self) -> Selection:
        """The selection of the numbers that the page shows."""
        return selection_of(self.fields, self.values)

    @property
    def title(self) -> str:
        """The heading: ``System over transport, plugin flannel``."""
        values = dict(zip(self.fields, self.values, strict=True))
        system, transport = values.pop("system", ""), values.pop("transport", "")
        if transport == NOT_STATED:
            transport = UNNAMED if self.names_transport or not system else ""
            over = f", {transport}" if system and transport else transport
        else:
            over = f" over {transport}" if system and transport else transport
        return ", ".join(filter(None, (f"{system}{over}", *(field_words(field, value) for field, value in values.items()))))

    @property
    def name(self) -> str:
        """The name in the list of a `PageGroup`. All pages of a group have the same value of the first field, so the name omits this value."""
        return ", ".join(_short(field, value) for field, value in zip(self.fields[1:], self.values[1:], strict=True)) or self.title

    @property
    def long_name(self) -> str:
        """The name in a list of all pages."""
        return ", ".join(value if field in DEFAULT else field_words(field, value) for field, value in zip(self.fields, self.values, strict=True))


class PageGroup(msgspec.Struct, frozen=True):
    """The pages with the same value of the first field, and the document that lists them."""

    field: str
    value: str
    document: str
    pages: tuple[ResultPage, ...]

    @property
    def title(self) -> str:
        """The heading."""
        return self.value if self.field in DEFAULT else field_words(self.field, self.value)

    @property
    def selection(self) -> Selection:
        """The selection of all numbers that the pages of this group show."""
        return selection_of((self.field,), (self.value,))


def groups_title(field: str) -> str:
    """Return the heading of a list of all groups."""
    return f"By {label_name(field)}" if is_label(field) else _TITLES[field]


def field_words(field: str, value: str) -> str:
    """Return a field with its value, in words: ``plugin flannel``, ``release not stated``."""
    return words(field, value) if is_label(field) or value != NOT_STATED else f"{field} {value}"


def _short(field: str, value: str) -> str:
    if (field, value) == ("transport", NOT_STATED):
        return UNNAMED
    return value if value != NOT_STATED or field in DEFAULT else field_words(field, value)


def selection_of(fields: Sequence[str], values: Sequence[str]) -> Selection:
    """Return the selection of the numbers whose fields have these values."""
    named_values = dict(zip(fields, values, strict=True))
    labels = tuple((field, value) for field, value in named_values.items() if is_label(field))
    return Selection(labels=labels, **{field: value for field, value in named_values.items() if field in FIELDS})


def page_groups(view: View, fields: tuple[str, ...] = DEFAULT) -> Sequence[PageGroup]:
    """Return all pages of results, grouped by the first field. The groups are computed only once, although several pages need them."""
    return view.once(("pages of results", fields), partial(_page_groups, view, fields))


def _page_groups(view: View, fields: tuple[str, ...]) -> list[PageGroup]:
    parts: dict[Values, set[tuple[str, str]]] = {}
    for run, transport in _runs_with_transports(view):
        parts.setdefault(_values(run, transport, fields), set()).add((run.system or NOT_STATED, transport))
    files = csv_names(runs_of_pages(view, fields))
    groups: dict[str, list[ResultPage]] = {}
    folders: dict[str, str] = {}
    used, used_folders = set[str](), set(FOLDERS)
    pages_alike = Counter(_but_transport(fields, values) for values in parts)
    for values in sorted(parts, key=lambda values: _sort_key(fields, values)):
        first, *others = values
        if first not in folders:
            folder = slug(first)
            folders[first] = _unused_name(f"{folder}-system" if folder.endswith(FILE_ENDINGS) else folder, used_folders)
            used.add(f"{folders[first]}/index")
        document = _unused_name(f"{folders[first]}/{slug(' '.join(others))}", used) if others else f"{folders[first]}/index"
        page_parts = _parts(fields, values, sorted(parts[values], key=_pair_order), document)
        is_one_of_several = pages_alike[_but_transport(fields, values)] > 1
        groups.setdefault(first, []).append(ResultPage(fields, values, document, files.get(values, ""), page_parts, is_one_of_several))
    return [PageGroup(fields[0], value, f"{folders[value]}/index", tuple(pages)) for value, pages in groups.items()]


def _but_transport(fields: Sequence[str], values: Values) -> Values:
    return tuple(value for field, value in zip(fields, values, strict=True) if field != "transport")


def _runs_with_transports(view: View) -> list[tuple[RunRow, str]]:
    """Return each run with each of its transports.

    The numbers of a run state its transports. If a run has no numbers, its manifest states the transport.
    """
    measured = [(view.runs[name], transport) for name in view.by_run for transport in _transports(view, name)]
    return measured + [(run, transport_of(run) or NOT_STATED) for name, run in view.runs.items() if name not in view.by_run]


def _transports(view: View, run: str) -> list[str]:
    return sorted({transport or NOT_STATED for transport, _ in view.kinds[run]})


def runs_of_pages(view: View, fields: Sequence[str]) -> Mapping[Values, set[str]]:
    """Return, for each page, the names of its runs that have numbers.

    The result is computed only once, because both the list of pages and the downloads need it.
    """
    return view.once(("runs of pages", tuple(fields)), partial(_runs_of_pages, view, fields))


def _runs_of_pages(view: View, fields: Sequence[str]) -> dict[Values, set[str]]:
    runs: dict[Values, set[str]] = {}
    for name in view.by_run:
        for transport in _transports(view, name):
            runs.setdefault(_values(view.runs[name], transport, fields), set()).add(name)
    return runs


def _values(run: RunRow, transport: str, fields: Iterable[str]) -> Values:
    labels = labels_of(run.labels)
    of_run: Mapping[str, str | None] = {"transport": transport, "system": run.system, "host": run.host, "release": run.release}
    return tuple((labels.get(field) if is_label(field) else of_run[field]) or NOT_STATED for field in fields)


def _sort_key(fields: Sequence[str], values: Values) -> tuple[object, ...]:
    keys = [value.lower() if field in DEFAULT else (value == NOT_STATED, natural(value.lower())) for field, value in zip(fields, values, strict=True)]
    return (*keys, values)


def _pair_order(pair: tuple[str, str]) -> tuple[object, ...]:
    return (pair[0].lower(), pair[1].lower(), pair)


def _parts(fields: Sequence[str], values: Values, pairs: Sequence[tuple[str, str]], document: str) -> tuple[PagePart, ...]:
    """Return the parts of a page, one for each pair of system and transport.

    The parts are in the order of the blocks of the page, so that this function and the blocks assign the same numbers to selections.
    """
    numbers = SelectionNumbers()
    selections = [msgspec.structs.replace(selection_of(fields, values), system=system, transport=transport) for system, transport in pairs]
    return tuple(PagePart(selection, document, numbers.number(selection)) for selection in selections)


def _unused_name(document: str, used: set[str]) -> str:
    """Return the name of a document. If the name is already used, a number is appended: `UDP` and `udp`, for example, would have the same name."""
    name, number = document, 2
    while name in used:
        name, number = f"{document}-{number}", number + 1
    used.add(name)
    return name


def csv_name(*values: str) -> str:
    """Return the address of the CSV file with the numbers of a page."""
    return f"{DATA}/{slug(' '.join(values))}.csv.gz"


def csv_names(pages: Collection[Values]) -> dict[Values, str]:
    """Return the address of the CSV file for each page. Names that differ only in case, such as `X` and `x`, get numbers."""
    return {values: f"{DATA}/{name}.csv.gz" for values, name in numbered(pages).items()}


def numbered(names: Collection[tuple[str, ...]]) -> dict[Values, str]:
    """Return a file name for each list of values.

    If several lists would get the same name, the first list gets this name, and the others get it with a number.
    """
    file_names: dict[Values, str] = {}
    used: set[str] = set()
    for values in sorted(names):
        first = slug(" ".join(values))
        file_names[values] = next(name for name in (first, *(f"{first}-{number}" for number in range(2, len(used) + 3))) if name not in used)
        used.add(file_names[values])
    return file_names


def values_of_rows(results: pd.DataFrame, fields: Iterable[str]) -> list[list[str]]:
    """Return the values of each field, one for each row of the table that is exported for other tools."""
    texts = [text if isinstance(text, str) else None for text in results["labels"]]
    return [
        [labels_of(text).get(field, NOT_STATED) for text in texts] if is_label(field) else results[field].astype(object).fillna(NOT_STATED).tolist()
        for field in fields
    ]
