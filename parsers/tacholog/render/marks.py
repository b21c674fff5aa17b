"""Quality marks: the sign at a number, and the note to which it links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.schema.marks import MARKS, Mark
from tacholog.view.series import TWO_GROUPS, Cell

_OF_SOME_RUNS = " Some numbers have this mark because of only some of their runs."
UsedMarks = dict[str, bool]  # the marks on a page; the value is True if any number has the mark only because of some of its runs


def mark_of(name: str) -> Mark:
    """Return a mark by its id. A mark that this version does not know, such as that of a newer version, is shown as unknown."""
    return MARKS.get(name) or Mark("*", name, "The installed version of Tacholog does not know this mark.")


def in_order(names: Iterable[str]) -> list[str]:
    """Return the marks without duplicates, in the order of the registry."""
    order = list(MARKS)
    return sorted(set(names), key=lambda name: (order.index(name) if name in order else len(order), name))


def mark_link(name: str, anchor: str) -> Html:
    """Return the sign of a mark, linked to its note below the tables."""
    mark = mark_of(name)
    return tag("a", mark.sign, href=f"#{anchor}-mark-{name}", class_="tl-mark", title=mark.title, aria_label=f"Mark: {mark.title}")


def mark_by_title(name: str, anchor: str) -> Html:
    """Return the title of a mark, linked to its note. In a sentence, its sign would be a letter without a meaning."""
    return tag("a", mark_of(name).title, href=f"#{anchor}-mark-{name}")


def shared_mark(name: str, anchor: str) -> Html:
    """Return the words that stand above a table if nearly all its numbers have a mark."""
    return join([mark_by_title(name, anchor), ": all, or nearly all, numbers in this table."])


def shared_marks_note(names: Iterable[str], anchor: str) -> Html:
    """Return the note that stands above a table and names the marks of nearly all numbers; nothing if there are no such marks."""
    notes = [shared_mark(name, anchor) for name in names]
    return tag("p", join(notes, " "), class_="tl-note") if notes else NOTHING


def add_shared_marks(used: UsedMarks, shared: Iterable[str]) -> None:
    """Add the marks that stand above a table to the used marks, so that the note for each mark is written.

    These marks must be added separately: if the table is shortened, perhaps none of the shown numbers has such a mark.
    """
    for mark in shared:
        used.setdefault(mark, False)


def add_marks(used: UsedMarks, cell: Cell) -> None:
    """Add the marks of a number, and whether only some of its runs have them.

    The mark `TWO_GROUPS` is an exception: it counts as a mark of all runs, because it describes all runs together and no single run has it.
    """
    for mark in cell.marks:
        used[mark] = used.get(mark, False) or (mark != TWO_GROUPS and not all(mark in result.marks for result in cell.results))


def mark_notes(used: Mapping[str, bool], anchor: str) -> Html:
    """Return the note for each mark, in the order of the registry; nothing without marks."""
    notes = [tag("li", _words(mark_of(name)), _OF_SOME_RUNS if used[name] else "", id=f"{anchor}-mark-{name}") for name in in_order(used)]
    return tag("ul", *notes, class_="tl-notes", aria_label="What the marks mean") if notes else NOTHING


def _words(mark: Mark) -> Html:
    return join([tag("span", mark.sign, class_="tl-sign", aria_hidden="true"), tag("strong", f"{mark.title}."), " ", mark.sentence])
