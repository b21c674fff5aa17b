"""Compare two releases, and say how sure the comparison is.

OLD and NEW are each a release label, a folder of runs (run.toml files below it), a saved dataset, a raw log of any format, or a folder of such logs.

A row is better or worse only if repeated runs show it; a single published number never is. Exit code 4 says that nothing could be compared; with
--fail-on worse, 3 says that something is worse, with --fail-on inconclusive that something is too noisy to tell; with --fail-on implausible, 5 says
that figures cannot be true; 2 that a run, a log or a folder could not be read, while all others were compared. The highest one that applies is given.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tacholog.commands._complaints import tell
from tacholog.commands._paths import write_output
from tacholog.diff.result import VERDICTS, Report
from tacholog.errors import TachologError

if TYPE_CHECKING:
    from tacholog.dataset import Dataset

LIMITS = {"text": 20, "markdown": 50, "html": 500, "github": 50}
FAIL_ON = ("worse", "inconclusive", "implausible")
FORMATS = ("text", "markdown", "json", "html", "github")


def _print_schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the JSON Schema of --format json, and leave."""
    if wanted:
        import json

        from tacholog.diff.result import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        context.exit()


@click.command(help=__doc__)
@click.argument("old")
@click.argument("new")
@click.option("--format", "output", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print the comparison.")
@click.option("--output", "path", metavar="PATH", type=click.Path(path_type=Path, dir_okay=False), help="Where it goes, instead of standard output.")
@click.option("--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="Where releases are looked up.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME[:STATISTIC]", help="Test only this metric, as in latency:p99. May be repeated.")
@click.option("--transport", "transports", multiple=True, metavar="NAME", help="Compare only this transport. May be repeated.")
@click.option(
    "--across", multiple=True, metavar="FIELD", help="Compare configurations: rows may differ in this field, such as type. May be repeated."
)
@click.option("--only", multiple=True, type=click.Choice(VERDICTS), metavar="VERDICT", help=f"List only this verdict: {', '.join(VERDICTS)}.")
@click.option("--thresholds", metavar="FILE", type=click.Path(path_type=Path), help="What counts as a change (TOML; see docs/significance.md).")
@click.option("--same-build", "band", metavar="FILE", type=click.Path(path_type=Path), help="The band of one build; else the one beside the runs.")
@click.option("--renames", metavar="FILE", type=click.Path(path_type=Path), help="What was called otherwise (TOML); else data/renames.toml.")
@click.option("--fail-on", multiple=True, type=click.Choice(FAIL_ON), help="Exit with 3 (implausible: 5) if a row is so. May be repeated.")
@click.option("--limit", type=click.IntRange(0), help="Rows to list of each verdict; 0: all.  [default: 20; markdown: 50; html: 500]")
@click.option("--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema, help="Print the JSON Schema of --format json.")
def diff(
    *,
    old: str,
    new: str,
    output: str,
    path: Path | None,
    roots: tuple[Path, ...],
    metrics: tuple[str, ...],
    transports: tuple[str, ...],
    across: tuple[str, ...],
    only: tuple[str, ...],
    thresholds: Path | None,
    band: Path | None,
    renames: Path | None,
    fail_on: tuple[str, ...],
    limit: int | None,
) -> None:
    """Read both sides, compare, print."""
    import msgspec

    from tacholog.diff.bands import known
    from tacholog.diff.compare import check_across, compare, exit_code
    from tacholog.diff.policy import Policy, read_policy
    from tacholog.diff.renames import find_renames, read_renames, renamed
    from tacholog.diff.sides import find
    from tacholog.report.complaints import complaints

    check_across(across)
    given = read_policy(thresholds) if thresholds else Policy()
    chosen = {name: words for name, words in (("metrics", metrics), ("transports", transports), ("across", across)) if words}
    policy = msgspec.structs.replace(given, **chosen)
    policy.tests()
    names = read_renames(renames) if renames else find_renames(roots or known_roots())
    sides = [renamed(find(name, roots or known_roots()), names) for name in (old, new)]
    lost = tell(map(complaints, sides))
    _check_transports(transports, sides)
    measured = known(sides, roots or known_roots(), band)
    report = compare(sides[0], sides[1], policy, (old, new), everything=output == "json", measured=measured)
    say(output, report, rendered(output, report, only, limit), path)
    sys.exit(max(lost, exit_code(report, fail_on)))


def _check_transports(asked: tuple[str, ...], sides: Sequence[Dataset]) -> None:
    """Refuse a transport that neither side has: that nothing was compared would look like a result.

    Raises:
        TachologError: neither side has it.
    """
    there = {str(name) for side in sides for name in side.results["transport"].dropna().unique()}
    for name in asked:
        if name not in there:
            raise TachologError(f"--transport {name}: neither side has it; there are: {'; '.join(sorted(there)) or 'none'}")


def say(output: str, report: Report, said: str, path: Path | None) -> None:
    """Put a rendered report where it belongs; in a job on GitHub, that of --format github into its summary, and worse rows beside the change."""
    import os

    summary = os.environ.get("GITHUB_STEP_SUMMARY") if output == "github" and path is None else None
    if summary:
        from tacholog.report.diff_text import workflow_commands

        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(said)
        click.echo(workflow_commands(report), nl=False)
    elif path is None:
        click.echo(said, nl=False)
    else:
        write_output(path, said.encode())


def known_roots() -> tuple[Path, ...]:
    """The checkout's ``data/``, and every campaign in ``build/runs/``, the newest first."""
    from tacholog.campaign import folders
    from tacholog.resources import checkout

    root = checkout() or Path.cwd()
    return tuple(path for path in (root / "data", *reversed(folders(root / "build" / "runs"))) if path.is_dir())


def rendered(output: str, report: Report, only: tuple[str, ...] = (), limit: int | None = None) -> str:
    """The report in one of `FORMATS`; ``limit`` rows of each verdict, as many as the format deserves if not given."""
    limit = LIMITS.get(output, 0) if limit is None else limit
    from tacholog.diff.result import to_json
    from tacholog.report import diff_text

    match output:
        case "json":
            return to_json(report).decode() + "\n"
        case "html":
            from tacholog.report.diff_page import html

            return html(report, only, limit)
        case "markdown":
            return diff_text.markdown(report, only, limit)
        case "github":
            return diff_text.github(report, only, limit)
        case _:
            return diff_text.text(report, only, limit)
