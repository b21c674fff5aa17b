"""Run two builds in interleaved pairs within one session, then compare them as tacholog diff does.

OLD and NEW are each one of these: a program, its installation folder, a git revision of the checkout (built below build/ab), or a command template of
several words, in which {arguments} is replaced by the arguments of the campaign's command: "env MODE=fast /opt/tool/bin/ping {arguments}".

If programs such as env or taskset stand before the tool in a template, the version and the SHA-256 are those of the tool.

OLD and NEW may also be two campaign files, whose variants have the same names: tacholog ab old.toml new.toml. Then the sides can differ in anything
that a campaign states, such as an option of the client alone.

CAMPAIGN states what to measure; default: bench/campaigns/quick.toml. The number of pairs is fixed before the first run; no result stops it early.
The comparison of a build with itself is a calibration: its band is stored in same-build/ next to the runs, and tacholog diff uses it.

Exit codes are those of tacholog diff; 129, 130 and 143: interrupted, continue with --resume.
"""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from tacholog import terminal
from tacholog.campaign.builds import Build, find_build
from tacholog.campaign.campaign_file import read_campaign
from tacholog.campaign.campaign_folder import disturbed_runs, failure_reason
from tacholog.campaign.floor import floor_tools
from tacholog.campaign.gaps import Gap, expected_gaps
from tacholog.campaign.pairs import Pairs, copy_pairs_to_data, pairs_folder, pairs_to_confirm, resume_pairs, start_pairs, with_event
from tacholog.campaign.plan import Plan, PlannedRun
from tacholog.campaign.preview import without_commands
from tacholog.campaign.programs import find_programs
from tacholog.commands.diff import FAIL_ON, FORMATS, band_roots, known_regressions, rendered, write_report
from tacholog.commands.shared.arguments import Folder, Percentage
from tacholog.commands.shared.campaigns import gap_words, limits_held, list_words, measure_all, short_words
from tacholog.commands.shared.messages import counted, duration
from tacholog.compare.policy import MIN_RUNS, TESTED, Policy
from tacholog.compare.result import Comparison
from tacholog.errors import TachologError
from tacholog.installation import checkout
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import FLOOR, SAME_BUILD_FOLDER

if TYPE_CHECKING:
    from tacholog.compare.bands import SameBuildBands
    from tacholog.store.frames import Dataset

_ASSUMED_NOISE = 0.02
_DEFAULT_PAIRS = 12
_UNREACHABLE = 2
_NOT_PUBLISHED = (
    "--confirm cannot be used with --release: a later comparison of the copied runs would show only the first look, not the confirmed verdicts"
)


