"""The fields that the user states for each log: by its path, by the rule for its path, and by ``--set``.

The path and its rule have priority over ``--set``. It only sets fields that neither the path, nor the rule, nor the logs state. If the path and its
rule state the same field differently, one of them is wrong, and the log is refused.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.formats.registry import format_named
from tacholog.runs.importing.facts import SidecarFacts
from tacholog.runs.importing.fields import OF_LOG, full_name, typed
from tacholog.runs.importing.patterns import ROLE, ROLES, Disagreement, Pattern, read_pattern
from tacholog.runs.manifest import read_toml
from tacholog.schema.records import Side


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[rule]]`` of a rules file.

    Attributes:
        path: a pattern, as for ``--map``.
        set: fields and their values.
        format: the format of the logs, if their content does not show it.
        results: false for logs without results, such as the output of a server that only reports that it listens.
    """

    path: str
    set: dict[str, Any] = {}
    format: str | None = None
    results: bool = True


class RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rules file.

    Attributes:
        rule: the rules. The first rule that fits a path is used.
        ignore: patterns of files to ignore: see `Rules.is_ignored`.
    """

    rule: tuple[Rule, ...] = ()
    ignore: tuple[str, ...] = ()


class PreparedRule(NamedTuple):
    """A rule after its pattern and its values were checked."""

    pattern: Pattern
    values: dict[str, Any]
    format: str | None
    results: bool


class LogFields(NamedTuple):
    """The fields that the user states for one log.

    Attributes:
        values: the values of the fields of its run, by their full names. The fields of the path come first, in the order of the pattern.
        of_path: the names of the fields that the path states.
        of_defaults: the names of the fields that only ``--set`` states.
        role: the role in the path or rule, such as ``server``.
        participant: the digits of the participant in the path or rule.
        format: the format that the rule states.
        results: whether the log may contain results. It is false if the rule states that there are none.
    """

    values: dict[str, Any]
    of_path: tuple[str, ...]
    of_defaults: tuple[str, ...]
    role: str | None
    participant: str | None
    format: str | None
    results: bool

    @property
    def side(self) -> Side | None:
        """Return the side that belongs to the role."""
        return ROLES[self.role] if self.role else None


class Rules(NamedTuple):
    """Everything that the user states about the logs of a folder.

    Attributes:
        rules: the rules in their order.
        ignore: the patterns of `is_ignored`.
        defaults: the values of ``--set``.
        facts: the files of facts next to the logs, if the user names such files.
    """

    rules: tuple[PreparedRule, ...]
    ignore: tuple[str, ...]
    defaults: dict[str, Any]
    facts: SidecarFacts | None = None

    def is_ignored(self, path: str) -> bool:
        """Return whether the user asked to ignore a file.

        ``*`` stands for any text, even with slashes. If a pattern has no slash, it is compared with the name of the file; any other pattern is
        compared with the whole path.
        """
        name = path.rpartition("/")[2]
        return any(fnmatch.fnmatchcase(path if "/" in word else name, word) for word in self.ignore)

    def matches(self, path: str) -> bool:
        """Whether the file is not ignored and a pattern fits its path."""
        return not self.is_ignored(path) and any(isinstance(rule.pattern.match(path), dict) for rule in self.rules)

    def of_log(self, path: str) -> LogFields | str | None:
        """Return the fields that the user states for the log at a path.

        Returns:
            `LogFields`; the reason, as a sentence, if the path is refused; ``None`` if no pattern fits.
        """
        reasons: list[str] = []
        for rule in self.rules:
            match = rule.pattern.match(path)
            if match is None:
                continue
            if isinstance(match, Disagreement):
                reasons.append(str(match))
                continue
            try:
                of_path = {full_name(name, ""): typed(full_name(name, ""), text) for name, text in match.items()}
            except ValueError as error:
                reasons.append(f"in the path, {error}")
                continue
            return self._complete(path, of_path, rule)
        return "; ".join(reasons) or None

    def _complete(self, path: str, of_path: dict[str, Any], rule: PreparedRule) -> LogFields | str:
        """Return the fields of a log. They come from the path, the rule, the file of facts and the default values.

        Return a sentence with the reason if these values contradict each other, or if a value in the file of facts is wrong.
        """
        for name, value in rule.values.items():
            if of_path.get(name, value) != value:
                return f"the path states {name} = {of_path[name]!r}, its rule states {value!r}"
        values = {**of_path, **rule.values}
        try:
            of_facts = self.facts.of_log(path) if self.facts else {}
        except ValueError as error:
            return str(error)
        for name, value in of_facts.items():
            if values.get(name, value) != value:
                return f"the path or its rule states {name} = {values[name]!r}, the file of facts states {value!r}"
        values |= of_facts
        of_defaults = {name: value for name, value in self.defaults.items() if name not in values}
        values |= of_defaults
        of_run = {name: value for name, value in values.items() if name not in OF_LOG}
        names = tuple(name for name in of_path if name not in OF_LOG)
        return LogFields(
            of_run,
            names,
            tuple(name for name in of_defaults if name in of_run),
            values.get(ROLE),
            values.get("participant"),
            rule.format,
            rule.results,
        )


def read_rules(maps: Sequence[str], file: Path | None, settings: Sequence[str], ignore: Sequence[str] = ()) -> Rules:
    """Combine the options of the command line with a rules file.

    Args:
        maps: patterns, which are tried before those of the file.
        file: a rules file.
        settings: ``key=value``.
        ignore: further patterns of files to ignore.

    Raises:
        UnreadableInput: the file cannot be read, or a pattern, a field or a value is wrong.
    """
    content = read_toml(file, RuleFile) if file else RuleFile()
    rules = [_prepared(Rule(path=text), "--map") for text in maps]
    rules += [_prepared(rule, f"{file}: rule {number}") for number, rule in enumerate(content.rule, start=1)]
    return Rules(tuple(rules), (*ignore, *content.ignore), _settings(settings))


def _prepared(rule: Rule, where: str) -> PreparedRule:
    pattern = read_pattern(rule.path, where)
    for name in pattern.fields:
        full_name(name, f"{where} {rule.path!r}")
    if rule.format:
        format_named(rule.format)
    return PreparedRule(pattern, _typed_values(_flat(rule.set), f"{where}: set"), rule.format, rule.results)


def _flat(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values with full names. In TOML, ``label.plugin`` is a table ``label`` with the key ``plugin``."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", content) for inner, content in value.items())
        else:
            yield name, value


def _settings(settings: Sequence[str]) -> dict[str, Any]:
    pairs = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UnreadableInput(f"--set {setting}: write --set NAME=VALUE")
        pairs.append((name.strip(), value.strip()))
    return _typed_values(pairs, "--set")


def _typed_values(pairs: Iterable[tuple[str, Any]], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        full = full_name(name, where)
        if full in values:
            raise UnreadableInput(f"{where}: {full} is stated twice")
        try:
            values[full] = typed(full, value)
        except ValueError as error:
            raise UnreadableInput(f"{where}: {error}") from None
        if full == ROLE and value not in ROLES:
            raise UnreadableInput(f"{where}: role = {value!r} is not one of {', '.join(ROLES)}")
    return values
