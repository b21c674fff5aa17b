"""Compare two datasets: match rows, check their conditions, estimate, decide, and write one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from tacholog.compare.bands import SameBuildBands
from tacholog.compare.comparable import CODES, MACHINE, SETTINGS, Judgement, judge
from tacholog.compare.comparable import SETTING as ONE_SETTING
from tacholog.compare.diff.cells import (
    CONDITIONS,
    LATENCY_OF,
    NONE,
    REACH,
    SETTING,
    CellPairs,
    Integers,
    Numbers,
    latency_of,
    match,
    numbers,
    reduced_values,
    same_runs,
    shared,
)
from tacholog.compare.diff.controls import are_controls, chosen, controls_of, host_change, is_control, losses_within_host, within_host
from tacholog.compare.diff.estimate import Estimates, estimate
from tacholog.compare.diff.loss import loss_asked, losses, lossy
from tacholog.compare.diff.rows import RowArrays, curves, either, rows, untested
from tacholog.compare.diff.verdict import CODE, REASONS, JudgedConditions, Verdicts, decide, lower_is_better, thresholds
from tacholog.compare.pairing import remarks
from tacholog.compare.policy import BANDS, MIN_RUNS, Policy
from tacholog.compare.profiles import Profile, is_same_build, is_same_control, machine_names, profiles_of, soft_differences
from tacholog.compare.result import (
    COMPARED,
    OPEN,
    TESTED,
    VERDICTS,
    Comparison,
    ComparisonRow,
    ComparisonWarning,
    Controls,
    Input,
    InputProblem,
    RunOrder,
    Settings,
    Verdict,
)
from tacholog.compare.sides import control_runs, stated_of
from tacholog.errors import TachologError
from tacholog.runs.labels import is_label, label_fields, label_name, labels_of, labels_text
from tacholog.runs.moments import instant
from tacholog.schema.metrics import METRICS

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

_OF_ONE_RUN = {"single_run", "bound", "same_measurement"}
_OF_LINES, _LINES_NAMED = ("broken", "unknown"), 100
# What somebody chooses at each run, and may want to compare. Another definition, basis or side is another quantity.
_CONFIGURATION = ("load_mode", "reliability", "batch_bytes", "payload_touched", "offered_rate_per_s", "instances", "settings", "waiting", "tuning")
ACROSS = ("system", "host", "options", *SETTING, *CONDITIONS)


def check_across(fields: Iterable[str]) -> None:
    """Refuse fields that rows cannot be compared across.

    Raises:
        TachologError: no such field.
    """
    unknown = sorted(field for field in set(fields) - set(ACROSS) if not is_label(field))
    if unknown:
        near = get_close_matches(unknown[0], ACROSS, 1)
        hint = f" (is {near[0]} meant?)" if near else ""
        raise TachologError(f"--across {unknown[0]}: choose from {', '.join(ACROSS)}, label.NAME{hint}")


def _across_libraries(policy: Policy, old: Dataset, new: Dataset) -> Policy:
    """Return the policy: whoever compares the transports of two middlewares compares two systems, since each names its library as its system."""
    is_wanted = "transport" in policy.across and "system" not in policy.across
    if not is_wanted or set(old.runs["system"]) == set(new.runs["system"]):
        return policy
    return msgspec.structs.replace(policy, across=(*policy.across, "system"))


def compare(
    old: Dataset,
    new: Dataset,
    policy: Policy,
    names: tuple[str, str] = ("old", "new"),
    everything: bool = True,
    measured: SameBuildBands | None = None,
) -> Comparison:
    """Compare two sets of runs.

    Args:
        old: the runs to compare with.
        new: the runs that are judged.
        policy: what counts as a change.
        names: what to call the two sides.
        everything: whether the numbers that are never tested go into the report too.
        measured: the band of one build on this machine, if somebody measured it.
    """
    policy = _across_libraries(policy, old, new)
    machines = machine_names(old, new)
    profiles = [_placed(profile, policy) for side in (old, new) for profile in profiles_of(side, machines)]
    order = _run_orders(old, "old") + _run_orders(new, "new")
    known: dict[Profile, int] = {}
    codes = np.array([known.setdefault(_compared(profile, policy), len(known)) for profile in profiles], np.int64)
    data = numbers(old, new, policy, codes)
    every = match(data, policy.across)
    apart = is_control(data, every)
    pairs, control_pairs = chosen(every, ~apart), chosen(every, apart)
    wanted = np.where(pairs.old != NONE, data.tested[pairs.old], True) & np.where(pairs.new != NONE, data.tested[pairs.new], True)
    shown = CellPairs(pairs.old[wanted], pairs.new[wanted])
    judged, which = _judge(data, shown, profiles, policy)
    common = shared(old, new)
    findings = _find(data, shown, (judged, which), (order, common.codes), policy, measured)
    controls = (
        _controls(data, control_pairs, findings, (profiles, order, common.codes), policy) if is_same_control(old, new) else Controls(other=True)
    )
    findings = findings._replace(host_change=np.log1p(controls.change) if controls and controls.moved and controls.change is not None else None)
    sides = _input(old, names[0], machines), _input(new, names[1], machines)
    report = _report(sides, policy, findings, order, same_build=not common.are_all and is_same_build(old, new))
    rest = CellPairs(pairs.old[~wanted], pairs.new[~wanted])
    plan = (*remarks([root for side in (old, new) if "root" in side.runs for root in side.runs["root"].dropna()]), *_hint(report))
    without = (*_without_figures(report), *_without_direction(old, new), *_sizes_unstated(old, new, names))
    settings = msgspec.structs.replace(report.settings, same_build_sessions=measured.sessions if measured else ())
    lost, lossless, counted = lossy(data, pairs, policy)
    found = losses(data, lost, _judge(data, lost, profiles, policy), (order, common.codes), policy)
    if controls and controls.moved:
        found = losses_within_host(found)
    return msgspec.structs.replace(
        report,
        settings=settings,
        losses=found,
        loss_counts=dict.fromkeys(VERDICTS, 0) | Counter(loss.verdict for loss in found),
        lossless=lossless,
        loss_asked=loss_asked(policy),
        lossy_counts=counted,
        controls=controls,
        warnings=(*(() if common.are_all else report.warnings), *without, *common.warnings, *plan),
        changed=tuple(one for one in soft_differences(old, new) if one.field not in policy.across),
        untested=untested(data, rest, policy) if everything else (),
        problems=_problems(old, "old") + _problems(new, "new"),
    )


def _without_figures(report: Comparison) -> tuple[ComparisonWarning, ...]:
    """The sides without any number: a report of nothing must not look like a report of no change."""
    return tuple(ComparisonWarning("no_figures", side=name) for name, side in (("old", report.old), ("new", report.new)) if not side.numbers)


def _without_direction(old: Dataset, new: Dataset) -> tuple[ComparisonWarning, ...]:
    """The sides with numbers of which none can be better or worse, such as what a publisher offered, and their metrics."""
    metrics = {name: {str(metric): None for metric in side.results["metric"].unique()} for name, side in (("old", old), ("new", new))}
    found = [name for name, there in metrics.items() if there and all(METRICS[metric].better is None for metric in there)]
    which = "" if not found else "both" if len(found) > 1 else found[0]
    names = tuple({metric: None for name in found for metric in metrics[name]})
    return (ComparisonWarning("no_direction", side=which, names=names),) if which else ()


def _sizes_unstated(old: Dataset, new: Dataset, names: tuple[str, str]) -> tuple[ComparisonWarning, ...]:
    """The sides with logs without run.toml whose message size is not stated: of several, each may have been measured with another size."""
    found = []
    for name, side in zip(names, (old, new), strict=True):
        if "log" not in side.results:  # A saved dataset that was read without the names of its logs.
            continue
        # A log without run.toml is a run of its own, named by its path.
        logs_there = {*side.results["log"].unique()}
        if not any(run.rpartition("/")[2] in logs_there for run in side.results["run"].unique()):
            continue  # as nearly always: to look at each number takes longer
        results = side.results.loc[side.results["scope"] == "summary", ["run", "log", "payload_bytes"]]
        stated = {*results["run"][results["payload_bytes"].notna()]}
        logs = results[["run", "log"]].drop_duplicates().itertuples(index=False)
        count = sum(run.rpartition("/")[2] == log and run not in stated for run, log in logs)
        found += [(count, name)] if count else []
    return tuple(ComparisonWarning("sizes_unstated", count, side=name) for count, name in found) if sum(count for count, _ in found) > 1 else ()


def _hint(report: Comparison) -> tuple[ComparisonWarning, ...]:
    """If no row has a partner: a field to go across, so that some rows have one. If every row differs in how it was run: the fields of that."""
    if both := [row for row in report.rows if row.old and row.new]:
        return _of_configuration(both) if all(row.verdict == "not_comparable" for row in both) else ()
    alone = [[row.key for row in report.rows if row.verdict == verdict] for verdict in ("removed", "added")]
    # Across data paths or types the tested metric changes too: a reference's rate is in messages, a copy's in bytes.
    for rest in ({}, {"metric": "", "statistic": ""}):
        for field in (*SETTING, "system"):
            found = [{msgspec.structs.replace(key, apart=(), **rest, **{field: None}) for key in keys} for keys in alone]
            if found[0] & found[1]:
                return (ComparisonWarning("try_across", names=(field,)),)
    return ()


def _of_configuration(rows: Sequence[ComparisonRow]) -> tuple[ComparisonWarning, ...]:
    """If nothing but the configuration stands in the way of a comparison: its fields, to go across."""
    reasons = {CODES[SETTINGS] if reason.startswith(ONE_SETTING) else reason for row in rows for reason in row.reasons}
    fields = [name for name in _CONFIGURATION if CODES[name] in reasons]
    return (ComparisonWarning("configurations", names=tuple(fields)),) if reasons == {CODES[name] for name in fields} else ()


def _find(
    data: Numbers,
    pairs: CellPairs,
    asked: tuple[list[Judgement], Integers],
    runs: tuple[list[RunOrder], Integers],
    policy: Policy,
    measured: SameBuildBands | None,
) -> RowArrays:
    (judged, which), (order, codes) = asked, runs
    limits = thresholds(data, pairs, policy, measured)
    different = np.array([bool(judgement.different) for judgement in judged] or [False])[which]
    unverified = np.array([bool(judgement.unverified) for judgement in judged] or [False])[which]
    cells = data.cells
    least = reduced_values(data, np.minimum)
    positive = pairs.both & (np.fmin(least[pairs.old], least[pairs.new]) > 0)
    enough = np.minimum(cells.runs[pairs.old], cells.runs[pairs.new]) >= MIN_RUNS
    found = estimate(data, pairs, positive & enough & ~different, order, limits.least)
    same = same_runs(data, pairs, codes)
    verdicts = decide(data, pairs, JudgedConditions(different, unverified, same), found, limits, policy)
    return RowArrays(data, pairs, judged, which, found, limits, verdicts, same)


def _controls(
    data: Numbers, pairs: CellPairs, findings: RowArrays, runs: tuple[list[Profile], list[RunOrder], Integers], policy: Policy
) -> Controls | None:
    """Judge the controls, and take the verdict from rows that changed no more than what the host explains. ``None`` if there are no controls."""
    profiles, order, codes = runs
    pairs = chosen(pairs, data.tested[either(pairs)])
    if not len(pairs.old):
        return None
    found = _find(data, pairs, _judge(data, pairs, profiles, policy), (order, codes), policy, None)
    change = host_change(data, pairs, found.found, int(findings.found.tested.sum()), order)
    if change is not None and change.moved:
        within_host(findings.verdicts, findings.found, lower_is_better(data, findings.pairs), change)
    return controls_of(change, rows(found, policy), findings)


def _placed(profile: Profile, policy: Policy) -> Profile:
    """The profile without its machine, if the diff goes across machines."""
    return profile._replace(host=None, machine=None) if "host" in policy.across else profile


def _compared(profile: Profile, policy: Policy) -> Profile:
    """The profile without the fields that the diff goes across."""
    machine = MACHINE if "host" in policy.across else ()
    options = ("options", "run_settings") if "options" in policy.across else ()
    labels = labels_text({label: value for label, value in labels_of(profile.labels).items() if label not in policy.across})
    return _placed(profile, policy)._replace(**dict.fromkeys((*machine, *options)))._replace(labels=labels)


def _run_orders(dataset: Dataset, side: str) -> list[RunOrder]:
    columns = ("run", "session", "repetition", "order_index", "start_time", "status", "reason")
    return [msgspec.convert({"side": side, **row}, RunOrder) for row in stated_of(dataset.runs, columns)]


def _problems(dataset: Dataset, side: Literal["old", "new"]) -> tuple[InputProblem, ...]:
    found = [
        InputProblem(side=side, **{name: row[name] for name in ("run", "log", "line", "kind", "reason")})
        for row in dataset.problems.to_dict("records")
    ]
    lines = [one for one in found if one.kind in _OF_LINES]
    return (*(one for one in found if one.kind not in _OF_LINES), *lines[:_LINES_NAMED])


def _judge(data: Numbers, pairs: CellPairs, profiles: list[Profile], policy: Policy) -> tuple[list[Judgement], Integers]:
    """Judge the conditions of each pair, once for all rows with the same conditions on both sides.

    A row that only one side has is judged against the same row of the other side under other conditions, so that the report can name these.
    """
    where = (*SETTING, "metric", REACH)
    cells, pairs = data.cells, _with_others(data, pairs)
    both = np.flatnonzero(pairs.both)
    which = np.zeros(len(pairs.old), np.int64)
    judged = [Judgement((), ())]
    if not len(both):
        return judged, which
    old, new = pairs.old[both], pairs.new[both]
    code, of = data.groups(where), latency_of(cells)
    asked = np.stack([cells.conditions[old], cells.conditions[new], code[old], code[new], of[old], of[new]], axis=1)
    _, first, inverse = np.unique(asked, axis=0, return_index=True, return_inverse=True)
    which[both] = inverse.reshape(-1) + 1
    sides = [_stated(data, side[first], where, profiles) for side in (old, new)]
    judged += [judge(before, after, policy.across) for before, after in zip(*sides, strict=True)]
    return judged, which


def _with_others(data: Numbers, pairs: CellPairs) -> CellPairs:
    """The pairs; a cell without a partner gets the other side's first cell of the same row, if there is one. A control is no such partner."""
    cells, (old, new) = data.cells, pairs
    control = are_controls(data, np.arange(len(cells.row))).astype(int)
    first = np.full((2, 2, int(cells.row.max(initial=0)) + 1), NONE)
    for side in (False, True):
        there = np.flatnonzero(cells.new == side)[::-1]
        first[int(side), control[there], cells.row[there]] = there
    of_old, of_new = first[0, control[new], cells.row[new]], first[1, control[old], cells.row[old]]
    return CellPairs(np.where(old == NONE, of_old, old), np.where(new == NONE, of_new, new))


