"""The installed formats, our own and those of other packages, and the detection of the format of a log."""

from __future__ import annotations

import difflib
import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from typing import NamedTuple, Protocol, cast

from tacholog.errors import UnreadableInput
from tacholog.formats.kit.bulk import Lines
from tacholog.formats.kit.findings import BulkFinding, Finding
from tacholog.formats.kit.lines import Broken, Detected, Dialect, Line, States

GROUP = "tacholog.formats"
TIME_UNITS = ("ns", "us", "ms", "s")  # Formats whose logs state no unit are read as NAME:UNIT.
_PARTS = ("SYSTEM", "TOOL", "DIALECTS", "DEFINITIONS", "detect", "parse")
_PACKED = {"BZh": "bzip2", "PK\x03\x04": "zip", "7z": "7-Zip", "Rar!": "rar", '\x04"M\x18': "lz4"}
_SEEN_CHARACTERS = 4096
_SAID_CHARACTERS = 300
_LONGEST_GAP = 40  # In characters. A quote leaves out a longer text between two words.
_CANDIDATES = 3  # The number of formats that a message names if no format fits a log.
_WORD = re.compile(r"[A-Za-z0-9_/]+")
_SPECIFIC = re.compile(r"[A-Za-z].{3}")
_BINARY_SHARE = 0.1  # If a larger share of the characters cannot occur in text, the log is binary. A few damaged bytes are a smaller share.


TABS = "there are tabs between its words: if they replaced blanks, restore the blanks with 'expand', or copy the log again"


class Format(Protocol):
    """A format module.

    ``parse`` must yield a finding for each line that it recognises. The finding may come later than the line, but not later than 4096 further lines
    or 8 MiB of text. A line without a finding is unknown, and Tacholog reports the line. ``parse`` opens no files, reads no environment variables,
    and stores a bounded number of lines.

    Optional parts:

    - ``BULK``: shapes of lines that the tool prints in very large numbers; see `tacholog.formats.kit.bulk`.
    - ``LINE_BYTES``: the limit for the length of a line, if lines are longer than 64 KiB; at most 4 MiB.
    - ``STATES``: the conditions that the log states, so that the plan of a campaign can find missing conditions; see `tacholog.formats.kit.States`.
    - ``COMPUTED``: how the format computes numbers that its tool does not print; see `computed_of`.
    - ``EXPANDS_TABS = True``: the tool prints no tabs. Tabs in a log replace blanks up to the next multiple of 8 columns.
    - ``system_of``, a function: returns the measured system for the start of a log; ``None`` if the log names no system and may be about several
      systems.
    - ``in_unit``, a function: returns this format for values in a unit of `TIME_UNITS`, if its logs state no unit. Users state it as ``NAME:us``.
    - ``read_in_any_log``, a function of Tacholog's own formats: it is called with each line that the format of a log does not recognise, for tools
      that print their messages into logs of other formats.
    """

    __doc__: str | None
    SYSTEM: str  #: the system that the tool measures unless a manifest states another system
    TOOL: str  #: the name that the tool uses for itself
    DIALECTS: Sequence[Dialect]
    DEFINITIONS: Mapping[str, str]  #: the definitions of metrics by name; each is a sentence about the meaning of the number

    def detect(self, head: str) -> Detected:
        """Return whether a log has this format, judged from its start (up to 1 MiB of text)."""
        ...

    def parse(self, lines: Iterable[Line | Lines]) -> Iterator[Finding | BulkFinding]:
        """Yield the findings, in order. Only a format with a ``BULK`` is given `Lines`."""
        ...


class InstalledFormats(NamedTuple):
    """The formats that could be loaded, and the reasons why other formats could not be loaded. A broken package affects only its own formats."""

    formats: Mapping[str, Format]
    failures: Mapping[str, str]


@functools.cache
def entries() -> Mapping[str, EntryPoint]:
    """Return the entry point of each format, sorted by name. No format is loaded."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


@functools.cache
def installed() -> InstalledFormats:
    """Return all installed formats, sorted by name."""
    loaded: dict[str, Format] = {}
    failures: dict[str, str] = {}
    for entry in entries().values():
        try:
            module = entry.load()
            if lack := _missing_part(module):
                failures[entry.name] = f"of {package_of(entry.name)} is no format: {lack}"
            else:
                loaded[entry.name] = cast("Format", module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever somebody else's module does when it is imported, sys.exit() included
            failures[entry.name] = f"of {package_of(entry.name)} cannot be loaded: {describe_error(error)}{_hint_for_older_format(error)}"
    return InstalledFormats(loaded, failures)


def _hint_for_older_format(error: BaseException) -> str:
    # The format may be for an older version of Tacholog.
    is_moved = isinstance(error, ImportError) and (error.name or "").startswith("tacholog.")
    return "; all that formats need is in tacholog.formats.kit" if is_moved else ""


def _missing_part(module: object) -> str | None:
    missing = [name for name in _PARTS if not hasattr(module, name)]
    if missing:
        return f"it lacks {', '.join(missing)}"
    kinds = {"SYSTEM": str, "TOOL": str, "DEFINITIONS": Mapping}
    wrong = [f"its {name} is no {kind.__name__}" for name, kind in kinds.items() if not isinstance(getattr(module, name), kind)]
    if not all(isinstance(dialect, Dialect) and all(isinstance(words, str) for words in dialect) for dialect in module.DIALECTS):  # type: ignore[attr-defined]
        wrong.append("its DIALECTS must all be Dialects with three texts")
    return "; ".join(wrong) or None


def describe_error(error: BaseException) -> str:
    """Describe any exception in one line of printable text, of bounded length."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception that cannot even say what it is
        text = type(error).__name__
    return "".join(char if char.isprintable() else " " for char in text[:_SAID_CHARACTERS])


