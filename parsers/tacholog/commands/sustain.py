"""Search for the highest rate that a tool sustains, by running the tool repeatedly.

COMMAND is a tool with an option for a rate. %rate% in it stands for the rate of a trial in messages per second, %seconds% for its duration:

\b
  tacholog sustain --latency-goal p99=100us --rate-range 1000,500000 -- \\
    sockperf under-load -i 192.0.2.1 --reply-every 5 --mps %rate% -t %seconds%

By default, sockperf measures only one message in a hundred, which is too few for p99 in a trial of one second. --reply-every changes the number.

A trial passes if the log of the tool shows that latency and loss keep the goal. If the log states how many messages were sent, they must also be at
least 99.9 % of the rate. The search is the same as in perftest --test sustain (RFC 9971, MLRsearch; docs/native-log.md). Its log,
with every trial, is written to standard output. A campaign file can use this command like any other.

\b
Exit codes:
  0  the search is complete
  1  a trial could not be done, or its log does not state what the goal
     needs; the output names it
  2  wrong usage
"""  # noqa: D301 - click takes the sign itself for "leave these lines as they are"

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

import click

from tacholog.errors import TachologError

_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_LATENCY = re.compile(r"(?P<statistic>max|p\d{2}(?:\.\d{1,6})?)=(?P<number>\d{1,9}(?:\.\d{1,6})?)(?P<unit>ns|us|ms|s)")
_RATES = re.compile(r"(?P<least>\d{1,10}(?:\.\d{1,3})?),(?P<most>\d{1,10}(?:\.\d{1,3})?)")
_RATIO = click.FloatRange(0, 1, max_open=True)
_SECONDS = click.FloatRange(0.1, 86400)


@click.command(help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--latency-goal", metavar="STAT=TIME", help="The largest latency, such as p99=100us.  [default: only loss counts]")
@click.option("--loss-goal", type=_RATIO, default=0.0, show_default=True, help="The share of messages that may be lost.")
@click.option(
    "--rate-range",
    metavar="LOW,HIGH",
    default="1000,10000000",
    show_default=True,
    help="The lowest and the highest rate of the search, in messages per second.",
)
@click.option(
    "--duration", "full_s", type=_SECONDS, default=5.0, show_default=True, help="Length of each trial that confirms the result, in seconds."
)
@click.option("--trial-duration", "short_s", type=_SECONDS, default=1.0, show_default=True, help="Length of each trial of the search, in seconds.")
@click.option(
    "--goal-width",
    type=click.FloatRange(0.001, 1, max_open=True),
    default=0.01,
    show_default=True,
    help="The search ends when its bounds differ by at most this share.",
)
@click.option(
    "--trials", type=click.IntRange(1, 1000), default=3, show_default=True, help="The number of trials of full length that decide on a rate."
)
@click.option(
    "--exceed-ratio", type=_RATIO, default=0.5, show_default=True, help="The share of the full-length trials of a rate that may miss the goal."
)
@click.option("--format", "format_name", metavar="NAME", help="The format of the tool's log.  [default: found by its content]")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Folder that gets the log of each trial.")
def sustain(
    command: tuple[str, ...],
    latency_goal: str | None,
    loss_goal: float,
    rate_range: str,
    full_s: float,
    short_s: float,
    goal_width: float,
    trials: int,
    exceed_ratio: float,
    format_name: str | None,
    keep: Path | None,
) -> None:
    """Check the options, and print the lines of the search immediately."""
    from tacholog.campaign.sustain import RATE, Goal, SearchPlan, TrialCommand, line_of, rounded, search

    rates = _RATES.fullmatch(rate_range)
    if rates is None or not 1 <= float(rates["least"]) < float(rates["most"]):
        _refuse(f"--rate-range {rate_range}: use LOWEST,HIGHEST in messages per second, with LOWEST at least 1")
    if short_s > full_s:
        _refuse("--trial-duration must not be longer than --duration")
    if not any(RATE in word for word in command):
        _refuse(f"the command has no {RATE}, so each trial would have the same rate")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    goal = Goal(*_latency(latency_goal), loss_goal)
    plan = SearchPlan(
        rounded(float(rates["least"])),
        rounded(float(rates["most"])),
        short_s,
        full_s,
        goal_width,
        trials,
        exceed_ratio,
        2 * goal.latency_ns / 1e9 / short_s,
    )
    head = {"version": version("tacholog"), "duration_s": full_s, "short_trial_s": short_s, "goal_width_ratio": goal_width, "trials": trials}
    head |= {"least_rate_per_s": plan.least_per_s, "most_rate_per_s": plan.most_per_s}
    try:
        for line in search(TrialCommand(command, format_name, keep), goal, plan, head):
            click.echo(line)
    except TachologError as error:
        click.echo(line_of("error", {"text": str(error)}))
        click.echo(line_of("end", {"status": "failed", "errors": 1}))
        click.echo(f"tacholog: {error}", err=True)
        sys.exit(1)


def _latency(text: str | None) -> tuple[str | None, float]:
    if text is None:
        return None, 0.0
    goal = _LATENCY.fullmatch(text)
    if goal is None:
        _refuse(f"--latency-goal {text}: use STATISTIC=TIME, such as p99=100us")
    return goal["statistic"], float(goal["number"]) * _UNITS_NS[goal["unit"]]


def _refuse(text: str) -> NoReturn:
    raise click.UsageError(text)
