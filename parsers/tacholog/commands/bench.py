"""Run campaigns, and keep every log with the machine's state.

CAMPAIGN is a file that says what to measure, such as bench/campaigns/quick.toml.
Each campaign gets a folder under --output, with its plan and one folder for each run. Each log is read back after its run. A failed run is
kept and marked. --resume continues a campaign that was interrupted.

Exit code 1: all runs were tried, but some failed or left a log that no format reads. 2: nothing was run. 130: interrupted.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from tacholog import campaign
from tacholog.campaign import Plan
from tacholog.campaign.pairs import Task
from tacholog.commands._measuring import measure_all
from tacholog.commands._paths import Folder
from tacholog.errors import TachologError
from tacholog.resources import checkout

SOME_FAILED = 1


@click.command(help=__doc__)
@click.argument("campaigns", metavar="CAMPAIGN...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--output", default="build/runs", show_default=True, type=Folder(), help="Where campaigns are kept.")
@click.option("--resume", is_flag=True, help="Go on with the newest unfinished campaign of that name. CAMPAIGN may also be a campaign's folder.")
@click.option("--release", metavar="LABEL", help="Label the runs with this release, and copy them to DATA/perftest/LABEL when all are done.")
@click.option("--data", default="data", show_default=True, type=Folder(), help="Where --release copies to.")
@click.option("--perftest", type=click.Path(path_type=Path), help="The perftest to run; without it, the one built in the checkout, or on the PATH.")
def bench(campaigns: tuple[Path, ...], output: Path, resume: bool, release: str | None, data: Path, perftest: Path | None) -> None:
    tools = campaign.find_programs(perftest, checkout())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside is as good as Ctrl-C: the process that measures ends too
    failures = 0
    for path in campaigns:
        if release:
            campaign.release_folder(data, campaign.read_campaign(path).tool, release)  # hours later would be too late to say so
        folder, plan = _begun(path, output, tools) if resume else campaign.start(path, output, tools, release)
        try:
            measure_all([Task(folder, plan, run, tools, run.folder) for run in campaign.pending(folder, plan)], len(plan.runs))
        except KeyboardInterrupt:
            left = len(campaign.pending(folder, plan))
            click.echo(f"\ninterrupted with {left} of {len(plan.runs)} runs to do; go on with: tacholog bench --resume {folder}", err=True)
            raise SystemExit(130) from None
        bad = sum(campaign.failure_reason(folder, plan, run) is not None for run in plan.runs)
        failures += bad
        click.echo(f"{len(plan.runs) - bad} of {len(plan.runs)} runs are good: {folder}")
        if plan.release and bad == len(plan.runs):
            click.echo(f"tacholog: {folder}: no run is good: nothing is kept for publication", err=True)
        elif plan.release:
            click.echo(f"kept for publication: {campaign.copy_to_data(folder, plan, data)}")
    if failures:
        sys.exit(SOME_FAILED)


def _begun(path: Path, output: Path, tools: Mapping[str, Path]) -> tuple[Path, Plan]:
    """The campaign to go on with."""
    folder = path if path.is_dir() else campaign.newest_unfinished(output, path.stem)
    if folder is None:
        raise TachologError(f"nothing to resume: no unfinished campaign {path.stem} under {output}")
    return folder, campaign.resume(folder, tools)