def _stated(data: Numbers, cell: Integers, where: tuple[str, ...], profiles: list[Profile]) -> list[dict[str, Any]]:
    names, runs = (*where, *CONDITIONS), data.cells.run[cell].tolist()
    rows = zip(runs, latency_of(data.cells)[cell].tolist(), *(data.said(name, cell) for name in names), strict=True)
    return [dict(zip(names, values, strict=True)) | profiles[run]._asdict() | {"latency_of": LATENCY_OF[of]} for run, of, *values in rows]


def _report(sides: tuple[Input, Input], policy: Policy, findings: RowArrays, order: list[RunOrder], *, same_build: bool) -> Comparison:
    verdicts, found = findings.verdicts, findings.found
    counted = Counter(verdicts.verdict.tolist())
    return Comparison(
        generated_by=f"tacholog {version('tacholog')}",
        old=sides[0],
        new=sides[1],
        same_build=same_build,
        settings=_settings(policy),
        counts={verdict: counted.get(CODE[verdict], 0) for verdict in VERDICTS},
        designs=_designs(found, verdicts),
        warnings=(*_warnings(findings, same_build), *_gate_warning(verdicts), *_of_references(findings), *_of_labels(findings)),
        changed=(),
        rows=rows(findings, policy),
        curves=curves(findings, policy),
        runs=tuple(order),
    )


