"""Run campaigns, and keep each log together with the state of the machine.

CAMPAIGN is a file that lists what to measure, such as bench/campaigns/quick.toml.

--plan prints what would be run, and the conditions that comparisons will need but nothing will state. Then it stops. --dry-run is the same.

Each campaign gets a new folder under --output, with its plan and one folder for each run. After each run, its log is read to check that it
has results. A failed run is kept, with the reason. --resume continues a campaign that was interrupted.

A campaign may state limits: how much of the machine other programs and the host may use before, during and after a run. A run that exceeded them
is repeated at the end, at most twice. If it still exceeds them, the campaign is not copied for publication, and --resume repeats this run.

Exit code 1: all runs were tried, but some failed, or their logs cannot be read, or a limit was exceeded. 2: nothing was run, or
--plan found that a program is missing. 129, 130 and 143: interrupted.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tacholog import terminal
from tacholog.campaign import campaign_folder
from tacholog.campaign.campaign_file import path_in_errors, read_campaign
from tacholog.campaign.floor import floor_tools, has_floor, with_floor
from tacholog.campaign.gaps import expected_gaps
from tacholog.campaign.pairs import Task
from tacholog.campaign.plan import Plan
from tacholog.campaign.preview import names_left_out, preview
from tacholog.campaign.programs import find_programs, how_to_get, list_names
from tacholog.commands.shared.arguments import Folder
from tacholog.commands.shared.campaigns import gap_words, left_out_words, limits_held, measure_all, preview_words
from tacholog.errors import TachologError
from tacholog.installation import checkout
from tacholog.runs.manifest import PLAN_FILE
from tacholog.schema.marks import MARKS

SOME_FAILED = 1
DATA = Path("data")
_AGAIN = 2  # how often a run that exceeded the limits of its campaign is measured again


@click.command(help=__doc__)
@click.argument("campaigns", metavar="CAMPAIGN...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--output", default="build/runs", show_default=True, type=Folder(), help="The folder for campaigns.")
@click.option(
    "--plan", "--dry-run", "only_plan", is_flag=True, help="Print what would be run, and which conditions comparisons would lack. Then stop."
)
@click.option("--resume", is_flag=True, help="Continue the newest unfinished campaign of that name. CAMPAIGN may also be the folder of a campaign.")
@click.option(
    "--release",
    metavar="LABEL",
    help="Label the runs with this release, and copy them to DATA/TOOL/LABEL when all are done "
    "(to DATA/TOOL/LABEL/CAMPAIGN, if several campaigns have one tool).",
)
@click.option("--data", default=str(DATA), show_default=True, type=Folder(), help="The data folder that --release copies to.")
@click.option("--no-control", is_flag=True, help="Add no controls (short runs of perftest that show whether the host changed).")
@click.option("--perftest", type=click.Path(path_type=Path), help="The perftest to run.  [default: the build in the checkout, else on the PATH]")
def bench(
    *,
    campaigns: tuple[Path, ...],
    output: Path,
    only_plan: bool,
    resume: bool,
    release: str | None,
    data: Path,
    no_control: bool,
    perftest: Path | None,
) -> None:
    if resume and release:
        raise click.UsageError("--resume continues a campaign, and always uses the release of its start; leave out --release")
    tools = find_programs(perftest, checkout())
    if resume or not no_control:  # --resume needs these tools if the plan of the campaign contains controls
        tools = floor_tools(tools, tools.get("perftest"))
    if not resume:
        _refuse_folders(campaigns)
    sharing = _check_release(campaigns, data, release) if release else frozenset()
    if only_plan:
        if resume:
            raise click.UsageError("--plan prints the plan of a new campaign; --resume continues a campaign that already has a plan")
        _print_plans(campaigns, tools, no_control=no_control)
        return
    failures = 0
    for path in campaigns:
        folder, plan = (
            _resumed(path, output, tools) if resume else campaign_folder.start(path, output, tools, release, shares_release=path in sharing)
        )
        gaps, resume_command = expected_gaps(plan).gaps, _resume_command(folder, plan, data)
        if not resume:
            planned = read_campaign(path)
            for line in left_out_words(names_left_out(planned, list_names(planned.only_if_listed.by, tools) if planned.only_if_listed else None)):
                terminal.remark(line)
        for line in gap_words(gaps):
            terminal.remark(line)
        try:
            with campaign_folder.only_one_harness(folder):
                for _ in range(1 + _AGAIN):
                    tasks = [Task(folder, plan, run, tools, run.folder) for run in campaign_folder.pending_runs(folder, plan)]
                    measure_all(tasks, len(plan.runs), gaps)
        except KeyboardInterrupt:
            left = len(campaign_folder.pending_runs(folder, plan))
            click.echo(f"\ninterrupted: {left} of {len(plan.runs)} runs are still to do; continue with: {resume_command}", err=True)
            raise SystemExit(130) from None
        bad = sum(campaign_folder.failure_reason(folder, run) is not None for run in plan.runs)
        failures += bad
        click.echo(f"{len(plan.runs) - bad} of {len(plan.runs)} runs are good: {folder}")
        if busy := campaign_folder.busy_runs(folder, plan):
            click.echo(f"{MARKS['busy_machine'].title} when {busy} of {len(plan.runs)} runs began: their numbers measure other programs too.")
        failures += len(too_disturbed := campaign_folder.disturbed_runs(folder, plan))
        for line in limits_held(plan.limits, len(plan.runs), too_disturbed, resume_command):
            click.echo(line)
        if plan.release and too_disturbed:
            click.echo(f"tacholog: {folder}: not copied to {data}, because the campaign exceeded its limits", err=True)
        elif plan.release and bad == len(plan.runs):
            click.echo(f"tacholog: {folder}: no run is good, so nothing was copied to {data}", err=True)
        elif plan.release:
            click.echo(f"copied for publication: {campaign_folder.copy_to_data(folder, plan, data)}")
    if failures:
        sys.exit(SOME_FAILED)


def _resume_command(folder: Path, plan: Plan, data: Path) -> str:
    copied_to = ["--data", str(data)] if plan.release and data != DATA else []
    return shlex.join(["tacholog", "bench", "--resume", str(folder), *copied_to])


def _refuse_folders(paths: Sequence[Path]) -> None:
    for path in (path for path in paths if path.is_dir()):
        if (path / PLAN_FILE).is_file():
            raise TachologError(f"{path} is the folder of a campaign that was started; --resume continues it, and its plan is in {path / PLAN_FILE}")
        raise TachologError(f"{path} is a folder: name the file of a campaign in it, such as {next(iter(sorted(path.glob('*.toml'))), 'mine.toml')}")


def _check_release(paths: Sequence[Path], data: Path, release: str) -> frozenset[Path]:
    """Check that the runs of all campaigns can be copied to the data folder. This is called first, because measuring takes hours.

    Return the campaigns that share a tool with another of these campaigns. Campaigns with one tool are copied to the same folder of the release.
    """
    paths_of: dict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        paths_of[campaign_folder.release_folder(data, read_campaign(path).tool, release)].append(path)
    for target, members in paths_of.items():
        names = Counter(path.stem for path in members)
        if twice := [path for path in members if names[path.stem] > 1]:
            raise TachologError(
                f"{' and '.join(map(str, twice))} have the same name, so both would be copied to {target / twice[0].stem}; rename one"
            )
    return frozenset(path for members in paths_of.values() if len(members) > 1 for path in members)


def _print_plans(paths: Sequence[Path], tools: Mapping[str, Path], *, no_control: bool) -> None:
    """Print the plans. A missing program is an error, because the campaign could not start."""
    missing: dict[str, None] = {}
    for path in paths:
        planned = with_floor(read_campaign(path), tools)
        with path_in_errors(path):
            plan = preview(planned, path.stem, tools)
        click.echo("\n".join(preview_words(plan)))
        if not no_control and has_floor(planned):
            click.echo(f"No controls are planned: there is no perftest. With it, they come on top of these runs; {how_to_get('perftest')}.")
        missing |= dict.fromkeys(program.name for program in plan.programs if program.host is None and program.path is None)
    if missing:
        advice = f". perftest: {how_to_get('perftest')}" if "perftest" in missing else ""
        raise TachologError(f"not found on this machine: {', '.join(missing)}; nothing would be run{advice}")


def _resumed(path: Path, output: Path, tools: Mapping[str, Path]) -> tuple[Path, Plan]:
    folder = path if path.is_dir() else campaign_folder.newest_unfinished(output, path.stem)
    if folder is None:
        raise TachologError(f"nothing to resume: there is no unfinished campaign {path.stem} under {output}")
    return folder, campaign_folder.resume(folder, tools)
