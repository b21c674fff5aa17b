"""Compare two releases, and say how sure the comparison is.

OLD and NEW are each a release label, a folder of runs (run.toml files below it), a saved dataset, a raw log of any format, or a folder of such logs.

A row is better or worse only if repeated runs show it; a single published number never is. Exit code 4 says that nothing could be compared; with
--fail-on worse, 3 says that something is worse; with --fail-on implausible, 5 that figures cannot be true. The highest one that applies is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tacholog.diff.result import VERDICTS, Report

LIMITS = {"text": 20, "markdown": 50, "html": 500}
FORMATS = ("text", "markdown", "json", "html")


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
@click.option("--fail-on", multiple=True, type=click.Choice(["worse", "implausible"]), help="Exit with 3 or 5 if a row is so. May be repeated.")
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
    fail_on: tuple[str, ...],
    limit: int | None,
) -> None:
    """Read both sides, compare, print."""
    import msgspec

    from tacholog.diff.compare import check_across, compare, exit_code
    from tacholog.diff.policy import Policy, read_policy
    from tacholog.diff.sides import find

    check_across(across)
    given = read_policy(thresholds) if thresholds else Policy()
    chosen = {name: words for name, words in (("metrics", metrics), ("transports", transports), ("across", across)) if words}
    policy = msgspec.structs.replace(given, **chosen)
    policy.tests()
    sides = [find(name, roots or _known_roots()) for name in (old, new)]
    report = compare(sides[0], sides[1], policy, (old, new), everything=output == "json")
    said = _rendered(output, report, only, LIMITS.get(output, 0) if limit is None else limit)
    if path is None:
        click.echo(said, nl=False)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said, encoding="utf-8")
    sys.exit(exit_code(report, fail_on))


def _known_roots() -> tuple[Path, ...]:
    """The checkout's ``data/``, and every campaign in ``build/runs/``, the newest first."""
    from tacholog.resources import checkout

    root = checkout() or Path.cwd()
    runs = sorted((path for path in (root / "build" / "runs").glob("*") if path.is_dir()), key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(path for path in (root / "data", *runs) if path.is_dir())


def _rendered(output: str, report: Report, only: tuple[str, ...], limit: int) -> str:
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
        case _:
            return diff_text.text(report, only, limit)