def _designs(found: Estimates, verdicts: Verdicts) -> dict[str, int]:
    """How many rows each design decided; ``single`` are those with one value on each side."""
    decided = Counter(found.designs[index].kind for index in found.design.tolist() if index >= 0)
    single = int(verdicts.by_value.sum()) - decided.get("confounded", 0)
    return {**decided, **({"single": single} if single > 0 else {})}


def _warnings(findings: RowArrays, same_build: bool) -> tuple[ComparisonWarning, ...]:
    found, verdicts = findings.found, findings.verdicts
    used = {index for index in found.design.tolist() if index >= 0}
    reasons = {found.designs[index].reason for index in used} - {None}
    decided = {REASONS[index] for index in set(verdicts.reason[verdicts.by_value].tolist())}
    return (
        *([ComparisonWarning("same_build")] if same_build else []),
        *(ComparisonWarning(reason) for reason in sorted(reason for reason in reasons if reason)),
        *([ComparisonWarning("single_values")] if decided & _OF_ONE_RUN else []),
        *_unverified(findings),
    )


def _unverified(findings: RowArrays) -> tuple[ComparisonWarning, ...]:
    """How many rows of repeated runs have no verdict because a condition is not stated, and which conditions."""
    verdicts = findings.verdicts
    rows = np.flatnonzero(verdicts.by_value & (verdicts.reason == REASONS.index("unverified")))
    fields = dict.fromkeys(field for index in findings.which[rows].tolist() for field in findings.judged[index].unverified)
    return (ComparisonWarning("unverified", len(rows), names=tuple(fields)),) if len(rows) else ()