def is_ours(module: Format) -> bool:
    """Whether a format is part of this project, whose tests check it."""
    return getattr(module, "__name__", "").startswith("tacholog.formats.")


def package_of(name: str) -> str:
    """Return the package that provides the format of that name, with its version."""
    entry = entries().get(name_without_unit(name))
    if entry is None:
        return "an unknown package"
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def formats() -> Mapping[str, Format]:
    """Return the formats that could be loaded, sorted by name."""
    return installed().formats


@functools.cache
def readers_of_any_log() -> Sequence[Callable[[Line], Finding | None]]:
    """Return the functions ``read_in_any_log`` of our own formats.

    Functions of other packages are not used, because they would change how all logs are read.
    """
    return [module.read_in_any_log for module in formats().values() if is_ours(module) and hasattr(module, "read_in_any_log")]


def _resolved(name: str) -> Format | None:
    """Return the format with this name, which may have a unit, as in ``hdrhistogram:us``."""
    base, colon, unit = name.partition(":")
    module = formats().get(base)
    if module is None or not colon:
        return module
    in_unit = getattr(module, "in_unit", None)
    return in_unit(unit) if in_unit and unit in TIME_UNITS else None


def name_without_unit(name: str) -> str:
    """Return the name of a format without the unit that the user states, as in ``hdrhistogram:us``."""
    return name.partition(":")[0]


def states_of(name: str) -> Mapping[str, States] | None:
    """Return which conditions are stated in the logs of a format, for each kind of test.

    The result is ``None`` if the format does not declare its conditions, or if the format is not installed.
    """
    states = getattr(_resolved(name), "STATES", None)
    if not isinstance(states, Mapping) or not all(isinstance(test, str) and isinstance(value, States) for test, value in states.items()):
        return None
    return states


def computed_of(name: str | None) -> Mapping[tuple[str, str], Sequence[str]]:
    """Return the formulas with which a format computes numbers from other numbers on the same line; empty if it declares none.

    The key is metric and statistic. A number may have several formulas, for lines with different fields. Example:
    ``{("loss", "total"): ["lost / (received + lost)"]}``.
    """
    computed = getattr(_resolved(name or ""), "COMPUTED", None)
    if not isinstance(computed, Mapping):
        return {}
    return {
        key: formulas
        for key, formulas in computed.items()
        if isinstance(formulas, tuple | list) and all(isinstance(formula, str) for formula in formulas)
    }


def formats_of_tool(tool: str) -> list[str]:
    """Return the formats whose tool has this name. Upper and lower case are equal."""
    return [name for name, module in formats().items() if tool.casefold() in (module.TOOL.casefold(), name.casefold())]


def format_named(name: str) -> Format:
    """Return the format with this name.

    Raises:
        UnreadableInput: there is no such format.
    """
    if (module := _resolved(name)) is not None:
        return module
    base, colon, _ = name.partition(":")
    if colon and base in formats():
        takes = f"one of {', '.join(f'{base}:{word}' for word in TIME_UNITS)}" if hasattr(formats()[base], "in_unit") else f"{base} without a unit"
        raise UnreadableInput(f"no format is called {name!r}: write {takes}")
    reason = f"; the format {name} {installed().failures[name]}" if name in installed().failures else ""
    raise UnreadableInput(f"no format is called {name!r}{_hint_of_similar_formats(name)}; there are: {', '.join(formats())}{reason}")


def _hint_of_similar_formats(name: str) -> str:
    near = formats_of_tool(name) or difflib.get_close_matches(name, formats(), 2)
    return f" (is {' or '.join(near)} meant?)" if near else ""


def any_fits(lines: Sequence[str], names: Collection[str] | None = None) -> bool:
    """Return whether any format (or any of the named formats) fits the first lines of a log."""
    head = "\n".join(lines)
    return any(_ask(module, head).fits for name, module in formats().items() if names is None or name in map(name_without_unit, names))


def lines_known(lines: Sequence[str]) -> int:
    """Return the largest number of lines that a fitting format claims; -1 if no format fits. ``lines`` are the first lines of a log."""
    head = "\n".join(lines)
    return max((_claimed_by(module, lines) for module in formats().values() if _ask(module, head).fits), default=-1)


