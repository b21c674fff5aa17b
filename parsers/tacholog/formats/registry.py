"""The formats that are installed, our own and other people's alike, and which of them a log is in."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol, cast

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


class Installed(NamedTuple):
    """The formats that could be loaded, and why the others could not: somebody else's broken package costs only its own format."""

    formats: Mapping[str, Format]
    failures: Mapping[str, str]


@functools.cache
def installed() -> Installed:
    """All formats that are installed, by name, sorted."""
    loaded: dict[str, Format] = {}
    failures: dict[str, str] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            loaded[entry.name] = cast("Format", entry.load())
        except (ImportError, AttributeError) as error:
            failures[entry.name] = f"cannot be loaded: {error}"
    return Installed(loaded, failures)


def formats() -> Mapping[str, Format]:
    """The formats that could be loaded, by name, sorted."""
    return installed().formats


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
    wants = [f"{name} wants {detected.wants}" for name, detected in said.items()]
    failures = [f"{name} {reason}" for name, reason in installed().failures.items()]
    raise UnreadableInput(f"no format fits: {'; '.join(wants + failures)}")
