"""The account of a log: how many lines of each class it has, and the facts that it states about its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from tacholog.schema.conditions import Conditions
from tacholog.schema.records import SEVERITY, Facts, Status

LineClass = Literal["record", "chatter", "broken", "unknown"]


class Account(msgspec.Struct):
    """The number of lines of each class in a log, and the facts about its runs.

    ``runs`` has the facts of each run that has ended. ``facts`` are the facts of the current run or, at the end of the log, the facts that all runs
    share.
    """

    records: int = 0
    lines: Counter[LineClass] = msgspec.field(default_factory=Counter)
    facts: Facts = msgspec.field(default_factory=Facts)
    runs: list[Facts] = msgspec.field(default_factory=list)
    size_bytes: int = 0
    sha256: str = ""
    text_sha256: str = ""  # The SHA-256 of the decompressed text.
    earlier_records: int = 0  # The number of records of the runs before the current run.
    first_time: str | None = None  # The time in the prefix of the first line of the current run.

    @property
    def total(self) -> int:
        """The number of lines. Each line is in exactly one class."""
        return self.lines.total()

    @property
    def status(self) -> Status | None:
        """How the run ended. If the log does not state it, the status is ``empty`` without records, and ``None`` (not stated) with records.

        Many tools print nothing at their end, so the log of a stopped run looks like the log of a shorter run.
        """
        return self.facts.status or (None if self.records else "empty")

    @property
    def reason(self) -> str | None:
        """The reason for the status."""
        return self.facts.reason or (None if self.records else "no result in the log")

    def facts_of(self, run: int) -> Facts:
        """Return the facts about one of the runs. They are complete only at the end of the log, because metadata in JSON may come last."""
        return self.runs[run] if run < len(self.runs) else self.facts

    def conditions(self, run: int) -> Conditions:
        """Return the conditions of one of the runs; see `facts_of`."""
        return self.facts_of(run).conditions

    def learn(self, facts: Facts) -> None:
        """Replace older facts by newer facts.

        If the log states a version when the run already has results, the tool was started again, and another run begins.
        """
        if facts.tool_version and self.facts.tool_version and self.records > self.earlier_records:
            self.close_run()
        old = self.facts
        changes = {name: value for name in Facts.__struct_fields__ if (value := getattr(facts, name))}
        if facts.status == "ok" and old.status:
            changes.pop("status")  # A failure stays recorded, even if the tool then ends normally.
        changes["conditions"] = facts.conditions.over(old.conditions)
        changes["environment"] = old.environment | facts.environment
        self.facts = msgspec.structs.replace(old, **changes)

    def close_run(self) -> None:
        """Store the facts of the current run. If the log states no start time, the time in the prefix of the first line is used."""
        began = self.first_time if not self.facts.start_time else None
        self.runs.append(msgspec.structs.replace(self.facts, start_time=began) if began else self.facts)
        self.facts, self.earlier_records, self.first_time = Facts(), self.records, None

    def close(self) -> None:
        """End the log. From now on, ``facts`` are the facts that all runs share."""
        self.close_run()
        self.facts = _shared_facts(self.runs)


def _shared_facts(runs: Sequence[Facts]) -> Facts:
    first, *others = runs
    if not others:
        return first
    worst = max(runs, key=lambda run: SEVERITY[run.status])
    names = ("tool_version", "system", "system_version", "build")
    return Facts(
        conditions=Conditions(**_shared([msgspec.structs.asdict(run.conditions) for run in runs])),
        **_shared([{name: getattr(run, name) for name in names} for run in runs]),
        environment=_shared([run.environment for run in runs]),
        start_time=first.start_time,
        status=worst.status,
        reason=worst.reason,
    )


def _shared(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in each[0].items() if all(other.get(name) == value for other in each)}
