"""Print the measured figures with their goals: ``run.py [--rounds N] [--seconds S] [SECTION...]``.

A section is a file in this folder with a function ``measure(effort)`` that yields rows. The first line of its docstring is its heading. A slow result
is never an error: people judge the ratios, on an idle machine.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click
from perf_table import Effort, show

FOLDER = Path(__file__).parent
SECTIONS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run" and not path.stem.startswith("perf_"))


@click.command(help=__doc__)
@click.option("--rounds", default=3, show_default=True, help="How often everything is measured, in turns; the best round counts.")
@click.option("--seconds", default=0.3, show_default=True, help="How long each cell is measured.")
@click.argument("sections", nargs=-1, type=click.Choice(SECTIONS))
def main(rounds: int, seconds: float, sections: tuple[str, ...]) -> None:
    """Measure and print each section."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    click.echo(f"load average {load:.1f} on {cores} processors{'' if load < cores / 4 else ': this machine is not quiet, trust nothing below'}")
    for name in sections or SECTIONS:
        section = importlib.import_module(name)
        click.echo(f"\n{name}: {(section.__doc__ or '').splitlines()[0]}")
        sys.stdout.flush()
        click.echo(show(section.measure(Effort(rounds, seconds))))


if __name__ == "__main__":
    main()
