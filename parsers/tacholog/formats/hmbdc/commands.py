"""The commands of hmbdc's performance sample, taken apart: words, and the values that their shell loops run over.

The sample writes three kinds of lines: a command; ``for s in 100 1000; do COMMAND; done``, with ``$s`` for the size; and ``for cfg in "100 500"
"1000 50"; do a=($cfg); COMMAND; done``, with ``${a[0]}`` and ``${a[1]}`` for size and rate.
Source: perf-sample.txt of hmbdc releases 14-2 and 15.17-1.
"""

from __future__ import annotations

import re
import shlex

import msgspec

_LOOP = re.compile(r"for (?P<name>[a-z]{1,8}) in (?P<values>[^;]{1,400}); do (?:a=\(\$(?P<split>[a-z]{1,8})\); )?(?P<command>[^;]{1,1500}); done")
_VARIABLE = re.compile(r"\$(?:\{a\[(?P<index>[0-9])\]\}|(?P<name>[a-z]{1,8})\b)")
_OPTIONS = {"--msgSize": "payload_bytes", "-m": "payload_bytes", "--msgPerSec": "messages_per_s"}
_SHELL = frozenset("$`;|&<>(){}")


class CommandLine(msgspec.Struct, frozen=True):
    """A command: its words, with ``{payload_bytes}`` and ``{messages_per_s}`` for what a loop put there, and those values, run by run."""

    argv: tuple[str, ...]
    each: tuple[dict[str, int], ...] = ()


def read_command(text: str) -> CommandLine | None:
    """Take a command line apart; ``None`` if it holds more shell than the sample's."""
    loop = _LOOP.fullmatch(text.strip())
    try:
        words = shlex.split(loop["command"] if loop else text)
        values = [value.split() for value in shlex.split(loop["values"])] if loop else []
    except ValueError:
        return None
    names: dict[int, str] = {}
    argv = tuple(_word(before, word, names) for before, word in zip(["", *words], words, strict=False))
    if not argv or any(map(_holds_shell, argv)) or not all(_are_numbers(value, max(names, default=0)) for value in values):
        return None
    return CommandLine(argv, tuple({name: int(value[at]) for at, name in sorted(names.items())} for value in values if names))


def _holds_shell(word: str) -> bool:
    return bool(_SHELL.intersection(word.replace("{payload_bytes}", "").replace("{messages_per_s}", "")))


def _are_numbers(value: list[str], last: int) -> bool:
    """Whether what a loop runs over once has a number in each place up to the last."""
    return len(value) > last and all(part.isascii() and part.isdecimal() for part in value)


def _word(before: str, word: str, names: dict[int, str]) -> str:
    """The word with its variable named after the option that it is of; ``names`` learns which of a loop's values that is."""
    option = _OPTIONS.get(word.partition("=")[0] if "=" in word else before)
    variable = _VARIABLE.search(word)
    if variable is None or option is None:
        return word
    names[int(variable["index"] or 0)] = option
    return word[: variable.start()] + "{" + option + "}" + word[variable.end() :]
