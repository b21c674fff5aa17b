"""The notes of a comparison: warnings, runs that failed or were truncated, and the meaning of marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from tacholog.compare.comparable import CODES, MACHINE
from tacholog.compare.diff.design import hopeless
from tacholog.compare.policy import MIN_RUNS
from tacholog.compare.result import DIFFERS, Comparison, ComparisonRow, ComparisonWarning, Controls, Difference, InputProblem, Loss, RunOrder
from tacholog.render.diff.words import host_label, percent
from tacholog.runs.problems import LOST
from tacholog.schema.marks import MARKS
from tacholog.schema.metrics import METRICS
from tacholog.view.names import option_title, row_name
from tacholog.view.numerals import NOT_STATED
from tacholog.view.refusals import title_of

_NAMED = 5
# If one of the following fields differs between the sides, the host may have changed. `_ENVIRONMENT` has the first words of the names of facts.
# `_OF_EACH_RUN` has the names of properties of hosts.
_ENVIRONMENT = ("cpu ", "memory ", "system ", "load ", "stolen ", "processor ")
_OF_HARDWARE = ("cpu ", "memory ")
_OF_EACH_RUN = ("governor", "turbo", "idle_states", "transparent_huge_pages", "cgroup_cpus")
_OF_MACHINE = frozenset(CODES[name] for name in MACHINE)
_CONDITION = {code: name for name, code in CODES.items()}
SAME_BUILD_USED = "Thresholds are at least as wide as the band of one build with itself on this machine, measured in"
_IN_OTHER_WORDS = ("same_runs", "first_look")  # not repeated as warnings, because the conclusion or `first_look_words` states them
_NO_MACHINE = f"a machine that is {NOT_STATED}"
_ENOUGH = 8  # With fewer controls, a change of the host may be missed if it affects only some rows; see docs/significance.md.
_BLOCKS = "The sides did not take turns: the controls show that the host was not the same during both, but neither when it changed nor why."
UNPAIRED = (
    "Pairs are runs of one session and repetition that were made next to each other. If a row has more runs than pairs, "
    "the other runs have no partner, such as those of another campaign: the ratio, the test and the shown values leave them out."
)
_BY_MEDIANS = "Such rows are judged as single values (their medians)."
_BY_RUNS = "Such rows can only show whether the two measurements differ; where the runs do not show that, their medians are compared."
SAME_RUNS = "Both sides are the same runs, by the SHA-256 of their logs and by when they were made: nothing was compared."
WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "same_build": "Both sides are the same build (A/A): every worse or better here is a false alarm.",
        "order_confounded": "The sides did not take turns: at some moment one side was ahead by more than a quarter "
        "of its runs. Anything else that changed meanwhile, such as temperature or load, looks like a change of the release. "
        f"{_BY_RUNS} Interleave the runs to get a verdict, as tacholog ab does.",
        "sessions_confounded": "The sessions of the sides did not take turns: at some moment one side was ahead by more than a quarter of "
        "its sessions. Anything else that changed meanwhile, such as the machine, looks like a change of the release. "
        f"{_BY_RUNS} Alternate the sessions to get a verdict.",
        "pairs_unnamed": "The runs of both sides took turns, but do not all state which of them belong together: a pair is two runs of the same "
        f"session and repetition (run.toml). {_BY_MEDIANS}",
        "few_pairs": f"Fewer than {MIN_RUNS} pairs of runs, one of each side, of one session and repetition, were made next to each other. "
        f"{_BY_MEDIANS}",
        "order_unknown": f"The order in which the runs were made is not known, so drift cannot be told from change. {_BY_RUNS} The order is that of "
        "start_time in run.toml; tacholog import --times-from-files takes it from the dates of the files.",
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
        "no_band": "How much one build drifts on this machine between two days is not known: tacholog ab of a build with itself measures it.",
        "single_values": "Rows with one value on each side cannot be tested. Their differences may be noise.",
    }
)


_HOPELESS: Mapping[str, str] = MappingProxyType(
    {
        "order_confounded": "More runs of this kind can only show whether the two measurements differ, not whether the release is the cause: all "
        "runs of one side were made before those of the other, so anything else that changed meanwhile looks like a change of the release. To find "
        "the cause, use tacholog ab, or measure at least six sessions of each side that take turns.",
        "order_unknown": "More runs of this kind can only show whether the two measurements differ, not whether the release is the cause: the runs "
        "do not state when they were made (start_time in run.toml).",
    }
)


def _hopeless_order(comparison: Comparison) -> list[str]:
    if not any("few_runs" in row.reasons for row in comparison.rows):
        return []
    why = hopeless(comparison.runs)
    return [_HOPELESS[why]] if why else []


def warnings(comparison: Comparison) -> list[str]:
    """Return the warnings that a reader must see before the rows."""
    sentences = [
        *known_words(comparison),
        *first_look_words(comparison),
        *unusable(comparison),
        *ended(comparison),
        *(_warning(warning) for warning in comparison.warnings if warning.code not in _IN_OTHER_WORDS),
    ]
    sessions = comparison.settings.same_build_sessions
    sentences += [*_runs_without_partner(comparison), *_hopeless_order(comparison), *host_words(comparison)]
    return [*sentences, f"{SAME_BUILD_USED} {len(sessions)} session{'s' if len(sessions) > 1 else ''} of one build."] if sessions else sentences


def known_words(comparison: Comparison) -> list[str]:
    """Return a sentence for each entry of ``known.toml`` that needs attention: its regression grew, it has expired, or none of its rows is worse."""
    return [
        f"{entry.entry}: {_KNOWN[entry.state][entry.rows != 1].format(entry)} ({entry.reason}; {entry.issue})."
        for entry in comparison.acknowledgements
        if entry.state in _KNOWN
    ]


#: The sentences for an entry with one row, and with several rows.
_KNOWN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "grown": (
            "the known regression grew beyond the acknowledged size, so it counts again",
            "of its {0.rows} worse rows, those that grew beyond the acknowledged size count again",
        ),
        "expired": (
            "the entry was valid until {0.until}, so its row, which is worse, counts again",
            "the entry was valid until {0.until}, so its {0.rows} worse rows count again",
        ),
        "not_needed": (
            "the entry is no longer needed, because its row is not worse",
            "the entry is no longer needed, because none of its {0.rows} rows is worse",
        ),
        "no_verdict": ("the row of the entry has no verdict", "none of the {0.rows} rows of the entry is worse, but some of them have no verdict"),
        "no_row": ("", "the entry names no row of this comparison"),
    }
)


def first_look_words(comparison: Comparison) -> list[str]:
    """Return sentences on the rows that were measured again (``tacholog ab --confirm``): how many, and whether the new pairs confirm them."""
    pairs = next((warning.planned for warning in comparison.warnings if warning.code == "first_look"), None)
    if pairs is None:
        return []
    rows: list[ComparisonRow | Loss] = [*comparison.rows, *comparison.losses]
    looked = [(row_name(row.key), row.first_look) for row in rows if row.first_look]
    if not looked:
        return ["First look: no row is worse or better, so nothing was measured again."]
    refuted = [name for name, first in looked if not first.confirmed]
    more = f"; and {len(refuted) - _NAMED} more" if len(refuted) > _NAMED else ""
    not_confirmed = f", {len(refuted)} not confirmed ({'; '.join(refuted[:_NAMED])}{more})" if refuted else ""
    verdicts = Counter(first.verdict for _, first in looked)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("worse", "better") if verdicts[verdict])
    again = f"{'Its verdict comes' if len(looked) == 1 else 'Their verdicts come'} from {pairs} new pairs alone"
    return [f"First look: {counts}. {again}: {len(looked) - len(refuted) or 'none'} confirmed{not_confirmed}."]


def machine_words(comparison: Comparison) -> list[str]:
    """Return, in words, which rows compare runs of two machines, which machines these are, and whether any of these rows is better or worse.

    Rows are compared if both machines have the same processor model, cores and memory. So a release on one virtual machine can be compared with the
    next release on another one. The sentence names other properties that differ, such as the size of a cache.
    """
    both = [row for row in comparison.rows or comparison.losses if row.old and row.new and row.verdict != "not_comparable"]
    differences = [(row, difference) for row in both for difference in row.differences if difference.field == "host"]
    if not differences:
        return []
    which = Counter((difference.old, difference.new) for _, difference in differences).most_common()
    named = "; ".join(f"{old or _NO_MACHINE} (old) with {new or _NO_MACHINE} (new)" for (old, new), _ in which[:_NAMED])
    more = f"; and {len(which) - _NAMED} more pairs of machines" if len(which) > _NAMED else ""
    called = sum(row.verdict in ("worse", "better") for row, _ in differences)
    rows = f"{len(differences)} of the {len(both)} rows with values on both sides compare" if len(both) > 1 else "The row compares"
    verdicts = ""
    if comparison.counts["worse"] or comparison.counts["better"]:
        verdicts = f" {called or 'None'} of the rows that are better or worse {'is' if called == 1 or not called else 'are'} among them."
    other = "; ".join(map(_difference_words, (each for each in comparison.changed if each.field.startswith(_OF_HARDWARE))))
    same = "The stated hardware is the same, but the machine may explain"
    reason = f"Their stated properties differ ({other}), which may explain" if other else same
    return [f"Not the same machine: {rows} {named}{more}. {reason} a difference.{verdicts}"]


def _difference_words(difference: Difference) -> str:
    return f"{difference.field} {difference.old or NOT_STATED} -> {difference.new or NOT_STATED}"


def host_words(comparison: Comparison) -> list[str]:
    """Return sentences on whether the host may have caused the changes: the result of the controls, and the differences of the environments."""
    candidates = [difference for difference in comparison.changed if difference.field.startswith(_ENVIRONMENT) or difference.field in _OF_EACH_RUN]
    named = "; ".join(map(_difference_words, candidates))
    controls = comparison.controls
    called = sum(comparison.counts[verdict] for verdict in ("worse", "better", *DIFFERS))
    if controls is None or controls.moved is None or controls.change is None or controls.p is None:
        why = "no control was measured" if controls is None else _not_judged(controls)
        return [f"The environments differ, and {why}: release or host? Candidates: {named}."] if named and called else []
    if not controls.moved:
        sentences = [_host_not_moved(controls, controls.change, controls.p)]
        sentences += [f"But the environments differ: {named}. Controls show only effects on what they use."] if named and called else []
        sentences += [_few_controls(controls.judged)] if called and controls.judged < _ENOUGH else []
    else:
        sentences = [
            _host_moved(controls, controls.change, controls.p),
            f"What else differs between the environments, as candidates: {named or 'nothing that was recorded'}.",
        ]
    if controls.uncovered:
        sentences.append(f"No control uses {', '.join(controls.uncovered)}: the controls cannot tell whether the host changed for rows that use it.")
    return sentences


def changed_words(difference: Difference) -> str:
    """Return a difference between the sides in words: ``warm-up: 0.2 -> 0.1 s``."""
    words, unit = option_title(difference.field)
    if not (difference.old and difference.new):  # with two values, only the second one has the unit
        return (
            f"{words}: {f'{difference.old}{unit}' if difference.old else NOT_STATED} -> {f'{difference.new}{unit}' if difference.new else NOT_STATED}"
        )
    return f"{words}: {difference.old} -> {difference.new}{unit}"


def _not_judged(controls: Controls) -> str:
    other = "the controls of the two sides are not the same program, so they show nothing"
    if controls.other:
        return other
    if all(row.verdict == "not_comparable" for row in controls.rows):
        return "the controls of the two sides were measured under different conditions"
    return f"the controls have fewer than {MIN_RUNS} runs on a side"


def _host_not_moved(controls: Controls, change: float, p: float) -> str:
    """Return a sentence that the controls show no significant change of the host.

    The sentence also states the mean change of the controls. With few or noisy runs, a real change of the host may not be significant.
    """
    mean = f"{percent(abs(change))} {'worse' if change > 0 else 'better'}"
    rows = f"{controls.judged} row{'' if controls.judged == 1 else 's'} that no release changes"
    result = f"{rows}; {mean} on average, p {p:.2g}"
    return f"The controls show no significant change of the host ({result})."


def _few_controls(judged: int) -> str:
    counted = f"{judged} control{'' if judged == 1 else 's'}"
    return f"Only {counted} could be judged. Fewer than {_ENOUGH} can miss a change of the host that is not the same for all rows."


def _host_moved(controls: Controls, change: float, p: float) -> str:
    low, high = controls.explains or (None, None)
    ends = [f"{percent(abs(end))} {direction}" for end, direction in ((low, "better"), (high, "worse")) if end is not None]
    explained = f"changes of other rows from {' to '.join(ends)}" if len(ends) > 1 else "any change of other rows, because one control shows no range"
    label = host_label(change)
    sentence = f"{label[:1].upper()}{label[1:]} (p {p:.2g}). That may explain {explained}"
    return f"{sentence}. {_BLOCKS}" if controls.layout == "blocks" else f"{sentence}: they are not called better or worse."


def _runs_without_partner(comparison: Comparison) -> list[str]:
    tested = [row for row in comparison.rows if row.design == "paired" and row.old and row.new and row.p_adjusted is not None]
    if not any(len(row.old.values) < max(row.old.runs, row.new.runs) for row in tested if row.old and row.new):
        return []
    return [UNPAIRED]


def _warning(warning: ComparisonWarning) -> str:
    write = _WRITERS.get(warning.code)
    return write(warning) if write else WARNINGS.get(warning.code, warning.text).format(warning)


def _hint(warning: ComparisonWarning) -> str:
    (field,) = warning.names
    return f"No row is on both sides. To compare rows whose {title_of(field)} is not the same, use tacholog diff --across {field}."


def _of_labels(warning: ComparisonWarning) -> str:
    titles = ", ".join(map(title_of, warning.names))
    return f"Rows with different labels are not compared: {titles}. To compare them, add {_across(warning.names)}."


def _across(fields: Iterable[str]) -> str:
    return " ".join(f"--across {field}" for field in fields)


def _configurations(warning: ComparisonWarning) -> str:
    named = f"{' and '.join(title_of(CODES[field]) for field in warning.names)} {'is' if len(warning.names) == 1 else 'are'} not the same"
    return f"Nothing was compared, because {named}. To compare these configurations, add {_across(warning.names)}."


def _no_direction(warning: ComparisonWarning) -> str:
    words = "; ".join(METRICS[metric].words for metric in warning.names)
    which = "No side has" if warning.side == "both" else f"The {warning.side} side does not have"
    return f"{which} a figure that could be better or worse, so nothing is compared. There is only: {words}."


def _sizes_unstated(warning: ComparisonWarning) -> str:
    if warning.count == 1:
        which = f"The log of {warning.side} states no message size: rows without a size may differ only because their sizes differ"
    else:
        which = f"{warning.count} logs of {warning.side} state no message size, and these may differ: a row without a size can mix several sizes"
    return (
        f"{which}. To state sizes, make runs of the logs with tacholog import: a pattern with {{payload_bytes}} reads the size out of their paths, "
        "--set payload_bytes=NUMBER states one for all (docs/import.md)."
    )


def _drift(warning: ComparisonWarning) -> str:
    least, middle, most = (percent(share / 100) for share in warning.percents)
    when = "between sessions on several days" if warning.code == "drift_between_days" else "between sessions within one day"
    later = "" if warning.code == "drift_between_days" else "; between two days it may drift further"
    return (
        f"This machine has neither a band of one build nor controls. Elsewhere, the medians of one build drifted by "
        f"{least} to {most} {when}, half of the rows by at most {middle}{later}."
    )


def _unverified(warning: ComparisonWarning) -> str:
    rows = "1 row of repeated runs has" if warning.count == 1 else f"{warning.count} rows of repeated runs have"
    where = "; ".join(f"{title_of(field)} ({_where_to_state(field)})" for field in warning.names)
    return f"{rows} no verdict, because neither the logs nor run.toml state, on one side or both: {where}. {_BY_MEDIANS}"


_WRITERS: Mapping[str, Callable[[ComparisonWarning], str]] = MappingProxyType(
    {
        "try_across": _hint,
        "labels": _of_labels,
        "configurations": _configurations,
        "no_direction": _no_direction,
        "sizes_unstated": _sizes_unstated,
        "unverified": _unverified,
        "drift_between_days": _drift,
        "drift_within_a_day": _drift,
    }
)


def _where_to_state(field: str) -> str:
    if field in _OF_MACHINE:
        return "in the host file"
    if field == "harness_major":
        return "tool_version in run.toml"
    return f"{_CONDITION.get(field, field)} under [conditions] in run.toml, or in the campaign"


def ended(comparison: Comparison) -> list[str]:
    """Return a sentence for each side with runs that did not end well.

    The sentence counts these runs, and names the first of these runs with the reasons.
    """
    sides: tuple[tuple[Literal["old", "new"], int], ...] = (("old", comparison.old.runs), ("new", comparison.new.runs))
    return [sentence for side, total in sides if (sentence := _ended([run for run in comparison.runs if run.side == side], side, total))]


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
        "Rows of a failed run get no verdict; a truncated run counts with the results that it has."
    )


def unusable(comparison: Comparison) -> list[str]:
    """Return sentences on the input of each side that could not be used. They name the first lost runs, logs and folders, and one other problem."""
    sides: tuple[tuple[Literal["old", "new"], int], ...] = (("old", comparison.old.problems), ("new", comparison.new.problems))
    return [
        sentence for side, total in sides for sentence in _unusable([problem for problem in comparison.problems if problem.side == side], side, total)
    ]


def _unusable(problems: list[InputProblem], side: str, total: int) -> Iterator[str]:
    lost = [problem for problem in problems if problem.kind in LOST]
    if lost:
        more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        yield f"Part of the {side} side could not be used as intended: {'; '.join(map(_location, lost[:_NAMED]))}{more}."
    others = [problem for problem in problems if problem.kind not in LOST]
    if others:
        count = total - len(lost)
        yield f"{count} {'lines or files' if count > 1 else 'line or file'} of the {side} side could not be used, the first: {_location(others[0])}."


def _location(problem: InputProblem) -> str:
    raw = problem.run.rpartition("/")[2] == problem.log  # a log without a manifest is a run of its own, named by its path
    location = problem.run if raw else "/".join(part for part in (problem.run, problem.log) if part)
    return f"{location}{f':{problem.line}' if problem.line else ''}: {problem.kind}: {problem.reason}"


def marked(comparison: Comparison) -> list[str]:
    """Return the meaning of each mark in the compared rows. Some marks are left out, because their rows explain them.

    These are the marks of failed rows, and the mark of republished figures.
    """
    counts = Counter(
        mark for row in comparison.rows if row.marks and row.old and row.new and row.verdict not in ("invalid", "lossy") for mark in row.marks
    )
    counts.pop("republished", None)
    return [f"{mark.title} ({counts[name]} row{'s' if counts[name] > 1 else ''}): {mark.sentence}" for name, mark in MARKS.items() if name in counts]
