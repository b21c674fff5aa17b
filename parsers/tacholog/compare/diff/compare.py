"""Compare two datasets: match rows, check their conditions, estimate, decide, and write one `Comparison`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import numpy as np

from tacholog.compare.bands import SameBuildBands, known_drift
from tacholog.compare.comparable import CODES, MACHINE, SETTING_PREFIX, SETTINGS, Judgement, judge
from tacholog.compare.diff.cells import (
    CONDITIONS,
    LATENCY_OF,
    NONE,
    REACH,
    SETTING,
    CellPairs,
    CellTable,
    Integers,
    cell_table,
    latency_of,
    match,
    reduced_values,
    same_runs,
    shared_runs,
)
from tacholog.compare.diff.controls import are_controls, controls_of, host_change, losses_within_host, within_host
from tacholog.compare.diff.estimate import estimate
from tacholog.compare.diff.loss import loss_asked, lossy
from tacholog.compare.diff.loss import losses as loss_rows
from tacholog.compare.diff.rows import comparison_rows, curves, untested_rows
from tacholog.compare.diff.verdict import CODE, REASONS, RowArrays, decide, out_of_turn, say_whether_sides_differ, thresholds
from tacholog.compare.pairing import plan_warnings
from tacholog.compare.policy import BANDS, MIN_RUNS, Policy
from tacholog.compare.profiles import Profile, is_same_build, is_same_control, machine_names, profiles_of, soft_differences
from tacholog.compare.result import (
    COMPARED,
    DIFFERS,
    OPEN,
    OUT_OF_TURN,
    TESTED,
    VERDICTS,
    Comparison,
    ComparisonRow,
    ComparisonWarning,
    Controls,
    Input,
    InputProblem,
    Loss,
    RunOrder,
    Settings,
    Verdict,
)
from tacholog.compare.sides import control_runs, stated_of
from tacholog.errors import TachologError
from tacholog.runs.labels import is_label, label_fields, label_name, labels_of, labels_text
from tacholog.runs.machines import Machines
from tacholog.runs.moments import instant
from tacholog.schema.metrics import METRICS
from tacholog.store.load import with_own_machines

if TYPE_CHECKING:
    from tacholog.store.frames import Dataset

_OF_ONE_RUN = {"single_run", "same_measurement"}
_OF_LINES, _LINES_NAMED = ("broken", "unknown"), 100
# Conditions that a user chooses for each run, and may want to compare. A different definition, basis or side would be a different quantity.
_CONFIGURATION = (
    *("load_mode", "reliability", "batch_bytes", "payload_touched", "offered_rate_per_s", "instances", "settings", "waiting", "tuning", "placement"),
    *("topics", "partitions", "consumer_groups", "acks", "durability", "replication_factor"),
)
ACROSS = ("system", "host", "options", *SETTING, *CONDITIONS)


def check_across(fields: Iterable[str]) -> None:
    """Refuse fields that cannot be used with ``--across``.

    Raises:
        TachologError: a field cannot be used.
    """
    unknown = sorted(field for field in set(fields) - set(ACROSS) if not is_label(field))
    if unknown:
        near = get_close_matches(unknown[0], ACROSS, 1)
        hint = f" (is {near[0]} meant?)" if near else ""
        raise TachologError(f"--across {unknown[0]}: choose from {', '.join(ACROSS)}, label.NAME{hint}")


def _across_libraries(policy: Policy, old: Dataset, new: Dataset) -> Policy:
    """Add ``system`` to ``across`` if transports of different libraries are compared, because each library is a separate system."""
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
    band_roots: Sequence[Path] = (),
) -> Comparison:
    """Compare two sets of runs.

    Args:
        old: the runs to compare with.
        new: the judged runs.
        policy: the thresholds, and the conditions that may differ.
        names: the names of the two sides.
        everything: whether the comparison also contains the numbers that are never tested.
        measured: the measured band of one build on this machine; ``None``: not measured.
        band_roots: folders with the bands of other machines. If nothing is known about this machine, a warning states the drift on other machines.
    """
    policy = _across_libraries(policy, old, new)
    described = Machines()
    old, new = (with_own_machines(side, described) for side in (old, new))
    machines = machine_names(old, new)
    profiles = [_without_machine(profile, policy) for side in (old, new) for profile in profiles_of(side, machines)]
    number_of: dict[Profile, int] = {}
    numbers = np.array([number_of.setdefault(_without_across(profile, policy), len(number_of)) for profile in profiles], np.int64)
    cells = cell_table(old, new, policy, numbers, MIN_RUNS)
    all_pairs = match(cells, policy.across)
    is_control = are_controls(cells, all_pairs.either)
    pairs = all_pairs.part(~is_control)
    is_tested = np.where(pairs.old != NONE, cells.tested[pairs.old], True) & np.where(pairs.new != NONE, cells.tested[pairs.new], True)
    common = shared_runs(old, new)
    runs = RunLists(profiles, _run_orders(old, "old") + _run_orders(new, "new"), common.codes)
    arrays = _row_arrays(cells, pairs.part(is_tested), runs, policy, measured)
    controls = _controls(cells, all_pairs.part(is_control), arrays, runs, policy) if is_same_control(old, new) else Controls(other=True)
    host_changed = controls is not None and bool(controls.moved)
    if controls and host_changed and controls.change is not None:
        arrays = arrays._replace(host_change=np.log1p(controls.change))
    arrays = say_whether_sides_differ(arrays, controls.explains if controls else None, policy.false_discovery_rate)
    sides = _input(old, names[0], machines), _input(new, names[1], machines)
    comparison = _comparison(sides, policy, arrays, runs, same_build=not common.are_all and is_same_build(old, new))
    roots = [root for side in (old, new) if "root" in side.runs for root in side.runs["root"].dropna()]
    lossy_pairs, lossless, lossy_counts = lossy(cells, pairs, policy)
    losses = loss_rows(cells, lossy_pairs, _judge(cells, lossy_pairs, profiles, policy), (runs.order, runs.codes), policy, host_changed=host_changed)
    if host_changed:
        losses = losses_within_host(losses)
    knows_drift = measured is not None or policy.same_build_percent or (controls and controls.judged)
    warnings = (
        *(() if common.are_all else comparison.warnings),
        *_no_figures_warnings(comparison),
        *_no_direction_warning(old, new),
        *_unstated_sizes_warnings(old, new, names),
        *common.warnings,
        *plan_warnings(roots),
        *(() if knows_drift else _drift_warning(comparison, losses, band_roots)),
        *_across_hints(comparison),
    )
    return msgspec.structs.replace(
        comparison,
        settings=msgspec.structs.replace(comparison.settings, same_build_sessions=measured.sessions if measured else ()),
        losses=losses,
        loss_counts=dict.fromkeys(VERDICTS, 0) | Counter(loss.verdict for loss in losses),
        lossless=lossless,
        loss_asked=loss_asked(policy),
        lossy_counts=lossy_counts,
        controls=controls,
        warnings=warnings,
        changed=tuple(difference for difference in soft_differences(old, new) if difference.field not in policy.across),
        untested=untested_rows(cells, pairs.part(~is_tested), policy) if everything else (),
        problems=_problems(old, "old") + _problems(new, "new"),
    )


class RunLists(NamedTuple):
    """Lists with one element for each run of both sides, the runs of the old side first.

    ``codes`` are numbers of the runs. A run that is on both sides is in the lists twice, with the same number.
    """

    profiles: list[Profile]
    order: list[RunOrder]
    codes: Integers


def _drift_warning(comparison: Comparison, losses: Sequence[Loss], roots: Sequence[Path]) -> tuple[ComparisonWarning, ...]:
    """Return a warning that states the drift on other machines; nothing if no row differs.

    This warning is for machines without a band or controls.
    """
    if not any(comparison.counts[verdict] for verdict in DIFFERS) and not any(loss.verdict in DIFFERS for loss in losses):
        return ()
    drift = known_drift(roots)
    if drift is None:
        return (ComparisonWarning("no_band"),)
    percents = tuple(100 * share for share in (drift.least, drift.middle, drift.most))
    code = "drift_between_days" if drift.days else "drift_within_a_day"
    return (ComparisonWarning(code, drift.sessions, percents=percents),)


def _no_figures_warnings(comparison: Comparison) -> tuple[ComparisonWarning, ...]:
    """Return a warning for each side without numbers, because an empty comparison must not look like a comparison without changes."""
    return tuple(ComparisonWarning("no_figures", side=name) for name, side in (("old", comparison.old), ("new", comparison.new)) if not side.numbers)


def _no_direction_warning(old: Dataset, new: Dataset) -> tuple[ComparisonWarning, ...]:
    """Warn if a side has only metrics for which neither lower nor higher values are better, such as the offered rate."""
    metrics = {name: {str(metric): None for metric in side.results["metric"].unique()} for name, side in (("old", old), ("new", new))}
    undirected = [name for name, side_metrics in metrics.items() if side_metrics and all(METRICS[metric].better is None for metric in side_metrics)]
    which = "" if not undirected else "both" if len(undirected) > 1 else undirected[0]
    names = tuple({metric: None for name in undirected for metric in metrics[name]})
    return (ComparisonWarning("no_direction", side=which, names=names),) if which else ()


def _unstated_sizes_warnings(old: Dataset, new: Dataset, names: tuple[str, str]) -> tuple[ComparisonWarning, ...]:
    """Warn about several logs without run.toml that state no message size, because each may have been measured with a different size."""
    counts = []
    for name, side in zip(names, (old, new), strict=True):
        if "log" not in side.results:  # the saved dataset was read without the names of its logs
            continue
        # A log without run.toml is a separate run, and its name is the path of the log.
        log_names = {*side.results["log"].unique()}
        if not any(run.rpartition("/")[2] in log_names for run in side.results["run"].unique()):
            continue  # This quick check excludes nearly all datasets; the check of all numbers is slower.
        results = side.results.loc[side.results["scope"] == "summary", ["run", "log", "payload_bytes"]]
        runs_with_size = {*results["run"][results["payload_bytes"].notna()]}
        logs = results[["run", "log"]].drop_duplicates().itertuples(index=False)
        count = sum(run.rpartition("/")[2] == log and run not in runs_with_size for run, log in logs)
        counts += [(count, name)] if count else []
    return tuple(ComparisonWarning("sizes_unstated", count, side=name) for count, name in counts) if sum(count for count, _ in counts) > 1 else ()


def _across_hints(comparison: Comparison) -> tuple[ComparisonWarning, ...]:
    """Return a hint that names fields for ``--across``; nothing if no field helps.

    If no row is on both sides, the hint names one field: some rows would be on both sides if this field were ignored. If rows are on both sides, but
    all of them differ in fields of the configuration, the hint names these fields.
    """
    if both := [row for row in comparison.rows if row.old and row.new]:
        return _configuration_hint(both) if all(row.verdict == "not_comparable" for row in both) else ()
    keys_of_side = [[row.key for row in comparison.rows if row.verdict == verdict] for verdict in ("removed", "added")]
    # Rows with different data paths or types also have different metrics: the rate of references is in messages, the rate of copies in bytes.
    for ignored in ({}, {"metric": "", "statistic": ""}):
        for field in (*SETTING, "system"):
            olds, news = ({msgspec.structs.replace(key, apart=(), **ignored, **{field: None}) for key in keys} for keys in keys_of_side)
            if olds & news:
                return (ComparisonWarning("try_across", names=(field,)),)
    return ()


def _configuration_hint(rows: Sequence[ComparisonRow]) -> tuple[ComparisonWarning, ...]:
    """Return a warning with the fields of the configuration that prevent a comparison; nothing if a different condition prevents it too."""
    reasons = {CODES[SETTINGS] if reason.startswith(SETTING_PREFIX) else reason for row in rows for reason in row.reasons}
    fields = [name for name in _CONFIGURATION if CODES[name] in reasons]
    return (ComparisonWarning("configurations", names=tuple(fields)),) if reasons == {CODES[name] for name in fields} else ()


def _row_arrays(cells: CellTable, pairs: CellPairs, runs: RunLists, policy: Policy, measured: SameBuildBands | None) -> RowArrays:
    judgements, which = _judge(cells, pairs, runs.profiles, policy)
    limits = thresholds(cells, pairs, policy, measured)
    different = np.array([bool(judgement.different) for judgement in judgements])[which]
    least = reduced_values(cells, np.minimum)
    positive = pairs.both & (np.fmin(least[pairs.old], least[pairs.new]) > 0)
    enough = np.minimum(cells.runs[pairs.old], cells.runs[pairs.new]) >= MIN_RUNS
    estimates = estimate(cells, pairs, positive & enough & ~different, runs.order)
    return decide(cells, pairs, (judgements, which), same_runs(cells, pairs, runs.codes), estimates, limits, policy)


def _controls(cells: CellTable, pairs: CellPairs, arrays: RowArrays, runs: RunLists, policy: Policy) -> Controls | None:
    """Return the controls of the comparison, if any. Withdraw the verdicts in ``arrays`` that a change of the host may explain."""
    pairs = pairs.part(cells.tested[pairs.either])
    if not len(pairs.old):
        return None
    control_arrays = _row_arrays(cells, pairs, runs, policy, None)
    change = host_change(control_arrays, int((arrays.estimates.tested | out_of_turn(arrays)).sum()), runs.order)
    if change is not None and change.has_moved:
        within_host(arrays, change)
    return controls_of(change, comparison_rows(control_arrays, policy, runs.order), arrays)


def _without_machine(profile: Profile, policy: Policy) -> Profile:
    return profile._replace(host=None, machine=None) if "host" in policy.across else profile


def _without_across(profile: Profile, policy: Policy) -> Profile:
    machine = MACHINE if "host" in policy.across else ()
    options = ("options", "run_settings") if "options" in policy.across else ()
    labels = labels_text({label: value for label, value in labels_of(profile.labels).items() if label not in policy.across})
    return _without_machine(profile, policy)._replace(**dict.fromkeys((*machine, *options)))._replace(labels=labels)


def _run_orders(dataset: Dataset, side: str) -> list[RunOrder]:
    columns = ("run", "session", "repetition", "order_index", "start_time", "status", "reason")
    return [msgspec.convert({"side": side, **row}, RunOrder) for row in stated_of(dataset.runs, columns)]


def _problems(dataset: Dataset, side: Literal["old", "new"]) -> tuple[InputProblem, ...]:
    problems = [
        InputProblem(side=side, **{name: row[name] for name in ("run", "log", "line", "kind", "reason")})
        for row in dataset.problems.to_dict("records")
    ]
    of_lines = [problem for problem in problems if problem.kind in _OF_LINES]
    return (*(problem for problem in problems if problem.kind not in _OF_LINES), *of_lines[:_LINES_NAMED])


def _judge(cells: CellTable, pairs: CellPairs, profiles: list[Profile], policy: Policy) -> tuple[list[Judgement], Integers]:
    """Judge the conditions of each pair. Pairs with the same conditions on both sides are judged once.

    A cell may have no partner with the same conditions. Then it is judged against a cell of the same row with other conditions, so that the
    comparison can name these conditions.

    Returns:
        The judgements, and for each pair the index of its judgement.
    """
    columns = (*SETTING, "metric", REACH)
    pairs = _with_other_conditions(cells, pairs)
    both = np.flatnonzero(pairs.both)
    which = np.zeros(len(pairs.old), np.int64)
    judgements = [Judgement((), ())]
    if not len(both):
        return judgements, which
    old, new = pairs.part(both)
    row_code, latency_code = cells.groups(columns), latency_of(cells)
    codes = np.stack([code[side] for code in (cells.conditions, row_code, latency_code) for side in (old, new)], axis=1)
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    which[both] = inverse.reshape(-1) + 1
    sides = [_conditions(cells, side[first], columns, profiles) for side in (old, new)]
    judgements += [judge(before, after, policy.across) for before, after in zip(*sides, strict=True)]
    return judgements, which


def _with_other_conditions(cells: CellTable, pairs: CellPairs) -> CellPairs:
    """Pair each cell without a partner with the first cell of the same row on the other side. Controls are paired only with controls."""
    old, new = pairs
    control = are_controls(cells, np.arange(len(cells.row))).astype(int)
    first = np.full((2, 2, int(cells.row.max(initial=0)) + 1), NONE)
    for side in (False, True):
        members = np.flatnonzero(cells.new == side)[::-1]
        first[int(side), control[members], cells.row[members]] = members
    other_old, other_new = first[0, control[new], cells.row[new]], first[1, control[old], cells.row[old]]
    return CellPairs(np.where(old == NONE, other_old, old), np.where(new == NONE, other_new, new))


def _conditions(cells: CellTable, cell: Integers, columns: tuple[str, ...], profiles: list[Profile]) -> list[dict[str, Any]]:
    names, runs = (*columns, *CONDITIONS), cells.run[cell].tolist()
    rows = zip(runs, latency_of(cells)[cell].tolist(), *(cells.column(name, cell) for name in names), strict=True)
    return [
        dict(zip(names, values, strict=True)) | profiles[run]._asdict() | {"latency_of": LATENCY_OF[latency_code]}
        for run, latency_code, *values in rows
    ]


def _comparison(sides: tuple[Input, Input], policy: Policy, arrays: RowArrays, runs: RunLists, *, same_build: bool) -> Comparison:
    counted = Counter(arrays.verdict.tolist())
    return Comparison(
        generated_by=f"tacholog {version('tacholog')}",
        old=sides[0],
        new=sides[1],
        same_build=same_build,
        settings=_settings(policy),
        counts={verdict: counted.get(CODE[verdict], 0) for verdict in VERDICTS},
        designs=_design_counts(arrays),
        warnings=(
            *_design_warnings(arrays, same_build),
            *_gate_warning(arrays),
            *_reference_warning(arrays),
            *_label_warning(arrays),
        ),
        changed=(),
        rows=comparison_rows(arrays, policy, runs.order),
        curves=curves(arrays, policy),
        runs=tuple(runs.order),
    )


def _design_counts(arrays: RowArrays) -> dict[str, int]:
    """Return how many rows have each design, by the name of the design. The name ``single`` stands for rows with one value on each side."""
    estimates = arrays.estimates
    decided = Counter(estimates.designs[index].kind for index in estimates.design.tolist() if index >= 0)
    single = int(arrays.by_value.sum()) - decided.get("confounded", 0)
    return {**decided, **({"single": single} if single > 0 else {})}


def _design_warnings(arrays: RowArrays, same_build: bool) -> tuple[ComparisonWarning, ...]:
    estimates = arrays.estimates
    used = {index for index in estimates.design.tolist() if index >= 0}
    reasons = {estimates.designs[index].reason for index in used} - {None}
    by_value = {REASONS[index] for index in set(arrays.reason[arrays.by_value].tolist())}
    return (
        *([ComparisonWarning("same_build")] if same_build else []),
        *(ComparisonWarning(reason) for reason in sorted(reason for reason in reasons if reason)),
        *([ComparisonWarning("single_values")] if by_value & _OF_ONE_RUN else []),
        *_unverified_warning(arrays),
    )


def _unverified_warning(arrays: RowArrays) -> tuple[ComparisonWarning, ...]:
    """Warn about rows with repeated runs that get no test because a condition is not stated."""
    rows = np.flatnonzero(arrays.by_value & (arrays.reason == REASONS.index("unverified")))
    fields = dict.fromkeys(field for index in arrays.judgement[rows].tolist() for field in arrays.judgements[index].unverified)
    return (ComparisonWarning("unverified", len(rows), names=tuple(fields)),) if len(rows) else ()


def _gate_warning(arrays: RowArrays) -> tuple[ComparisonWarning, ...]:
    tested = ~np.isnan(arrays.estimates.p_adjusted)
    return () if all((gate & tested).any() for gate in arrays.gates) else (ComparisonWarning("gate_empty"),)


def _reference_warning(arrays: RowArrays) -> tuple[ComparisonWarning, ...]:
    """Warn about rows with the latency of bytes on one side, and of references on the other. Their ratio would look like a huge gain."""
    refused = np.array([any(difference.field == "latency_of" for difference in judgement.different) for judgement in arrays.judgements])
    count = int((refused[arrays.judgement] & arrays.pairs.both).sum())
    return (ComparisonWarning("latency_of", count),) if count else ()


def _label_warning(arrays: RowArrays) -> tuple[ComparisonWarning, ...]:
    """Return a warning if rows differ only in labels. The warning names these labels."""
    fields_of = [{difference.field for difference in judgement.different} for judgement in arrays.judgements]
    used = set(arrays.judgement[arrays.pairs.both].tolist())
    labels = {field for index in used for field in fields_of[index] if all(map(is_label, fields_of[index]))}
    return (ComparisonWarning("labels", names=tuple(sorted(labels))),) if labels else ()


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
    measured = [run for run in runs if run["run"] not in controls] or runs  # controls are left out, because they have versions of their own

    def distinct(column: str, rows: Sequence[Mapping[str, Any]] = runs) -> tuple[str, ...]:
        return tuple(sorted({str(row[column]) for row in rows if row[column] is not None}))

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
    texts = dataset.runs.reindex(columns=["labels"])["labels"].dropna().unique()
    values_of = {field: {value for text in texts if (value := labels_of(str(text)).get(field)) is not None} for field in label_fields(texts)}
    return {label_name(field): tuple(sorted(values)) for field, values in values_of.items()}


def exit_code(comparison: Comparison, fail_on: tuple[str, ...]) -> int:
    """Return the exit code of a diff: the highest of the codes that apply; 0 if none applies.

    - 3: a row has a verdict that ``fail_on`` names. The value ``worse`` names the verdict "worse". The value ``differs`` names "measured worse" and
      "measured better". The value ``inconclusive`` names "too noisy to tell" and "too few pairs". Rows that ``known.toml`` acknowledges do not count.
    - 4: no row was compared, or no row of a gate was compared. A row that compares runs with themselves does not count as compared.
      If ``fail_on`` contains ``worse`` or ``inconclusive``, the code is also 4 if no row was tested: 0 would mean that the tests detected nothing.
      If ``fail_on`` contains ``differs``, but neither of these two values, the code is also 4 if no row was tested and no row has a verdict on
      whether its measurements differ.
    - 5: ``fail_on`` contains ``implausible``, and numbers are implausible. Such numbers contradict each other, are impossible, or were measured
      while more than 1 % was lost.
    """
    implausible = any(
        row.verdict in ("invalid", "lossy") and {"impossible", "out_of_order", "loss"} & {*row.reasons, *row.marks} for row in comparison.rows
    )
    with_itself = sum("same_runs" in row.flags for row in comparison.rows)
    # Rows of loss count only if there are no other rows, because then the user asked only for loss.
    lost = 0 if comparison.rows else sum(comparison.loss_counts.get(verdict, 0) for verdict in COMPARED) + comparison.lossless
    compared = sum(comparison.counts[verdict] for verdict in COMPARED) + lost > with_itself and not comparison.warns("gate_empty")
    if {"worse", "differs", "inconclusive"} & {*fail_on}:
        answers = TESTED if {"worse", "inconclusive"} & {*fail_on} else TESTED | OUT_OF_TURN
        has_tests = any(comparison.counts[verdict] or comparison.loss_counts.get(verdict, 0) for verdict in answers)
        nothing_lost = not comparison.rows and not comparison.losses  # the user asked only for loss, and no run lost messages
        compared = compared and (has_tests or nothing_lost)
    verdicts_of: dict[str, Iterable[Verdict]] = {"worse": ("worse",), "differs": DIFFERS, "inconclusive": OPEN}
    failed = any(
        comparison.counts[verdict] + comparison.loss_counts.get(verdict, 0) > comparison.acknowledged(verdict)
        for name in fail_on
        for verdict in verdicts_of.get(name, ())
    )
    return max(0 if compared else 4, 3 if failed else 0, 5 if "implausible" in fail_on and implausible else 0)
