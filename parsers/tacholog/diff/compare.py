"""Compare two datasets: match, gate, estimate, decide, and put it all into one report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from tacholog.diff import gate
from tacholog.diff.bands import SameBuild
from tacholog.diff.estimate import Estimates, estimate
from tacholog.diff.match import NONE, Pairs, match
from tacholog.diff.numbers import CONDITIONS, SETTING, Flags, Integers, Numbers, numbers
from tacholog.diff.pairing import remarks
from tacholog.diff.policy import BANDS, MIN_RUNS, Policy
from tacholog.diff.result import COMPARED, VERDICTS, Input, Report, RunOrder, Settings
from tacholog.diff.rows import Findings, curves, rows, untested
from tacholog.diff.verdict import CODE, Verdicts, decide, thresholds
from tacholog.errors import TachologError

if TYPE_CHECKING:
    from tacholog.dataset import Dataset

ACROSS = ("system", "host", *SETTING, *CONDITIONS)


def check_across(fields: Iterable[str]) -> None:
    """Refuse what rows cannot be compared across.

    Raises:
        TachologError: no such field.
    """
    unknown = sorted(set(fields) - set(ACROSS))
    if unknown:
        raise TachologError(f"--across {unknown[0]}: choose from {', '.join(ACROSS)}")


def compare(
    old: Dataset,
    new: Dataset,
    policy: Policy,
    names: tuple[str, str] = ("old", "new"),
    everything: bool = True,
    measured: SameBuild | None = None,
) -> Report:
    """Compare two sets of runs.

    Args:
        old: the runs to compare with.
        new: the runs that are judged.
        policy: what counts as a change.
        names: what to call the two sides.
        everything: whether the numbers that are never tested go into the report too.
        measured: how far one build is from itself on this machine, if somebody measured it.
    """
    profiles = [profile if "host" not in policy.across else profile._replace(host=None) for side in (old, new) for profile in gate.profiles(side)]
    order = _run_orders(old, "old") + _run_orders(new, "new")
    known: dict[gate.Profile, int] = {}
    codes = np.array([known.setdefault(_compared(profile, policy), len(known)) for profile in profiles], np.int64)
    data = numbers(old, new, policy, codes)
    pairs = match(data, policy.across)
    wanted = np.where(pairs.old != NONE, data.tested[pairs.old], True) & np.where(pairs.new != NONE, data.tested[pairs.new], True)
    shown = Pairs(pairs.old[wanted], pairs.new[wanted])
    judged, which = _judge(data, shown, profiles, policy)
    findings = _find(data, shown, (judged, which), order, policy, measured)
    sides = _input(old, names[0]), _input(new, names[1])
    report = _report(sides, policy, findings, order, same_build=gate.same_build(old, new))
    rest = Pairs(pairs.old[~wanted], pairs.new[~wanted])
    said = (*remarks([root for side in (old, new) if "root" in side.runs for root in side.runs["root"].dropna()]), *_hint(report))
    settings = msgspec.structs.replace(report.settings, same_build_sessions=measured.sessions if measured else ())
    return msgspec.structs.replace(
        report,
        settings=settings,
        warnings=(*report.warnings, *said),
        changed=gate.changed(old, new),
        untested=untested(data, rest, policy) if everything else (),
    )


def _hint(report: Report) -> tuple[str, ...]:
    """A field without which rows of one side would meet rows of the other, where nothing met at all."""
    if any(row.old and row.new for row in report.rows):
        return ()
    for field in (*SETTING, "system"):
        found = [
            {msgspec.structs.replace(row.key, **{field: None}) for row in report.rows if row.verdict == verdict} for verdict in ("removed", "added")
        ]
        if found[0] & found[1]:
            return (f"try_across:{field}",)
    return ()


def _find(
    data: Numbers,
    pairs: Pairs,
    asked: tuple[list[gate.Judgement], Integers],
    order: list[RunOrder],
    policy: Policy,
    measured: SameBuild | None,
) -> Findings:
    judged, which = asked
    limits = thresholds(data, pairs, policy, measured)
    different = np.array([bool(judgement.different) for judgement in judged] or [False])[which]
    unverified = np.array([bool(judgement.unverified) for judgement in judged] or [False])[which]
    cells = data.cells
    positive = pairs.both & (np.fmin(_least(data, pairs.old), _least(data, pairs.new)) > 0)
    enough = np.minimum(cells.values[pairs.old], cells.values[pairs.new]) >= MIN_RUNS
    found = estimate(data, pairs, positive & enough & ~different, order, limits.least)
    verdicts = decide(data, pairs, (different, unverified), found, limits, policy)
    return Findings(data, pairs, judged, which, found, limits, verdicts)


def _least(data: Numbers, side: Integers) -> Any:  # noqa: ANN401 - an array of floats
    """The smallest value of each cell."""
    entries, cells = data.entries, data.cells
    least = np.full(len(cells.values), np.nan)
    filled = np.flatnonzero(cells.values)
    if len(filled):
        least[filled] = np.minimum.reduceat(entries.value, cells.first[filled])
    return least[side]


def _compared(profile: gate.Profile, policy: Policy) -> gate.Profile:
    """The profile without what the diff goes across."""
    if "host" not in policy.across:
        return profile
    return profile._replace(host=None, **dict.fromkeys(gate.MACHINE))


def _run_orders(dataset: Dataset, side: str) -> list[RunOrder]:
    columns = ["run", "session", "repetition", "order_index", "start_time", "status", "reason"]
    frame = dataset.runs[columns].astype(object)
    cells = frame.where(frame.notna(), None).to_dict("records")
    return [msgspec.convert({"side": side, **row}, RunOrder) for row in cells]


def _judge(data: Numbers, pairs: Pairs, profiles: list[gate.Profile], policy: Policy) -> tuple[list[gate.Judgement], Integers]:
    """What the gate says of each pair. It is asked once for all rows that have the same conditions on both sides."""
    where = (*SETTING, "metric")
    cells, both = data.cells, np.flatnonzero(pairs.both)
    which = np.zeros(len(pairs.old), np.int64)
    judged = [gate.Judgement((), ())]
    if not len(both):
        return judged, which
    old, new = pairs.old[both], pairs.new[both]
    code = data.codes(where)
    asked = np.stack([cells.conditions[old], cells.conditions[new], code[old], code[new]], axis=1)
    _, first, inverse = np.unique(asked, axis=0, return_index=True, return_inverse=True)
    which[both] = inverse.reshape(-1) + 1
    for place in first:
        facts = [_facts(data, int(cell), where, profiles) for cell in (old[place], new[place])]
        judged.append(gate.judge(facts[0], facts[1], policy.across))
    return judged, which


def _facts(data: Numbers, cell: int, where: tuple[str, ...], profiles: list[gate.Profile]) -> dict[str, Any]:
    stated = {name: data.columns[name].at(cell) for name in (*where, *CONDITIONS)}
    return {**stated, **profiles[data.cells.run[cell]]._asdict()}


def _report(sides: tuple[Input, Input], policy: Policy, findings: Findings, order: list[RunOrder], *, same_build: bool) -> Report:
    verdicts, found = findings.verdicts, findings.found
    counted = Counter(verdicts.verdict.tolist())
    return Report(
        generated_by=f"tacholog {version('tacholog')}",
        old=sides[0],
        new=sides[1],
        same_build=same_build,
        settings=_settings(policy),
        counts={verdict: counted.get(CODE[verdict], 0) for verdict in VERDICTS},
        designs=_designs(found, verdicts),
        warnings=(*_warnings(found, verdicts.by_value, same_build), *_gate_warning(verdicts)),
        changed=(),
        rows=rows(findings, policy),
        curves=curves(findings, policy),
        untested=(),
        runs=tuple(order),
    )


def _designs(found: Estimates, verdicts: Verdicts) -> dict[str, int]:
    """How many rows each design decided; ``single`` are those with one value a side."""
    decided = Counter(found.designs[index].kind for index in found.design.tolist() if index >= 0)
    single = int(verdicts.by_value.sum()) - decided.get("confounded", 0)
    return {**decided, **({"single": single} if single > 0 else {})}


def _warnings(found: Estimates, by_value: Flags, same_build: bool) -> tuple[str, ...]:
    used = {index for index in found.design.tolist() if index >= 0}
    reasons = {found.designs[index].reason for index in used} - {None}
    same_first = any(found.designs[index].same_first for index in used)
    return (
        *(["same_build"] if same_build else []),
        *sorted(reason for reason in reasons if reason),
        *(["same_first"] if same_first else []),
        *(["single_values"] if by_value.any() else []),
    )


def _gate_warning(verdicts: Verdicts) -> tuple[str, ...]:
    tested = ~np.isnan(verdicts.p_adjusted)
    return () if all((gate & tested).any() for gate in verdicts.gates) else ("gate_empty",)


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


def _input(dataset: Dataset, name: str) -> Input:
    def distinct(column: str) -> tuple[str, ...]:
        return tuple(sorted({str(value) for value in dataset.runs[column].dropna()}))

    times = distinct("start_time")
    return Input(
        name=name,
        runs=len(dataset.runs),
        numbers=int((dataset.results["scope"] == "summary").sum()),
        systems=distinct("system"),
        versions=distinct("system_version"),
        releases=distinct("release"),
        tools=distinct("tool"),
        hosts=tuple(dataset.hosts[host].name if host in dataset.hosts else host for host in distinct("host")),
        published=bool(dataset.runs["published"].any()),
        first=times[0] if times else None,
        last=times[-1] if times else None,
        problems=len(dataset.problems),
    )


def exit_code(report: Report, fail_on: tuple[str, ...]) -> int:
    """0, or 4 if nothing could be compared, or nothing of a gate; the highest that applies of it and what ``fail_on`` asks for.

    ``worse``: 3 for worse rows. ``inconclusive``: 3 for rows that are too noisy to tell. ``implausible``: 5 for figures that cannot be true.
    """
    implausible = any(row.verdict == "invalid" and {"impossible", "out_of_order", "loss"} & {*row.reasons, *row.marks} for row in report.rows)
    compared = any(report.counts[verdict] for verdict in COMPARED) and "gate_empty" not in report.warnings
    asked = any(verdict in fail_on and report.counts[verdict] for verdict in ("worse", "inconclusive"))
    return max(0 if compared else 4, 3 if asked else 0, 5 if "implausible" in fail_on and implausible else 0)