def _gate_warning(verdicts: Verdicts) -> tuple[ComparisonWarning, ...]:
    tested = ~np.isnan(verdicts.p_adjusted)
    return () if all((gate & tested).any() for gate in verdicts.gates) else (ComparisonWarning("gate_empty"),)


def _of_references(findings: RowArrays) -> tuple[ComparisonWarning, ...]:
    """How many rows have the latency of bytes on one side and that of a reference on the other: their ratio would look like a thousandfold gain."""
    refused = np.array([any(one.field == "latency_of" for one in judgement.different) for judgement in findings.judged])
    count = int((refused[findings.which] & findings.pairs.both).sum())
    return (ComparisonWarning("latency_of", count),) if count else ()


def _of_labels(findings: RowArrays) -> tuple[ComparisonWarning, ...]:
    """The labels without which rows could be compared: of rows that differ in nothing else."""
    only = [{one.field for one in judgement.different} for judgement in findings.judged]
    fields = {field for index in set(findings.which[findings.pairs.both].tolist()) for field in only[index] if all(map(is_label, only[index]))}
    return (ComparisonWarning("labels", names=tuple(sorted(fields))),) if fields else ()


def _settings(policy: Policy) -> Settings:
    return Settings(
        false_discovery_rate=policy.false_discovery_rate,
        across=policy.across,
        thresholds={band: getattr(policy.thresholds_percent, band) / 100 for band in BANDS},
        single_value_bands={band: getattr(policy.single_value_percent, band) / 100 for band in BANDS},
        same_build_band=policy.same_build_percent / 100 if policy.same_build_percent else None,
        overrides=len(policy.row),
        gates=len(policy.gate),
    )


