"""Compare two releases, and state how certain each change is.

OLD and NEW are the two sides. Each side is one of these: a release label; a folder of runs (with run.toml files below it); a raw log of any format; a
folder of raw logs; a dataset. Each call of tacholog report saves a dataset in build/dataset. If the call has the option --output FOLDER/NAME, the
dataset is in FOLDER/.NAME-build/dataset instead. To keep a dataset, copy it to another folder.

To use several logs as one side, use --old and --new instead: tacholog diff --old 'monday/*.log' --new 'tuesday/*.log'.

A row is better or worse only if repeated runs show it. A single published number never shows it. Two folders that were measured one after the other
can only show that the measurements differ (measured worse, measured better). They cannot show whether the release or the day is the cause: this needs
tacholog ab, or at least six sessions on each side that take turns.

\b
Exit codes (the highest that applies):
  0  the sides were compared, and no row fails by --fail-on
  2  wrong usage; or a run, log or folder could not be read to its end, or
     does not match its run.toml: it is named, and all others were compared
     (a run that failed or has no result is named, and is no error)
  3  with --fail-on worse: something is worse, and known.toml does not
     acknowledge it (docs/significance.md);
     with --fail-on differs: something was measured worse or better, and
     the release or the day may be the cause;
     with --fail-on inconclusive: something is too noisy to tell, or had
     too few pairs for so many rows (too_few_pairs)
  4  nothing could be compared: no row is on both sides under the same
     conditions, or all rows have too few runs for any verdict;
     or a gate of --thresholds has no row that could be tested;
     with --fail-on worse or inconclusive: no row at all could be tested
     (single runs, or sides that took no turns);
     with --fail-on differs: no row shows whether the sides differ or not
  5  with --fail-on implausible: the figures of a row contradict each other,
     are impossible, or more than 1 % of the messages were lost
"""  # noqa: D301 - click takes the sign itself for "leave these lines as they are"

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from click.shell_completion import CompletionItem

from tacholog import terminal
from tacholog.commands.shared.arguments import complete_release, home, known_roots, reading_options, work_of
from tacholog.commands.shared.messages import UNREADABLE_EXIT, print_complaints
from tacholog.commands.shared.output import write_output
from tacholog.compare.policy import Policy, metric_asked, read_policy
from tacholog.compare.result import VERDICTS, Comparison, Verdict, json_schema, to_json
from tacholog.compare.sizes import SizeRange, size_ranges
from tacholog.errors import TachologError
from tacholog.installation import checkout
from tacholog.runs.labels import labels_asked
from tacholog.runs.manifest import Manifest

if TYPE_CHECKING:
    from tacholog.compare.acknowledged import KnownRegression
    from tacholog.store.frames import Dataset

LIMITS = {"text": 20, "markdown": 50, "html": 500, "github": 50, "comment": 0}
FAIL_ON = ("worse", "differs", "inconclusive", "implausible")
_DATA = ("json", "html")  # formats that are made for programs, not for people
FORMATS = ("text", "markdown", "json", "html", "github", "comment")


