"""The formats that are installed, our own and other people's alike, and which of them a log is in."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Protocol, cast

from tacholog.errors import UnreadableInput
from tacholog.formats.lines import Detected, Dialect, Found, Line

GROUP = "tacholog.formats"


class Format(Protocol):
    """A format module.

    ``parse`` claims every line it understands within 4096 lines of having been given it; a line that it does not claim is unknown and is reported.
    It opens nothing, reads no environment, and keeps no more than a bounded number of lines.
    """

    __doc__: str | None
    SYSTEM: str  #: the system that the tool measures unless a manifest says otherwise
    TOOL: str  #: the tool's own name
    DIALECTS: Sequence[Dialect]
    DEFINITIONS: Mapping[str, str]  #: metric definitions by name: a sentence each on what the number is

    def detect(self, head: str) -> Detected:
        """Say whether the start of a log (up to 1 MiB of text) is of this format."""
        ...

    def parse(self, lines: Iterable[Line]) -> Iterator[Found]:
        """Yield what is found, in order."""
        ...


@functools.cache
def formats() -> Mapping[str, Format]:
    """All installed formats by name, sorted."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return {entry.name: cast("Format", entry.load()) for entry in found}


def format_named(name: str) -> Format:
    """The format of that name.

    Raises:
        UnreadableInput: there is none.
    """
    try:
        return formats()[name]
    except KeyError:
        raise UnreadableInput(f"no format is called {name!r}; there are: {', '.join(formats())}") from None


def detect(head: str) -> str:
    """Name the one format that the start of a log is in.

    Raises:
        UnreadableInput: none fits, or several do; the message names the candidates and what each wants.
    """
    if not head:
        raise UnreadableInput("the file is empty")
    said = {name: module.detect(head) for name, module in formats().items()}
    fitting = [name for name, detected in said.items() if detected.fits]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UnreadableInput(f"several formats fit: {', '.join(fitting)}; choose one with --as")
    wants = "; ".join(f"{name} wants {detected.wants}" for name, detected in said.items())
    raise UnreadableInput(f"no format fits: {wants}")