def _claimed_by(module: Format, lines: Sequence[str]) -> int:
    claimed: set[int] = set()
    try:
        for finding in module.parse([Line(number, text.rstrip(" \t")) for number, text in enumerate(lines, 1)]):
            if isinstance(finding, Finding) and not isinstance(finding.what, Broken):
                claimed.update(line.number for line in (finding.line, *finding.also) if isinstance(line, Line) and line.text.strip())
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - it may be anybody's code, and is asked again, and named, when the log is read
        return 0
    return len(claimed)


def detect(head: str) -> str:
    """Return the name of the only format that fits the start of a log.

    If the first line names a format, only this format fits, even if the log quotes lines of other formats.

    Raises:
        UnreadableInput: no format fits, or several formats fit; the message names the candidates and describes the logs that they read.
    """
    if not head:
        raise UnreadableInput("the file is empty")
    plain = "\n".join(line.rstrip(" \t\r") for line in head.split("\n"))  # `reading` also removes trailing blanks.
    expanded = plain.expandtabs() if "\t" in plain else plain
    answers = {name: _ask(module, expanded if expands_tabs(module) else plain) for name, module in formats().items()}
    fitting = [name for name, detected in answers.items() if detected.fits]
    fitting = [name for name in fitting if answers[name].names_itself] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if binary := _message_if_binary(head):
        raise UnreadableInput(binary)
    if fitting:
        raise UnreadableInput(f"several formats fit: {', '.join(fitting)}; choose one with --as")
    wants = [f"{name} wants {answers[name].wants} (the log has {quote!r})" for name, quote in _nearest(answers, head)]
    failures = [f"{name} {reason}" for name, reason in installed().failures.items()]
    tried = f"none of the {len(answers)} is similar ('tacholog formats' lists them; 'tacholog scaffold NAME' begins a new one)"
    tabs = [TABS] if "\t" in plain else []
    raise UnreadableInput(f"no format fits: {'; '.join(tabs + (wants or [tried]) + failures)}")


def _nearest(answers: Mapping[str, Detected], head: str) -> list[tuple[str, str]]:
    """Return the formats that match the log best, each with a quote from the log. The best format is first.

    A format matches if two neighbouring words of the log are also neighbours in an example of the format (in ``wants``). These two words are the
    quote. A single common word is no evidence, because it also occurs in prose.
    """
    own_pairs = {name: _specific_pairs(re.findall(r"'([^'\n]+)'", detected.wants)) for name, detected in answers.items()}
    shared = Counter(pair for pairs in own_pairs.values() for pair in pairs)
    there = _specific_pairs(head.splitlines())
    quotes = {name: [there[pair] for pair in pairs if pair in there and shared[pair] == 1] for name, pairs in own_pairs.items()}
    return [(name, quotes[name][0]) for name in sorted(quotes, key=lambda name: -len(quotes[name])) if quotes[name]][:_CANDIDATES]


def _specific_pairs(texts: Iterable[str]) -> dict[tuple[str, str], str]:
    texts_of_pairs: dict[tuple[str, str], str] = {}
    for text in texts:
        for first, second in pairwise(_WORD.finditer(text)):
            if _SPECIFIC.match(first[0]) and _SPECIFIC.match(second[0]):
                pair = (first[0].lower(), second[0].lower())
                if pair not in texts_of_pairs:
                    texts_of_pairs[pair] = _quoted(text, first, second)
    return texts_of_pairs


def _quoted(text: str, first: re.Match[str], second: re.Match[str]) -> str:
    is_short = second.start() - first.end() <= _LONGEST_GAP
    return text[first.start() : second.end()] if is_short else f"{first[0]} ... {second[0]}"


def _message_if_binary(head: str) -> str | None:
    start = head[:_SEEN_CHARACTERS]
    strange = sum(not char.isprintable() and not char.isspace() for char in start) + start.count("\ufffd")
    if strange <= _BINARY_SHARE * len(start):
        return None
    packer = next((name for start, name in _PACKED.items() if head.startswith(start)), None)
    return f"packed by {packer}, which is not read: unpack it first, or use gzip, xz or zstd" if packer else "binary data, not the text of a log"


def system_of(module: Format, head: str) -> str | None:
    """Return the measured system of a log with this start; ``None`` if it is unknown. A manifest may state another system."""
    return module.system_of(head) if is_ours(module) and hasattr(module, "system_of") else module.SYSTEM


def expands_tabs(module: Format) -> bool:
    """Return whether each tab in a log of this format must be read as blanks.

    This is the case if the tool of the format prints no tabs: another program has then replaced blanks of the log by tabs.
    """
    return getattr(module, "EXPANDS_TABS", False) is True


def _ask(module: Format, head: str) -> Detected:
    try:
        fits, wants, *names_itself = module.detect(head)  # The third value is optional.
        return Detected(bool(fits), str(wants), any(names_itself))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it may be anybody's code, and call sys.exit()
        return Detected(False, f"a log for which its detect() raises no exception ({describe_error(error)})")