def _input(dataset: Dataset, name: str, machines: Mapping[str, str]) -> Input:
    runs = stated_of(dataset.runs, ("run", "system", "system_version", "release", "tool", "host", "published", "start_time"))
    controls = control_runs(dataset)
    measured = [run for run in runs if run["run"] not in controls] or runs  # a control has a version of its own

    def distinct(column: str, of: Sequence[Mapping[str, Any]] = runs) -> tuple[str, ...]:
        return tuple(sorted({str(run[column]) for run in of if run[column] is not None}))

    times = sorted(distinct("start_time"), key=lambda time: instant(time) or 0.0)
    return Input(
        name=name,
        runs=len(runs),
        numbers=int((dataset.results["scope"] == "summary").sum()),
        systems=distinct("system", measured),
        versions=distinct("system_version", measured),
        releases=distinct("release"),
        tools=distinct("tool"),
        hosts=tuple(machines[host] for host in distinct("host")),
        labels=_label_values(dataset),
        published=any(run["published"] for run in runs),
        first=times[0] if times else None,
        last=times[-1] if times else None,
        problems=len(dataset.problems),
    )


def _label_values(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """The values of each label, by its name."""
    texts = dataset.runs.reindex(columns=["labels"])["labels"].dropna().unique()
    found = {field: {value for text in texts if (value := labels_of(str(text)).get(field)) is not None} for field in label_fields(texts)}
    return {label_name(field): tuple(sorted(values)) for field, values in found.items()}


def exit_code(report: Comparison, fail_on: tuple[str, ...]) -> int:
    """0, or 4 if nothing could be compared but with itself, or nothing of a gate; the highest that applies of it and what ``fail_on`` asks for.

    ``worse`` and ``inconclusive`` ask for tests: without any, 4, because 0 would say that none of them found anything. ``worse``: 3 for worse rows.
    ``inconclusive``: 3 for rows that are too noisy to tell, or had too few pairs. ``implausible``: 5 for figures that contradict each other, are
    impossible, or stand where more than 1 % was lost.
    """
    implausible = any(
        row.verdict in ("invalid", "lossy") and {"impossible", "out_of_order", "loss"} & {*row.reasons, *row.marks} for row in report.rows
    )
    with_itself = sum("same_runs" in row.flags for row in report.rows)
    lost = sum(report.loss_counts.get(verdict, 0) for verdict in COMPARED) + report.lossless if not report.rows else 0  # loss alone was asked for
    compared = sum(report.counts[verdict] for verdict in COMPARED) + lost > with_itself and not report.warns("gate_empty")
    if {"worse", "inconclusive"} & {*fail_on}:
        has_tests = any(report.counts[verdict] or report.loss_counts.get(verdict, 0) for verdict in TESTED)
        nothing_lost = not report.rows and not report.losses  # Loss alone was asked for, and there is none that could be more.
        compared = compared and (has_tests or nothing_lost)
    meant: dict[str, Iterable[Verdict]] = {"worse": ("worse",), "inconclusive": OPEN}
    asked = any(report.counts[verdict] + report.loss_counts.get(verdict, 0) for name in fail_on for verdict in meant.get(name, ()))
    return max(0 if compared else 4, 3 if asked else 0, 5 if "implausible" in fail_on and implausible else 0)