def _print_schema(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(json.dumps(json_schema(), indent=2))
        context.exit()


class AskedVerdict(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """A verdict as an argument. Users write it as in a report or as in the JSON document."""

    name = "verdict"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Verdict:
        """Return the verdict that ``value`` names, written as in the JSON document."""
        from tacholog.render.diff.words import MEANINGS, verdict_named

        verdict = verdict_named(value)
        if verdict is None:
            self.fail(f"{value!r} is not one of {', '.join(repr(MEANINGS[verdict].words) for verdict in VERDICTS)}.", param, ctx)
        return verdict

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the verdicts that begin with the typed text, for completion in a shell."""
        return [CompletionItem(verdict) for verdict in VERDICTS if verdict.startswith(incomplete)]


@click.command(help=__doc__)
@click.argument("old", required=False, shell_complete=complete_release)
@click.argument("new", required=False, shell_complete=complete_release)
@click.option(
    "--old",
    "old_logs",
    multiple=True,
    metavar="LOGS",
    help="A log, or a pattern in quotes, of the old side; each log counts as a run. Instead of OLD. May be repeated.",
)
@click.option("--new", "new_logs", multiple=True, metavar="LOGS", help="The same for the new side, instead of NEW. May be repeated.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print the comparison.")
@click.option("--output", "path", metavar="PATH", type=click.Path(path_type=Path, dir_okay=False), help="File to write, instead of standard output.")
@click.option(
    "--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder in which releases are searched. May be repeated."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME[:STATISTIC]",
    help="Test only this metric, as in latency:p99 or 'payload received'; p99 alone is latency:p99. May be repeated.",
)
@click.option(
    "--size", "sizes", multiple=True, metavar="SIZE", help="Compare only this payload size, as in 1KiB, or a range, as in 64B..4KiB. May be repeated."
)
@click.option("--transport", "transports", multiple=True, metavar="NAME", help="Compare only this transport. May be repeated.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Compare only runs with this label. May be repeated.")
@click.option(
    "--across",
    multiple=True,
    metavar="FIELD",
    help="Compare configurations: rows may differ in this field (type, label.NAME, ...). May be repeated.",
)
@click.option(
    "--only",
    multiple=True,
    type=AskedVerdict(),
    metavar="VERDICT",
    help="List only rows with this verdict, in every format. Write it as in a report ('alike, not proven') or as in its JSON. "
    f"The counts still include all rows. May be repeated. One of {', '.join(VERDICTS)}.",
)
@click.option("--all", "everything", is_flag=True, help="List all rows. By default, rows that are alike are only counted.")
@click.option("--thresholds", metavar="FILE", type=click.Path(path_type=Path), help="What counts as a change (TOML; see docs/significance.md).")
@click.option(
    "--same-build",
    "band",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The band of one build (CSV); default: the one beside the runs.",
)
@click.option(
    "--known",
    "known_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Known regressions (TOML), which --fail-on does not count; default: known.toml in the current folder, else in data/.",
)
@click.option("--renames", metavar="FILE", type=click.Path(path_type=Path), help="Names that have changed (TOML); default: data/renames.toml.")
@click.option(
    "--fail-on", multiple=True, type=click.Choice(FAIL_ON), help="Exit with 3 (implausible: 5) if there is such a row; see above. May be repeated."
)
@click.option("--limit", type=click.IntRange(0), help="Rows to list of each verdict; 0: all.  [default: 20; markdown: 50; html: 500]")
@reading_options
@click.option("--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema, help="Print the JSON Schema of --format json.")
def diff(
    *,
    old: str | None,
    new: str | None,
    old_logs: tuple[str, ...],
    new_logs: tuple[str, ...],
    output: str,
    path: Path | None,
    roots: tuple[Path, ...],
    metrics: tuple[str, ...],
    sizes: tuple[str, ...],
    transports: tuple[str, ...],
    labels: tuple[str, ...],
    across: tuple[str, ...],
    only: tuple[str, ...],
    everything: bool,
    thresholds: Path | None,
    band: Path | None,
    known_file: Path | None,
    renames: Path | None,
    fail_on: tuple[str, ...],
    limit: int | None,
    jobs: int | None,
    cluster: str | None,
) -> None:
    """Read both sides, compare them, and print the comparison."""
    from tacholog.compare.acknowledged import acknowledge
    from tacholog.compare.bands import find_same_build
    from tacholog.compare.diff.compare import check_across, compare, exit_code
    from tacholog.compare.sides import find_all, find_renames, of_labels, read_renames, renamed
    from tacholog.store.complaints import complaints, with_copies
    from tacholog.store.load import load_logs

    regressions = known_regressions(known_file, roots)
    sides_named = _names_of_sides(old, new, old_logs, new_logs)
    check_across(across)
    base = read_policy(thresholds) if thresholds else Policy()
    asked_for = {"metrics": tuple(map(metric_asked, metrics)), "sizes": sizes, "transports": transports, "across": across}
    chosen = {name: words for name, words in asked_for.items() if words}
    policy = msgspec.structs.replace(base, **chosen)
    policy.tests()
    ranges = size_ranges(sizes, "--size")
    names = read_renames(renames) if renames else find_renames(roots or known_roots())
    asked, work = labels_asked(labels, "--label"), work_of(jobs, cluster)
    if old_logs:
        read = [load_logs(_matching_logs(*side), skip_unreadable=True, work=work) for side in (("--old", old_logs), ("--new", new_logs))]
    else:
        read = find_all(sides_named, roots or known_roots(), work)
        mention_releases(sides_named, roots or known_roots())
    sides = [of_labels(renamed(side, names), asked) for side in read]
    for name, side in zip(sides_named, sides, strict=True):
        _mention_import(Path(name), side)
    bare = bool(old_logs) or any(map(is_bare, sides_named))
    lost = max(print_complaints((complaints(with_copies(side)) for side in sides), bare=bare), *map(_exit_code_of_truncated, sides))
    _check_transports(transports, sides)
    _check_sizes(sizes, ranges, sides)
    _check_metrics(policy, sides)
    measured = find_same_build(sides, band_roots(roots), band)
    terminal.status("comparing")
    report = compare(sides[0], sides[1], policy, sides_named, everything=output == "json", measured=measured, band_roots=band_roots(roots))
    report = acknowledge(report, regressions, datetime.now(UTC).date())
    if everything:
        only, limit = only or VERDICTS, limit or 0
    write_report(output, report, rendered(output, report, only, limit), path)
    sys.exit(max(lost, exit_code(report, fail_on)))


def known_regressions(file: Path | None, roots: Sequence[Path] = ()) -> list[tuple[str, KnownRegression]]:
    """Read the known regressions from the file that the user named.

    If the user named no file, ``known.toml`` in the current folder is read, or else ``known.toml`` in the data. If neither exists, the result is
    empty.
    """
    from tacholog.compare.acknowledged import FILE, read_known

    candidates = (Path(FILE), *(root / FILE for root in roots or (home() / "data",)))
    path = file or next((path for path in candidates if path.is_file()), None)
    return read_known(path) if path else []


def _names_of_sides(old: str | None, new: str | None, old_logs: Sequence[str], new_logs: Sequence[str]) -> tuple[str, str]:
    if old and new and not old_logs and not new_logs:
        return old, new
    if old_logs and new_logs and not old:
        return ", ".join(old_logs), ", ".join(new_logs)
    if old and (old_logs or new_logs):
        raise click.UsageError(
            f"{old}: --old or --new is used already. Put a pattern in quotes, so that the shell does not expand it: --old 'monday/*.log'"
        )
    raise click.UsageError("two sides are needed: OLD and NEW, or --old LOGS and --new LOGS")


def _matching_logs(option: str, patterns: Sequence[str]) -> list[Path]:
    paths: dict[Path, None] = {}
    for pattern in patterns:
        names = [pattern] if Path(pattern).exists() else sorted(glob(pattern, recursive=True))  # noqa: PTH207 - `Path.glob` takes no absolute pattern
        logs = [Path(name) for name in names if Path(name).is_file() and Path(name).suffix not in (".toml", ".md")]
        if not logs:
            remedy = f"it is a folder; its logs are '{pattern.rstrip('/')}/**'" if names else "no such file"
            raise TachologError(f"{option} {pattern}: {remedy}")
        paths |= dict.fromkeys(logs)
    return list(paths)


def is_bare(name: str) -> bool:
    """Whether a side is a log, or a folder of logs without any run.toml."""
    from tacholog.runs.listing import run_folders
    from tacholog.store.frames import is_saved

    path = Path(name)
    return path.is_file() or (path.is_dir() and not is_saved(path) and next(run_folders(path), None) is None)


def mention_releases(names: Sequence[str], roots: Sequence[Path]) -> None:
    """If a side is the name of both a path and a release, print that the path is used."""
    from tacholog.compare.sides import hidden_releases

    for name, root in hidden_releases(names, roots):
        kind = "folder" if Path(name).is_dir() else "file"
        remedy = f"write ./{name} for the {kind}, or call the command from another folder for the release"
        terminal.remark(f"{name}: this is read as the {kind} ./{name}, not as the release {name} in {root}; {remedy}")


def _mention_import(path: Path, side: Dataset) -> None:
    from tacholog.commands._import_listing import import_command

    if len(side.runs) < 2 or not path.is_dir() or not is_bare(str(path)):  # noqa: PLR2004 - one log is one run
        return
    logs = [Path(run).relative_to(path).as_posix() for run in side.runs["run"].astype(str) if Path(run).is_relative_to(path)]
    if words := import_command(path, logs):
        terminal.remark(f"{path}: logs without run.toml; each of them counts as a run of its own. To make runs of them: {words}")


def _exit_code_of_truncated(side: Dataset) -> int:
    """Return 2 if a log is truncated although its manifest does not say so; otherwise 0."""
    ends = side.runs[side.runs["status"] == "truncated"]["manifest"].dropna()
    return UNREADABLE_EXIT if any(msgspec.json.decode(text, type=Manifest).status in (None, "ok") for text in ends) else 0


def _check_transports(asked: tuple[str, ...], sides: Sequence[Dataset]) -> None:
    """Refuse a transport that neither side has, because an empty comparison would look like a result."""
    names = {str(name) for side in sides for name in side.results["transport"].dropna().unique()}
    for name in asked:
        if name not in names:
            raise TachologError(f"--transport {name}: neither side has it; there are: {'; '.join(sorted(names)) or 'none'}")


def _check_sizes(words: Sequence[str], ranges: Sequence[SizeRange], sides: Sequence[Dataset]) -> None:
    """Refuse a size that neither side has, because an empty comparison would look like a result."""
    if not words:
        return
    sizes = sorted({int(value) for side in sides for value in side.results["payload_bytes"].dropna().unique()})
    for word, wanted in zip(words, ranges, strict=True):
        if not any(wanted.holds(value) for value in sizes):
            there = f"there are, in bytes: {', '.join(map(str, sizes))}" if sizes else "no log and no run.toml states a size"
            raise TachologError(f"--size {word}: neither side has it; {there}")


def _check_metrics(policy: Policy, sides: Sequence[Dataset]) -> None:
    if not policy.metrics:
        return
    frames = [side.results[side.results["scope"] == "summary"][["metric", "statistic"]].drop_duplicates() for side in sides]
    pairs = {(str(metric), str(statistic)) for frame in frames for metric, statistic in frame.itertuples(index=False)}
    for word in policy.metrics:
        metric, _, statistic = word.partition(":")
        statistics = sorted(name for owner, name in pairs if owner == metric)
        if not statistics:
            raise TachologError(f"--metric {word}: neither side has it; there are: {', '.join(sorted({owner for owner, _ in pairs})) or 'none'}")
        if statistic and statistic not in statistics:
            raise TachologError(f"--metric {word}: neither side has this statistic; {metric} has: {', '.join(statistics)}")


def write_report(output: str, report: Comparison, text: str, path: Path | None) -> None:
    """Print or save a rendered report. In a GitHub job, --format github writes the job's summary, and prints worse rows as annotations."""
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if output == "github" and path is None else None
    if summary:
        from tacholog.render.diff.text import workflow_commands

        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
        click.echo(workflow_commands(report), nl=False)
    elif path is None:
        (terminal.data if output in _DATA else partial(click.echo, nl=False))(text)
    else:
        write_output(path, text.encode())


def band_roots(roots: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the folders that may contain the band of a build, in addition to the folders of the compared runs.

    These are the data folders and the folder of ``tacholog ab``.
    """
    return (*(roots or known_roots()), (checkout() or Path.cwd()) / "build" / "runs")


def rendered(output: str, report: Comparison, only: tuple[str, ...] = (), limit: int | None = None) -> str:
    """Return the comparison as text in one of `FORMATS`.

    At most ``limit`` rows of each verdict are shown. Without ``limit``, each format has a default limit.
    """
    from tacholog.render.diff import text as diff_text

    limit = LIMITS.get(output, 0) if limit is None else limit
    match output:
        case "json":
            listed = tuple(row for row in report.rows if row.verdict in only) if only else report.rows
            return to_json(msgspec.structs.replace(report, rows=listed)).decode() + "\n"
        case "html":
            from tacholog.render.diff.page import html

            return html(report, only, limit)
        case "markdown":
            return diff_text.markdown(report, only, limit)
        case "comment":
            from tacholog.render.diff.text import comment

            return comment(report)
        case "github":
            return diff_text.github(report, only, limit)
        case _:
            return diff_text.text(report, only, limit)
