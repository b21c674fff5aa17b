"""The notes of a diff: warnings, runs that failed or were cut, and the meaning of marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.diff.design import hopeless
from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import Comparison, ComparisonWarning, Controls, Difference, InputProblem, RunOrder
from tacholog.render.diff.words import host_label, percent
from tacholog.runs.problems import LOST
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.view.names import option_title
from tacholog.view.numerals import NOT_STATED
from tacholog.view.refusals import title_of

_NAMED = 5
# Differences that may have changed the host: those of its description, and what runs state of their environment (`compare.profiles`).
_ENVIRONMENT = ("cpu ", "memory ", "system ", "load ", "stolen ", "processor ")
_OF_EACH_RUN = ("governor", "turbo", "idle_states", "transparent_huge_pages", "cgroup_cpus")
_OF_MACHINE = frozenset(CODES[name] for name in MACHINE)
_CONDITION = {code: name for name, code in CODES.items()}
SAME_BUILD_USED = "Thresholds are at least as wide as the band of one build with itself on this machine, measured in"
_NO_MACHINE = f"a machine that is {NOT_STATED}"
_ENOUGH = 8  # controls that see a host whose effect varies between rows: by simulation, see docs/significance.md
_BLOCKS = "The sides did not take turns: the controls show that the host was not the same during both, but neither when it changed nor why."
UNPAIRED = (
    "Pairs are runs of one session and repetition that were made next to each other. Where there are more runs than pairs (of so many runs), "
    "the other runs have no partner, such as those of another campaign: the ratio, the test and the shown values leave them out."
)
_BY_MEDIANS = "Such rows are judged as single values (their medians)."
SAME_RUNS = "Both sides are the same runs, by the SHA-256 of their logs and by when they were made: nothing was compared."
WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "same_build": "Both sides are the same build (A/A): every worse or better here is a false alarm.",
        "order_confounded": "The sides did not take turns: at some moment one side was ahead by more than a quarter "
        "of its runs. Anything else that changed meanwhile, such as temperature or load, looks like a change of the release. "
        f"{_BY_MEDIANS} Interleave the runs to get a verdict, as tacholog ab does.",
        "sessions_confounded": "The sessions of the sides did not take turns: at some moment one side was ahead by more than a quarter of "
        "its sessions. Anything else that changed meanwhile, such as the machine, looks like a change of the release. "
        f"{_BY_MEDIANS} Alternate the sessions to get a verdict.",
        "pairs_unnamed": "The runs of both sides took turns, but do not all state which of them belong together: a pair is two runs of the same "
        f"session and repetition (run.toml). {_BY_MEDIANS}",
        "few_pairs": f"Fewer than {MIN_RUNS} pairs of runs, one of each side, of one session and repetition, were made next to each other. "
        f"{_BY_MEDIANS}",
        "order_unknown": f"The order in which the runs were made is not known, so drift cannot be told from change. {_BY_MEDIANS}",
        "same_first": "The same side ran first in every pair or session, or in nearly every one. The effect of running first, such as a cold cache, "
        f"looks like a change of the release. {_BY_MEDIANS} Let the sides take turns in running first, as tacholog ab does.",
        "ab_unfinished": "Interrupted: {0.count} of {0.planned} planned runs were made. The comparison is valid, but fewer pairs detect less.",
        "ab_resumed": "Interrupted and resumed: not all pairs were made in one session, but the two runs of each pair were.",
        "ab_extended": "Extended: {0.count} pairs were planned, then {0.planned}. Adding pairs because of the first results finds changes that "
        "are not there: if a verdict is near the limit, measure again.",
        "shared_runs": "{0.count} runs are on both sides: for these, a side is compared with itself.",
        "latency_of": "{0.count} rows have the latency of bytes on one side, because it grows with the size (g), and that of a reference on the "
        "other (r). These are two different quantities: their ratio says nothing about the release.",
        "no_figures": "The {0.side} side has no figures: none of its logs has a result.",
        "gate_empty": "No row of a gate was tested: its rows are missing, not comparable, or have too few runs.",
        "single_values": "Rows with one value on each side cannot be tested. Their differences may be noise.",
    }
)


_HOPELESS: Mapping[str, str] = MappingProxyType(
    {
        "order_confounded": "More runs of this kind will not give a verdict either: all runs of one side were made before those of the other, so "
        "anything else that changed meanwhile looks like a change of the release. tacholog ab gives one, or at least six sessions a side that take "
        "turns.",
        "order_unknown": "More runs of this kind will not give a verdict either: the runs do not state when they were made (start_time in run.toml).",
    }
)


def _layout(report: Comparison) -> list[str]:
    """Say of rows with too few runs if their number is not all that is missing."""
    if not any("few_runs" in row.reasons for row in report.rows):
        return []
    why = hopeless(report.runs)
    return [_HOPELESS[why]] if why else []


def warnings(report: Comparison) -> list[str]:
    """The warnings that a reader must see before the rows."""
    found = [*unusable(report), *ended(report), *(_warning(one) for one in report.warnings if one.code != "same_runs")]  # that is the conclusion
    sessions = report.settings.same_build_sessions
    found += [*_unpaired(report), *_layout(report), *host_words(report)]
    return [*found, f"{SAME_BUILD_USED} {len(sessions)} session{'s' if len(sessions) > 1 else ''} of one build."] if sessions else found


def machine_words(report: Comparison) -> list[str]:
    """Whether rows compare runs of two machines, which these are, and whether any of these rows is called better or worse.

    Machines are compared by their hardware, not by their name, so a release on one virtual machine is compared with the next one on another.
    """
    both = [row for row in report.rows or report.losses if row.old and row.new and row.verdict != "not_comparable"]
    found = [(row, one) for row in both for one in row.differences if one.field == "host"]
    if not found:
        return []
    which = Counter((one.old, one.new) for _, one in found).most_common()
    named = "; ".join(f"{old or _NO_MACHINE} (old) with {new or _NO_MACHINE} (new)" for (old, new), _ in which[:_NAMED])
    more = f"; and {len(which) - _NAMED} more pairs of machines" if len(which) > _NAMED else ""
    called = sum(row.verdict in ("worse", "better") for row, _ in found)
    rows = f"{len(found)} of the {len(both)} rows with values on both sides compare" if len(both) > 1 else "The row compares"
    verdicts = ""
    if report.counts["worse"] or report.counts["better"]:
        verdicts = f" {called or 'None'} of the rows that are better or worse {'is' if called == 1 or not called else 'are'} among them."
    return [f"Not the same machine: {rows} {named}{more}. The stated hardware is the same, but the machine may explain a difference.{verdicts}"]


def host_words(report: Comparison) -> list[str]:
    """Code or host: what the controls say, and what else differs between the environments."""
    candidates = [one for one in report.changed if one.field.startswith(_ENVIRONMENT) or one.field in _OF_EACH_RUN]
    named = "; ".join(f"{one.field} {one.old or NOT_STATED} -> {one.new or NOT_STATED}" for one in candidates)
    controls = report.controls
    called = report.counts["worse"] + report.counts["better"]
    if controls is None or controls.moved is None or controls.change is None or controls.p is None:
        why = "no control was measured" if controls is None else _not_judged(controls)
        return [f"The environments differ, and {why}: release or host? Candidates: {named}."] if named and called else []
    if not controls.moved:
        found = [_not_moved(controls, controls.change, controls.p)]
        found += [f"But the environments differ: {named}. Controls show only effects on what they use."] if named and called else []
        found += [_few(controls.judged)] if called and controls.judged < _ENOUGH else []
    else:
        found = [
            _moved(controls, controls.change, controls.p),
            f"What else differs between the environments, as candidates: {named or 'nothing that was recorded'}.",
        ]
    if controls.uncovered:
        found.append(f"No control uses {', '.join(controls.uncovered)}: whether the host changed for rows of it, the controls cannot tell.")
    return found


def changed_words(found: Difference) -> str:
    """What else is not the same on both sides, as pages call it: ``warm-up: 0.2 -> 0.1 s``."""
    words, unit = option_title(found.field)
    if not (found.old and found.new):  # The unit stands behind the last value.
        return f"{words}: {f'{found.old}{unit}' if found.old else NOT_STATED} -> {f'{found.new}{unit}' if found.new else NOT_STATED}"
    return f"{words}: {found.old} -> {found.new}{unit}"


def _not_judged(controls: Controls) -> str:
    other = "the controls of the two sides are not the same program, so they show nothing"
    if controls.other:
        return other
    if all(row.verdict == "not_comparable" for row in controls.rows):
        return "the controls of the two sides were measured under different conditions"
    return f"the controls have fewer than {MIN_RUNS} runs on a side"


def _not_moved(controls: Controls, change: float, p: float) -> str:
    """How much the controls changed on average all the same: few runs, or noisy ones, cannot show that the host stayed as it was."""
    mean = f"{percent(abs(change))} {'worse' if change > 0 else 'better'}"
    rows = f"{controls.judged} row{'' if controls.judged == 1 else 's'} that no release changes"
    shown = f"{rows}; {mean} on average, p {p:.2g}"
    return f"The controls show no significant change of the host ({shown})."


def _few(judged: int) -> str:
    counted = f"{judged} control{'' if judged == 1 else 's'}"
    return f"Only {counted} could be judged. Fewer than {_ENOUGH} can miss a change of the host that is not the same for all rows."


def _moved(controls: Controls, change: float, p: float) -> str:
    """How much the controls moved, and what that explains."""
    low, high = controls.explains or (None, None)
    ends = [f"{percent(abs(end))} {way}" for end, way in ((low, "better"), (high, "worse")) if end is not None]
    explained = f"changes of other rows from {' to '.join(ends)}" if len(ends) > 1 else "any change of other rows, because one control shows no range"
    label = host_label(change)
    found = f"{label[:1].upper()}{label[1:]} (p {p:.2g}). That may explain {explained}"
    return f"{found}. {_BLOCKS}" if controls.layout == "blocks" else f"{found}: they are not called better or worse."


def _unpaired(report: Comparison) -> list[str]:
    """Why some rows have fewer pairs than runs."""
    tested = [row for row in report.rows if row.design == "paired" and row.old and row.new and row.p_adjusted is not None]
    if not any(len(row.old.values) < max(row.old.runs, row.new.runs) for row in tested if row.old and row.new):
        return []
    return [UNPAIRED]


def _warning(found: ComparisonWarning) -> str:
    write = _WRITERS.get(found.code)
    return write(found) if write else WARNINGS.get(found.code, found.text).format(found)


def _hint(found: ComparisonWarning) -> str:
    (field,) = found.names
    return f"No row is on both sides. To compare rows whose {title_of(field)} is not the same, use tacholog diff --across {field}."


def _of_labels(found: ComparisonWarning) -> str:
    titles = ", ".join(map(title_of, found.names))
    return f"Rows with different labels are not compared: {titles}. To compare them, add {_across(found.names)}."


def _across(fields: Iterable[str]) -> str:
    return " ".join(f"--across {field}" for field in fields)


def _configurations(found: ComparisonWarning) -> str:
    """Which choices stand in the way of all rows, and how to compare them."""
    named = f"{' and '.join(title_of(CODES[field]) for field in found.names)} {'is' if len(found.names) == 1 else 'are'} not the same"
    return f"Nothing was compared, because {named}. To compare these configurations, add {_across(found.names)}."


def _no_direction(found: ComparisonWarning) -> str:
    words = "; ".join(METRICS[metric].words for metric in found.names)
    which = "No side has" if found.side == "both" else f"The {found.side} side does not have"
    return f"{which} a figure that could be better or worse, so nothing is compared. There is only: {words}."


def _sizes_unstated(found: ComparisonWarning) -> str:
    """Why rows without a size may mean nothing, and how sizes can be stated."""
    if found.count == 1:
        which = f"The log of {found.side} states no message size: a difference of rows without one may be that of their sizes"
    else:
        which = f"{found.count} logs of {found.side} state no message size, and may have different ones: rows without a size mix them"
    return (
        f"{which}. To state sizes, make runs of the logs with tacholog import: a pattern with {{payload_bytes}} reads the size out of their paths, "
        "--set payload_bytes=NUMBER states one for all (docs/import.md)."
    )


def _unverified(found: ComparisonWarning) -> str:
    """Which conditions stand in the way of a verdict, and where they can be stated."""
    rows = "1 row of repeated runs has" if found.count == 1 else f"{found.count} rows of repeated runs have"
    where = "; ".join(f"{title_of(field)} ({_place_of(field)})" for field in found.names)
    return f"{rows} no verdict, because neither the logs nor run.toml state, on one side or both: {where}. {_BY_MEDIANS}"


_WRITERS: Mapping[str, Callable[[ComparisonWarning], str]] = MappingProxyType(
    {
        "try_across": _hint,
        "labels": _of_labels,
        "configurations": _configurations,
        "no_direction": _no_direction,
        "sizes_unstated": _sizes_unstated,
        "unverified": _unverified,
    }
)


def _place_of(field: str) -> str:
    """Where somebody who makes the runs can state a condition."""
    if field in _OF_MACHINE:
        return "in the host file"
    if field == "harness_major":
        return "tool_version in run.toml"
    return f"{_CONDITION.get(field, field)} under [conditions] in run.toml, or in the campaign"


def ended(report: Comparison) -> list[str]:
    """The runs of each side that did not end well: how many of how many, and the first of them with the reason."""
    sides: tuple[tuple[Literal["old", "new"], int], ...] = (("old", report.old.runs), ("new", report.new.runs))
    return [sentence for side, total in sides if (sentence := _ended([run for run in report.runs if run.side == side], side, total))]


def _ended(runs: list[RunOrder], side: str, total: int) -> str | None:
    bad = [run for run in runs if run.status not in (None, "ok")]
    if not bad:
        return None
    kinds = Counter(str(run.status) for run in bad)
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in ("failed", "truncated", "empty") if kinds[kind])
    names = "; ".join(f"{run.run} ({run.status}{f': {run.reason}' if run.reason else ''})" for run in bad[:_NAMED])
    more = f"; and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return (
        f"Not every run of the {side} side ended well ({counted}, of {total}): {names}{more}. "
        "Rows of a failed run get no verdict; a truncated run counts with what it has."
    )


def unusable(report: Comparison) -> list[str]:
    """What of each side could not be used: each run, log or folder by name, of lines the first and how many there are."""
    sides: tuple[tuple[Literal["old", "new"], int], ...] = (("old", report.old.problems), ("new", report.new.problems))
    return [sentence for side, total in sides for sentence in _unusable([one for one in report.problems if one.side == side], side, total)]


def _unusable(found: list[InputProblem], side: str, total: int) -> Iterator[str]:
    lost = [one for one in found if one.kind in LOST]
    if lost:
        more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        yield f"Not all of the {side} side could be used as it should be: {'; '.join(map(_place, lost[:_NAMED]))}{more}."
    rest = [one for one in found if one.kind not in LOST]
    if rest:
        count = total - len(lost)
        yield f"{count} {'lines or files' if count > 1 else 'line or file'} of the {side} side could not be used, the first: {_place(rest[0])}."


def _place(found: InputProblem) -> str:
    raw = found.run.rpartition("/")[2] == found.log  # a log without a manifest is its own run, and named by its path
    place = found.run if raw else "/".join(part for part in (found.run, found.log) if part)
    return f"{place}{f':{found.line}' if found.line else ''}: {found.kind}: {found.reason}"


def marked(report: Comparison) -> list[str]:
    """What the marks of the rows that were compared mean, each once. That a row failed or was published again, the row itself says."""
    found = Counter(
        mark for row in report.rows if row.marks and row.old and row.new and row.verdict not in ("invalid", "lossy") for mark in row.marks
    )
    found.pop("republished", None)
    return [f"{mark.title} ({found[name]} row{'s' if found[name] > 1 else ''}): {mark.sentence}" for name, mark in MARKS.items() if name in found]