@click.command(help=__doc__)
@click.argument("old")
@click.argument("new")
@click.argument("campaign", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--pairs", type=click.IntRange(1), help="How many pairs of each variant.  [default: 12]")
@click.option(
    "--detect",
    type=Percentage(),
    help="The change of a single row, such as 5%, that must be detected in four cases of five. Without --pairs, the number of pairs follows from it.",
)
@click.option(
    "--plan",
    "--dry-run",
    "only_plan",
    is_flag=True,
    help="Print what would be run, how long it takes and which change it can detect, then stop. A revision is built first; nothing else is run.",
)
@click.option(
    "--confirm",
    is_flag=True,
    help="Measure the variants of rows that look worse or better again, in as many new pairs. The new pairs alone give the verdicts of these rows.",
)
@click.option("--resume", is_flag=True, help="Continue the newest comparison of this campaign; with a higher --pairs, add pairs.")
@click.option("--release", "releases", nargs=2, metavar="OLD NEW", help="Label the sides, and copy both to DATA/<tool>/OLD-to-NEW at the end.")
@click.option("--output", default="build/runs", show_default=True, type=Folder(), help="Where runs are kept.")
@click.option("--data", default="data", show_default=True, type=Folder(), help="Where --release copies to.")
@click.option(
    "--perftest", type=click.Path(path_type=Path), help="The perftest of command templates; default: the one built in the checkout, or on the PATH."
)
@click.option("--no-control", is_flag=True, help="Add no controls (short runs of perftest that show whether the host changed).")
@click.option(
    "--across", multiple=True, metavar="FIELD", help="The sides may differ in this field (such as options or label.plugin). May be repeated."
)
@click.option("--format", "output_format", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print the comparison.")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(FAIL_ON),
    help="Exit with 3 (implausible: 5) if there is such a row, as in tacholog diff. May be repeated.",
)
@click.option(
    "--known", "known_file", metavar="FILE", type=click.Path(path_type=Path), help="Known regressions, as in tacholog diff; default: known.toml."
)
def ab(
    *,
    old: str,
    new: str,
    campaign: Path | None,
    pairs: int | None,
    detect: float | None,
    only_plan: bool,
    confirm: bool,
    resume: bool,
    releases: tuple[str, str] | None,
    output: Path,
    data: Path,
    perftest: Path | None,
    no_control: bool,
    across: tuple[str, ...],
    output_format: str,
    fail_on: tuple[str, ...],
    known_file: Path | None,
) -> None:
    """Find both builds, print the plan, execute it, and compare the sides."""
    from tacholog.compare.acknowledged import acknowledge
    from tacholog.compare.diff.compare import check_across, exit_code

    check_across(across)  # checked now, because measuring takes hours
    regressions = known_regressions(known_file)
    if only_plan and resume:
        raise click.UsageError("--plan prints the plan of a new comparison; --resume continues a comparison that already has a plan")
    if detect and resume:
        raise click.UsageError("--detect chooses the pairs of a new comparison; --resume continues a comparison that already has a plan")
    if confirm and releases:
        raise click.UsageError(_NOT_PUBLISHED)
    compared_files = _own_campaigns(old, new, campaign)
    path = compared_files[0] if compared_files else campaign or _default_campaign()
    planned = read_campaign(path)
    tools, work = find_programs(perftest, checkout()), (checkout() or Path.cwd()) / "build" / "ab"
    if compared_files:
        builds = [
            Build(file.stem if compared_files[0].stem != compared_files[1].stem else str(file), tools, campaign=file) for file in compared_files
        ]
    else:
        builds = [find_build(name, planned, tools, checkout(), work, terminal.remark) for name in (old, new)]
    if releases:
        pairs_folder(data, planned.tool, releases)  # read now, so that an error does not appear after hours of measuring
    floor = None if no_control and not resume else tools.get("perftest") or builds[0].tools.get("perftest")
    sides = builds[0]._replace(tools=floor_tools(builds[0].tools, floor)), builds[1]._replace(tools=floor_tools(builds[1].tools, floor))
    asks = not only_plan
    begun = (
        resume_pairs(path, output, sides, pairs, may_be_done=confirm)
        if resume
        else start_pairs(path, output, sides, pairs or _DEFAULT_PAIRS, releases, asks=asks)
    )
    if confirm and begun.plans[0].release is not None:
        raise click.UsageError(_NOT_PUBLISHED)
    suggested = _pairs_needed(begun, detect, output, data) if detect else None
    if suggested and not pairs:
        shutil.rmtree(begun.folder)
        begun = start_pairs(path, output, sides, suggested, releases, asks=asks)
    gaps = _gaps(begun, across)
    lists = planned.only_if_listed if only_plan and not without_commands(planned).only_if_listed else None
    fewer = [list_words(shlex.join(lists.by))] if lists else []
    for line in (
        *_plan_words(begun, output, data, detect),
        *([_confirmation_words(begun)] if confirm else []),
        *fewer,
        *short_words(begun.plans[0]),
        *gap_words(gaps),
    ):
        (partial(terminal.line, err=True) if only_plan else terminal.remark)(line)
    if only_plan or (detect and not suggested and not pairs):
        shutil.rmtree(begun.folder)
        sys.exit(0 if only_plan else _UNREACHABLE)
    _measure(begun, gaps)
    report = acknowledge(_compared(begun, data, across, gaps if confirm else None), regressions, datetime.now(UTC).date())
    write_report(output_format, report, rendered(output_format, report), None)
    _warn_if_nothing_was_measured(begun, report)
    sys.exit(exit_code(report, fail_on))


def _own_campaigns(old: str, new: str, campaign: Path | None) -> tuple[Path, Path] | None:
    """Return the campaign files of both sides; ``None`` if the user named programs."""
    files = [Path(name) for name in (old, new) if name.endswith(".toml") and Path(name).is_file()]
    if not files:
        return None
    if len(files) == 1:
        raise TachologError(f"{files[0]} is a campaign: compare two campaigns, or two programs followed by the campaign")
    if campaign:
        raise TachologError(f"{old} and {new} are campaigns, so {campaign} cannot be one too: leave it out")
    return files[0], files[1]


def _default_campaign() -> Path:
    root = checkout()
    if root is None:
        raise TachologError("there is no checkout with a quick campaign: name a CAMPAIGN")
    return root / "bench" / "campaigns" / "quick.toml"


def _pairs_needed(begun: Pairs, change: float, output: Path, data: Path) -> int | None:
    """Return how many pairs detect this change if only one row changes; ``None`` if no number of pairs is sufficient."""
    return pairs_to_detect(change, _noise(begun, output, data)[0], max(_rows(begun), 1))


def _plan_words(begun: Pairs, output: Path, data: Path, detect: float | None = None) -> list[str]:
    pairs, tasks = begun.record.pairs, begun.tasks()
    variants = len({run.variant for run in begun.plans[0].runs})
    seconds = sum(task.run.expected_s for task in tasks)
    noise, source = _noise(begun, output, data)
    rows = max(_rows(begun), 1)
    changes = [smallest_change(noise, pairs, count) for count in (1, rows)]
    return [
        *(f"{name}  {_build(build)}{_version(plan)}" for name, build, plan in zip(("OLD", "NEW"), begun.builds, begun.plans, strict=True)),
        f"{counted(pairs, 'pair')} of {counted(variants, 'variant')}: {len(tasks)} runs to do, about {duration(seconds)}.",
        f"Run-to-run noise: {noise:.1%} ({source}).",
        change_words(changes[0], changes[1], rows)
        if pairs >= MIN_RUNS
        else f"Fewer than {MIN_RUNS} pairs never give a verdict, whatever the change.",
        *([detect_words(detect, noise, rows)] if detect else []),
    ]


def _confirmation_words(begun: Pairs) -> str:
    seconds = sum(run.expected_s for plan in begun.plans for run in plan.runs)
    again = f"the variants of rows that look worse or better are measured again in {counted(begun.record.pairs, 'new pair')}"
    most = f"at most {begun.record.runs} more runs, about {duration(seconds)}"
    return f"With --confirm, {again}: {most}. If no row looks worse or better, there are no more runs."


def smallest_change(noise: float, pairs: int, rows: int) -> float:
    """Return the smallest detectable change, as a share. Return infinity if no change can be detected.

    A change is detectable if a comparison finds it in four cases of five. It is assumed that only one of ``rows`` rows changes.
    """
    import numpy as np

    from tacholog.compare.power import RunCounts, detectable

    policy = Policy()
    of_pairs, threshold = np.array([noise * 2**0.5]), np.log1p(np.array([policy.thresholds_percent.centre / 100]))
    return float(np.expm1(detectable(of_pairs, RunCounts(pairs, pairs, rows, paired=True), policy.false_discovery_rate, threshold))[0])


def pairs_to_detect(change: float, noise: float, rows: int) -> int | None:
    """Return how many pairs are needed to detect a change; ``None`` if more than `MOST_PAIRS` are needed.

    The change must be found in four cases of five. It is assumed that only one of ``rows`` rows changes.
    """
    from tacholog.compare.power import pairs_for

    policy = Policy()
    return pairs_for(math.log1p(change), noise * 2**0.5, rows, policy.false_discovery_rate, math.log1p(policy.thresholds_percent.centre / 100))


def detect_words(change: float, noise: float, rows: int) -> str:
    """Return a sentence with the number of pairs needed to detect the change."""
    from tacholog.compare.power import MOST_PAIRS
    from tacholog.render.diff.words import percent

    needed, least = pairs_to_detect(change, noise, rows), Policy().thresholds_percent.centre / 100
    subject = f"A change of {percent(change)} in one row of {rows}"
    if needed:
        return f"{subject} is detected in four cases of five with {needed} pairs."
    why = f"changes below {percent(least)} do not count" if change <= least else f"the noise is too large for {MOST_PAIRS} pairs"
    return f"{subject} cannot be detected with any number of pairs up to {MOST_PAIRS}: {why}."


def change_words(alone: float, among: float, rows: int) -> str:
    """Return a sentence with the smallest change that can be detected.

    ``alone`` is the smallest detectable change if the comparison has only one row. ``among`` is the smallest detectable change if it has ``rows``
    rows. With few pairs, ``among`` is infinite.
    """
    from tacholog.compare.power import runs_needed
    from tacholog.render.diff.words import percent

    rate = Policy().false_discovery_rate
    alone_words = f"Smallest detectable change of a median or mean, in four cases of five: {percent(alone)} in a single row"
    if math.isinf(among):
        needed = runs_needed(rows, rate, paired=True)
        return f"{alone_words}; in one row of {rows}, no change can be detected: that needs {needed} pairs, or a smaller campaign."
    return f"{alone_words}, {percent(among)} in one row of {rows}."


def _build(build: Build) -> str:
    return f"{build.name} ({build.revision[:12]})" if build.revision else build.name


def _version(plan: Plan) -> str:
    checksums = ", ".join(f"{program} {checksum[:12]}" for program, checksum in plan.programs.items())
    return f", version: {plan.tool_version or 'not known'}, SHA-256 of {checksums}"


def _checksums(plan: Plan) -> str:
    return "+".join(sorted(checksum for program, checksum in plan.programs.items() if program != FLOOR))


def _noise(begun: Pairs, output: Path, data: Path) -> tuple[float, str]:
    """Return the noise as a fraction, and its source. The noise is the median over the rows that were measured on this machine."""
    from tacholog.compare.bands import noise, same_build

    files = [folder / SAME_BUILD_FOLDER / f"{begun.plans[0].host}.csv" for folder in (output, data)]
    for file in files:
        if file.is_file():
            return median(noise(same_build(file))), f"measured by comparing one build with itself: {file}"
    return _ASSUMED_NOISE, "assumed; to measure it, compare a build with itself by tacholog ab"


def _rows(begun: Pairs) -> int:
    """Return how many rows the comparison will test: for each size, each variant has one rate or some percentiles."""
    measured = (run for run in begun.plans[0].runs if run.repetition == 1 and label_name(CONTROL) not in run.labels)
    return sum(_sizes(run) * _statistics(run) for run in measured)


def _sizes(run: PlannedRun) -> int:
    listed = run.options.get("sizes_bytes")
    return len(listed) if isinstance(listed, list) else 1


def _statistics(run: PlannedRun) -> int:
    return 1 if run.conditions.load_mode == "max-rate" else len(TESTED["latency"])


def _gaps(begun: Pairs, across: Collection[str]) -> list[Gap]:
    # Both sides have the same variants, so one side is sufficient.
    return [gap for gap in expected_gaps(begun.plans[0]).gaps if gap.condition not in across]


def _measure(begun: Pairs, gaps: Sequence[Gap]) -> None:
    try:
        measure_all(begun.tasks(), begun.record.runs, gaps)
    except KeyboardInterrupt:
        with_event(begun, "interrupted")
        old, new = begun.sides
        click.echo(
            f"\ninterrupted with {begun.pairs_done()} of {begun.record.pairs} pairs done; the same command with --resume continues."
            f"\nThe pairs so far can be compared: tacholog diff {old} {new}",
            err=True,
        )
        raise SystemExit(130) from None


def _warn_if_nothing_was_measured(begun: Pairs, report: Comparison) -> None:
    for side, folder, plan, build in zip((report.old, report.new), begun.sides, begun.plans, begun.builds, strict=True):
        if not side.numbers:
            why = failure_reason(folder, plan.runs[0]) or "its output holds no result"
            message = f"{build.name}: none of {side.runs} runs gave a result ({why}): is it the program that the campaign {plan.campaign} runs?"
            click.echo(f"tacholog: {message} Its output is in {folder}.", err=True)


def _limits_were_held(begun: Pairs) -> bool:
    """Return whether all runs stayed within the limits of the campaign. Print the runs that did not, and the command that repeats these runs."""
    reasons = {
        f"{side.name} {run}": why
        for side, of_side in zip(begun.sides, begun.plans, strict=True)
        for run, why in disturbed_runs(side, of_side).items()
    }
    for line in limits_held(begun.plans[0].limits, begun.record.runs, reasons, "the same command with --resume, which takes both runs of a pair"):
        click.echo(line, err=True)
    return not reasons


def _confirmed(begun: Pairs, first: Comparison, sides: Sequence[Dataset], measured: SameBuildBands | None, gaps: Sequence[Gap]) -> Comparison:
    """Measure the variants of changed rows again. In the result, these rows have the verdicts of the new pairs."""
    from tacholog.compare.confirmation import changed_rows, confirmed, only_rows, runs_with
    from tacholog.compare.diff.compare import compare
    from tacholog.compare.sides import find

    rows, across = changed_rows(first), first.settings.across
    if not rows:
        return confirmed(first, None, begun.record.pairs)
    runs = {run for side in sides for run in runs_with(side, rows, across)}
    variants = {run.variant for plan in begun.plans for run in plan.runs if run.folder in runs}
    again = pairs_to_confirm(begun, variants)
    count = f"{counted(len(rows), 'row')} {'looks' if len(rows) == 1 else 'look'} worse or better"
    terminal.remark(f"First look: {count}. Measured again in {counted(again.record.pairs, 'new pair')}: {', '.join(sorted(variants))}.")
    _measure(again, gaps)
    _limits_were_held(again)
    old, new = (only_rows(find(str(folder), ()), rows, across) for folder in again.sides)
    names = first.old.name, first.new.name
    return confirmed(first, compare(old, new, Policy(across=across), names, measured=measured, band_roots=band_roots()), again.record.pairs)


def _compared(begun: Pairs, data: Path, across: tuple[str, ...], gaps: Sequence[Gap] | None) -> Comparison:
    """Compare both sides, and return the comparison.

    The runs are copied to ``data`` for publication if the campaign states a release and its limits were held. If both sides are the same build, the
    band of this build is stored: how much its results differ between sessions. No band is stored if the sides may differ in a field of ``across``,
    because two configurations are then compared.

    ``gaps`` is ``None`` if no row is measured again.
    """
    from tacholog.compare import bands
    from tacholog.compare.diff.compare import compare
    from tacholog.compare.sides import find

    sides = [find(str(folder), ()) for folder in begun.sides]
    names = begun.record.old.name, begun.record.new.name
    measured = bands.find_same_build(sides, band_roots())
    first = compare(sides[0], sides[1], Policy(across=across), names, measured=measured, band_roots=band_roots())
    terminal.remark(f"kept: {begun.folder}")
    fit = _limits_were_held(begun)
    if (labelled := begun.plans[0].release is not None) and fit:
        terminal.remark(f"copied for publication: {copy_pairs_to_data(begun, data)}")
    elif labelled:
        click.echo(f"tacholog: {begun.folder}: not copied to {data}, because runs exceeded the limits of the campaign", err=True)
    if first.same_build and not across and (entries := bands.calibrations(first, _checksums(begun.plans[0]))):
        folder = data if labelled else begun.folder.parent
        terminal.remark(f"the band of this build: {bands.add(folder, begun.plans[0].host, entries)}")
    return first if gaps is None else _confirmed(begun, first, sides, measured, gaps)
