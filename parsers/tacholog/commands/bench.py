"""Run campaigns, and keep every log with the machine's state.

CAMPAIGN is a file that says what to measure, such as bench/campaigns/quick.toml.
Each campaign gets a folder under --output, with its plan and one folder a run. A failed run is kept and marked; a campaign that was
interrupted goes on with --resume where it stopped.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import click

from tacholog import campaign
from tacholog.campaign import Plan
from tacholog.errors import TachologError
from tacholog.manifest import RUN_FILE, Manifest, read_manifest
from tacholog.resources import checkout

_MINUTES_AN_HOUR = 60


@click.command(help=__doc__)
@click.argument("campaigns", metavar="CAMPAIGN...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--output", default="build/runs", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="Where campaigns are kept.")
@click.option("--resume", is_flag=True, help="Go on with the newest unfinished campaign of that name. CAMPAIGN may also be a campaign's folder.")
@click.option("--release", metavar="LABEL", help="Label the runs with this release, and copy them to DATA/perftest/LABEL when all are done.")
@click.option("--data", default="data", show_default=True, type=click.Path(file_okay=False, path_type=Path), help="Where --release copies to.")
@click.option("--perftest", type=click.Path(path_type=Path), help="The perftest to run; without it, the one built in the checkout, or on the PATH.")
def bench(campaigns: tuple[Path, ...], output: Path, resume: bool, release: str | None, data: Path, perftest: Path | None) -> None:
    tools = campaign.programs(perftest, checkout())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside is as good as Ctrl-C: the process that measures ends too
    for path in campaigns:
        if release:
            campaign.place_of_release(data, campaign.read_campaign(path).tool, release)  # hours later would be too late to say so
        folder, plan = _begun(path, output, tools) if resume else campaign.start(path, output, tools, release)
        try:
            failed = _run(folder, plan, tools)
        except KeyboardInterrupt:
            left = len(campaign.pending(folder, plan))
            click.echo(f"\ninterrupted with {left} of {len(plan.runs)} runs to do; go on with: tacholog bench --resume {folder}", err=True)
            raise SystemExit(130) from None
        if failed == len(plan.runs):
            raise TachologError(f"{folder}: none of the {failed} runs is good; each run.toml says why")
        click.echo(f"{len(plan.runs) - failed} of {len(plan.runs)} runs are good: {folder}")
        if plan.release:
            click.echo(f"kept for publication: {campaign.keep(folder, plan, data)}")


def _begun(path: Path, output: Path, tools: Mapping[str, Path]) -> tuple[Path, Plan]:
    """The campaign to go on with."""
    folder = path if path.is_dir() else campaign.unfinished(output, path.stem)
    if folder is None:
        raise TachologError(f"nothing to resume: no unfinished campaign {path.stem} under {output}")
    return folder, campaign.resume(folder, tools)


def _run(folder: Path, plan: Plan, tools: Mapping[str, Path]) -> int:
    """Do the runs that are left, showing how far it is; return how many of the whole plan failed."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    pending = campaign.pending(folder, plan)
    columns = (
        TextColumn("[{task.fields[index]}/{task.fields[count]}] {task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        # The unit is a second as planned: runs differ in length by far more than they differ from their plan.
        task = progress.add_task("", total=sum(run.expected_s for run in pending), index=0, count=len(plan.runs), left="")
        for number, run in enumerate(pending):
            progress.update(task, description=run.folder, index=run.order_index, left=_left(sum(left.expected_s for left in pending[number:])))
            began = time.monotonic()
            manifest = campaign.measure(folder, plan, run, tools, checkout())
            progress.advance(task, run.expected_s)
            if not console.is_terminal or manifest.status != "ok":
                line = _line(f"{run.order_index}/{len(plan.runs)}", run.folder, manifest, time.monotonic() - began)
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    return sum(read_manifest(folder / run.folder / RUN_FILE).status != "ok" for run in plan.runs)


def _left(seconds: float) -> str:
    """The time left, as rough as it is known."""
    minutes = math.ceil(seconds / 60)
    if minutes <= 1:
        return f"{seconds:.0f} s left"
    return f"{minutes // _MINUTES_AN_HOUR} h {minutes % _MINUTES_AN_HOUR:02d} min left" if minutes >= _MINUTES_AN_HOUR else f"{minutes} min left"


def _line(index: str, name: str, manifest: Manifest, took_s: float) -> str:
    return f"[{index}] {name}: {manifest.status}, {took_s:.1f} s" + (f" ({manifest.reason})" if manifest.reason else "")
