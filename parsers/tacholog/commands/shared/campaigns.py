"""Print the plan of a campaign, and execute its runs."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from tacholog import terminal
from tacholog.campaign.campaign_folder import failure_reason
from tacholog.campaign.gaps import SIZE, VERSION, ExpectedGaps, FirstLogReport, Gap, inspect_run, planned_short
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.measure import measure
from tacholog.campaign.pairs import Task
from tacholog.campaign.plan import Plan
from tacholog.campaign.preview import Preview, ProgramOnHost
from tacholog.campaign.programs import how_to_get
from tacholog.commands.shared.messages import counted, duration
from tacholog.compare.policy import samples_needed
from tacholog.installation import checkout
from tacholog.runs.disturbance import Limits, limit_words
from tacholog.visible import drawn_in_line

_SHOWN_VARIANTS = 3
_SHOWN_RUNS = 10


def list_words(command: str) -> str:
    """Return a sentence about variants that may be left out. It cannot name them, because the command that lists the names has not been run."""
    return f"There are fewer if `{command}`, which runs at the start, does not list all of them."


def preview_words(preview: Preview) -> list[str]:
    """Return the lines that `tacholog bench --plan` prints."""
    runs = preview.plan.runs
    seconds = sum(run.expected_s for run in runs)
    head = f"{preview.plan.campaign}: {counted(len(preview.variants), 'variant')}, {counted(preview.campaign.repetitions, 'repetition')} each: "
    lines = [f"{head}{counted(len(runs), 'run')}, about {duration(seconds)}."]
    lines += [f"  {variant.name}: {counted(variant.runs, 'run')} of about {duration(variant.expected_s)}" for variant in preview.variants]
    lines += left_out_words(preview.left_out)
    if preview.lists:
        lines.append(list_words(preview.lists))
    seed = "chosen at the start" if preview.campaign.seed is None else str(preview.campaign.seed)
    lines.append(f"Order: each repetition runs all variants in a new random order (seed: {seed}).")
    lines += [f"Host {name}: {_host(entry)}." for name, entry in preview.plan.hosts.items()]
    lines += [f"Program {_program(program)}." for program in preview.programs]
    if preview.plan.tool_version:
        lines.append(f"Version of {preview.plan.tool}: {preview.plan.tool_version}.")
    if preview.plan.system_version:
        lines.append(f"Version of {preview.plan.system}: {preview.plan.system_version}.")
    if preview.plan.limits:
        lines.append(f"Limits of each run: {limit_words(preview.plan.limits)}.")
    lines += [
        f"{option.name} = {option.value}: no command of {option.block} has {{{option.name}}} or this value, "
        "so the runs may use another value than the recorded one."
        for option in preview.unused
    ]
    lines += short_words(preview.plan)
    gaps = expected_gap_words(preview.gaps)
    lines += [*gaps, "docs/conditions.md explains each condition."] if gaps else ["All conditions that comparisons need will be stated."]
    return [drawn_in_line(line) for line in lines]


def left_out_words(left_out: Mapping[str, str]) -> list[str]:
    """Return a line for each name that is left out. A variant needs this name, but the command of ``only_if_listed`` does not list it."""
    return [f"Left out: {name}{f' ({reason})' if reason else ', which is not listed'}." for name, reason in left_out.items()]


def expected_gap_words(expected: ExpectedGaps) -> list[str]:
    """Return a line for each condition that comparisons will lack. Variants whose logs are not known yet also have a line."""
    by_reason: dict[str, list[str]] = {}
    for variant, reason in expected.unknown_logs.items():
        by_reason.setdefault(reason, []).append(variant)
    unknown = [
        f"Not known before the first run: which conditions the logs of {_some(variants)} state ({reason})." for reason, variants in by_reason.items()
    ]
    return [*gap_words(expected.gaps), *_uncertain_words(expected.gaps), *unknown]


def gap_words(gaps: Iterable[Gap], stated_by: str = "nothing states it") -> Iterator[str]:
    """Yield a line for each condition that certainly neither a log nor the campaign file will state.

    The line also tells the user what to add to the campaign file.

    Args:
        gaps: the gaps of a campaign.
        stated_by: a text that replaces "nothing states it" in the line.
    """
    by_condition: dict[str, list[Gap]] = {}
    for gap in gaps:
        if gap.is_certain:
            by_condition.setdefault(gap.condition, []).append(gap)
    for condition, alike in by_condition.items():
        reason = (
            "without it, results of several sizes become one row" if condition == SIZE else f"rows of {_rows(alike)} cannot be compared without it"
        )
        where = "at the top of the campaign" if condition == VERSION else f"for {_some(_variants(alike))}"
        yield f"{condition}: {stated_by}; {reason}: add {alike[0].remedy}{_choice(alike[0])} {where}."


def short_words(plan: Plan) -> list[str]:
    """Return a line for each percentile that will have too few samples for a verdict, at the planned rate and duration."""
    variants_of: dict[tuple[str, int], list[str]] = {}
    for variant, few in planned_short(plan).items():
        for key in few.items():
            variants_of.setdefault(key, []).append(variant)
    return [
        f"Comparisons will give {statistic} no verdict: that needs {samples_needed(statistic):,} samples in each run, and at the planned rate and "
        f"duration there are {samples:,} ({_some(variants)})."
        for (statistic, samples), variants in variants_of.items()
    ]


def first_log_words(label: str, report: FirstLogReport, gaps: Sequence[Gap]) -> list[str]:
    """Return the lines about the first log of a variant.

    Args:
        label: the name of the run.
        report: the gaps and unknown lines of its logs.
        gaps: the gaps in this report that were not printed yet.
    """
    lines = [f"{label}: {line}" for line in gap_words(gaps, "neither its log nor the campaign states it")]
    for statistic, samples in report.short.items():
        lines.append(
            f"{label}: comparisons will give {statistic} no verdict: that needs {samples_needed(statistic):,} samples in each run, "
            f"and this run has {samples:,}; longer runs have more"
        )
    for log, (count, first) in report.unknown_lines.items():
        lines.append(
            f"{label}: {counted(count, 'line')} of {log} {'is' if count == 1 else 'are'} unknown to its format, from line {first} on "
            "(tacholog parse --explain shows them)"
        )
    return lines


def _uncertain_words(gaps: Iterable[Gap]) -> Iterator[str]:
    by_rows: dict[str, list[Gap]] = {}
    for gap in (gap for gap in gaps if not gap.is_certain):
        by_rows.setdefault(gap.rows, []).append(gap)
    for rows, alike in by_rows.items():
        names = ", ".join(dict.fromkeys(gap.condition for gap in alike))
        where = _some(_variants(alike))
        yield f"Rows of {rows} need {names}, which only some logs of this format state; the log of the first run will show it ({where})."


def _rows(alike: Sequence[Gap]) -> str:
    return " and of ".join(dict.fromkeys(gap.rows for gap in alike))


def _variants(alike: Sequence[Gap]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(variant for gap in alike for variant in gap.variants))


def _choice(gap: Gap) -> str:
    """Return the text after the proposed value: the other allowed values, or the meaning of the proposed value."""
    if len(gap.allowed) > 1:
        return " (or " + ", ".join(f'"{word}"' for word in gap.allowed[1:]) + ")"
    return " (0: batching is off)" if gap.condition == "batch_bytes" else ""


def _some(variants: Sequence[str]) -> str:
    more = len(variants) - _SHOWN_VARIANTS
    return ", ".join(variants[:_SHOWN_VARIANTS]) + (f" and {more} more" if more > 0 else "")


def _host(entry: HostEntry) -> str:
    machine = f"{entry.ssh} over ssh" if entry.ssh else "this machine"
    behind = f", behind {' '.join(entry.prefix)}" if entry.prefix else ""
    return f"{machine}{behind}{f', address {entry.address}' if entry.address else ''}"


def _program(program: ProgramOnHost) -> str:
    behind = f", behind {', '.join(program.measured.wrappers)}" if program.measured.wrappers else ""
    if doubt := program.measured.doubt:
        return f"{program.name}{behind}: the measured program is not known ({doubt}), so the SHA-256 in run.toml is that of {program.name}"
    if program.host is not None:
        return f"{program.name}{behind}: will be searched on host {program.host} at the start"
    if program.path is None:
        return f"{program.name}{behind}: NOT FOUND on this machine; {how_to_get(program.name)}"
    return f"{program.name}{behind}: {program.path}, SHA-256 {(program.checksum or '')[:12]}"


def limits_held(limits: Limits | None, runs: int, disturbed: Mapping[str, Sequence[str]], again: str) -> list[str]:
    """Return lines about the limits of a campaign.

    The first line states whether all runs kept the limits. Each further line names a run that exceeded them; only the first such runs are named.

    Args:
        limits: the limits of the campaign.
        runs: the number of its runs.
        disturbed: the runs that exceeded the limits, with the reasons.
        again: the command that repeats these runs.
    """
    if limits is None:
        return []
    if not disturbed:
        return [f"All runs stayed within the limits ({limit_words(limits)})."]
    named = [f"  {name}: {', '.join(reasons)}" for name, reasons in disturbed.items()][:_SHOWN_RUNS]
    more = len(disturbed) - len(named)
    head = f"{len(disturbed)} of {counted(runs, 'run')} exceeded the limits ({limit_words(limits)})"
    remedy = f"so this campaign is not fit to publish; repeat these runs with: {again}"
    return [f"{head}, {remedy}", *named, *([f"  and {more} more"] if more else [])]


class Pace:
    """How much longer runs take than expected, as a ratio.

    Each kind of run has a separate ratio, because some tools start more slowly than others.
    """

    def __init__(self) -> None:
        """Create an estimate that knows no finished runs yet."""
        self._done: dict[Hashable, tuple[float, float]] = {}

    def add(self, kind: Hashable, expected_s: float, took_s: float) -> None:
        """Add a finished run."""
        expected, took = self._done.get(kind, (0.0, 0.0))
        self._done[kind] = expected + expected_s, took + took_s

    def seconds(self, runs: Iterable[tuple[Hashable, float]]) -> float:
        """Return how many seconds these runs will probably take.

        The expected duration of a run is multiplied by a ratio: the real time of all finished runs of this kind, divided by their expected time. If
        no run of this kind has finished, the ratio of all finished runs is used.

        Args:
            runs: the kind and the expected duration (in seconds) of each run.
        """
        all_runs = tuple(map(sum, zip(*self._done.values(), strict=True))) or (0.0, 0.0)
        return sum(expected_s * _ratio(self._done.get(kind, all_runs)) for kind, expected_s in runs)


def _ratio(done: tuple[float, ...]) -> float:
    expected, took = done
    return took / expected if expected > 0 else 1.0


def measure_all(tasks: Sequence[Task], count: int, announced: Sequence[Gap] = ()) -> None:
    """Execute these runs in their order. After the first good run of each variant, print the gaps in its logs.

    Args:
        tasks: the runs.
        count: the number of all planned runs, including the finished ones.
        announced: the gaps that were printed with the plan.
    """
    # The remaining time is estimated from planned durations, not from the number of runs, because some runs take much longer than others.
    pace, log_check = Pace(), _FirstLogCheck(announced)
    for number, task in enumerate(tasks):
        folder, plan, run, tools, label = task
        terminal.status(f"[{run.order_index}/{count}] {label}, {_left(tasks[number:], pace)}")
        start_s = time.monotonic()
        manifest = measure(folder, plan, run, tools, checkout())
        took_s, failure = time.monotonic() - start_s, failure_reason(folder, run)
        if not failure:  # a run that fails immediately does not show how long the other runs take
            pace.add(_kind(task), run.expected_s, took_s)
        state = "not good" if failure and manifest.status == "ok" else manifest.status
        outcome = f"{state}, {took_s:.1f} s" + (f" ({failure})" if failure else "")
        line = f"[{run.order_index}/{count}] {label}: {outcome}, {_left(tasks[number + 1 :], pace)}"
        if failure:
            terminal.line(line, err=True)
        elif not terminal.shows_status():
            terminal.remark(line)
        for line in log_check.check(task) if not failure else ():
            terminal.remark(line)


class _FirstLogCheck:
    """Checks the logs of the first good run of each variant, and reports gaps that were not printed before."""

    def __init__(self, announced: Iterable[Gap]) -> None:
        self._printed = {(gap.condition, gap.rows) for gap in announced if gap.is_certain}
        self._checked: set[Hashable] = set()

    def check(self, task: Task) -> list[str]:
        """Return lines about gaps and unknown lines. ``task`` must be a good run."""
        if _kind(task) in self._checked:
            return []
        self._checked.add(_kind(task))
        report = inspect_run(task.folder, task.run)
        # The plan may already have printed this gap for more rows. For example, the plan names "throughput", and the log has "throughput at
        # max-rate".
        new = [gap for gap in report.gaps if not {(gap.condition, gap.rows), (gap.condition, gap.rows.partition(" at ")[0])} & self._printed]
        self._printed |= {(gap.condition, gap.rows) for gap in new}
        return first_log_words(task.label, report, new)


def _kind(task: Task) -> Hashable:
    """Return the kind of a run. All runs of one kind take about the same time, and the logs of these runs state the same conditions."""
    return task.folder, task.run.variant


def _left(tasks: Sequence[Task], pace: Pace) -> str:
    return f"{duration(pace.seconds((_kind(task), task.run.expected_s) for task in tasks))} left"
