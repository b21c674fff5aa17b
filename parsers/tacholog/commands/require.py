"""Check that runs meet requirements, such as "p99 latency at 1 KiB stays under 5 us".

RUNS is a release label, a folder of runs, a raw log, a folder of logs, or a saved dataset, as in tacholog diff. The newest release of each system is
judged; --release chooses another release.

Requirements are in a file (docs/requirements.md); default: requirements.toml in the current folder, else in data/. A requirement is judged by an
interval over the runs, never by one number: it has passed if the whole interval is within the limit, and failed if the whole interval is beyond it.
The option --that gives a limit without a file: STATISTIC [of METRIC] [at SIZE] < or > VALUE UNIT. Without METRIC, the statistic is that of the
latency. Examples: --that "p99 at 1KiB < 20us", --that "mean of goodput at 64KiB > 8 Gbit/s".

\b
Exit codes:
  0  all requirements have passed
  2  wrong usage; or a run, log or folder could not be read: it is named, and
     the requirements were judged without it
  3  a requirement has failed
  4  none has failed, but one cannot be told (its interval contains the limit,
     or there are too few runs or samples), or has no such row
With --fail-on, only the named verdicts lead to 3 and 4.
"""  # noqa: D301 - click takes the sign itself for "leave these lines as they are"

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tacholog import terminal
from tacholog.commands.diff import is_bare, mention_releases
from tacholog.commands.shared.arguments import Folder, complete_release, home, known_roots, work_of
from tacholog.commands.shared.messages import mention_order, print_complaints
from tacholog.commands.shared.output import write_output
from tacholog.compare.requirements.result import VERDICTS
from tacholog.errors import UnreadableInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacholog.compare.requirements.judge import Base
    from tacholog.compare.requirements.result import RequirementReport
    from tacholog.store.frames import Dataset

FORMATS = ("text", "markdown", "json", "junit")
_DATA = ("json", "junit")  # formats that programs read
_FAIL_ON = tuple(verdict for verdict in VERDICTS if verdict != "passed")


@click.command(help=__doc__)
@click.argument("runs", shell_complete=complete_release)
@click.option("--requirements", "file", metavar="FILE", type=click.Path(path_type=Path), help="The requirements (TOML).")
@click.option("--that", "limits", metavar="LIMIT", multiple=True, help="Judge this limit; no file is then needed. May be repeated.")
@click.option("--release", metavar="LABEL", help="Judge this release.  [default: the newest of each system]")
@click.option("--than", metavar="OLD", help="The release or folder that relative requirements compare with, whatever the file says.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="text", show_default=True, help="How to print the verdicts.")
@click.option("--output", "path", metavar="PATH", type=click.Path(path_type=Path, dir_okay=False), help="File to write, instead of standard output.")
@click.option("--badges", type=Folder(), metavar="DIR", help="Also write an SVG badge for each requirement, and requirements.svg for all of them.")
@click.option(
    "--data", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder in which releases are searched. May be repeated."
)
@click.option("--fail-on", multiple=True, type=click.Choice(_FAIL_ON), help="Only these verdicts make the exit code 3 or 4.  [default: all]")
def require(
    *,
    runs: str,
    file: Path | None,
    limits: tuple[str, ...],
    release: str | None,
    than: str | None,
    output: str,
    path: Path | None,
    badges: Path | None,
    roots: tuple[Path, ...],
    fail_on: tuple[str, ...],
) -> None:
    """Read the requirements and the runs, judge them, and print the verdicts."""
    from tacholog.compare.requirements.file import RequirementFile, read_requirements, requirements_in_words
    from tacholog.compare.requirements.judge import check_bases, exit_code, judge
    from tacholog.compare.sides import find, of_release
    from tacholog.store.complaints import complaints, with_copies
    from tacholog.view.requirements import newest

    asked = requirements_in_words(limits, "--that")
    requirements = RequirementFile("--that", asked)
    if file or not asked:
        requirements = read_requirements(file or _default_file(roots))
        requirements = msgspec.structs.replace(requirements, requirements=(*requirements.requirements, *asked))
    check_bases(requirements, than)
    folders = roots or known_roots()
    mention_releases([runs], folders)
    everything = find(runs, folders, work_of())
    lost = print_complaints([complaints(with_copies(everything))], bare=is_bare(runs))
    bases = {name for name in (than, *(entry.requirement.than for entry in requirements.requirements)) if name}
    judged = of_release(everything, release) if release else newest(everything, bases)
    if not release:
        mention_order(everything.runs)
    _mention_unlabelled(everything, judged)
    report = judge(judged, requirements, _base(everything, folders), than)
    text = rendered(output, report, fail_on)
    if path is not None:
        write_output(path, text.encode())
    else:
        (terminal.data if output in _DATA else partial(click.echo, nl=False))(text)
    if badges is not None:
        _write_badges(badges, report)
    sys.exit(exit_code(report, fail_on) or lost)


def _mention_unlabelled(everything: Dataset, judged: Dataset) -> None:
    """A run without a release may be the newest run, so the user must know that it is not judged."""
    left = everything.runs[~everything.runs["run"].isin(judged.runs["run"]) & everything.runs["release"].isna()]
    for system, count in left["system"].astype(object).value_counts().sort_index().items():
        terminal.remark(f"{count} runs of {system} state no release, and are not judged, because other runs of {system} state one")


def _default_file(roots: Sequence[Path]) -> Path:
    from tacholog.compare.requirements.file import FILE

    candidates = [Path(FILE), *(root / FILE for root in roots or (home() / "data",))]
    file = next((path for path in candidates if path.is_file()), None)
    if file is None:
        raise UnreadableInput(
            f"no {' and no '.join(map(str, candidates))}: name the file with --requirements (docs/requirements.md says what is in it)"
        )
    return file


def _base(everything: Dataset, roots: Sequence[Path]) -> Base:
    """Return a function from the name of a baseline to the runs of the baseline.

    A release in ``everything`` has priority. Otherwise the baseline is searched for as in ``tacholog diff``.
    """
    from tacholog.compare.sides import find, of_release

    baselines: dict[str, Dataset] = {}

    def base(name: str) -> Dataset:
        if name not in baselines:
            baselines[name] = of_release(everything, name) if (everything.runs["release"] == name).any() else find(name, roots)
        return baselines[name]

    return base


def rendered(output: str, report: RequirementReport, fail_on: tuple[str, ...] = ()) -> str:
    """Return the verdicts in one of `FORMATS`."""
    from tacholog.render.requirements import junit, markdown, text

    match output:
        case "json":
            return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
        case "junit":
            return junit(report, fail_on)
        case "markdown":
            return markdown(report)
        case _:
            return text(report)


def _write_badges(folder: Path, report: RequirementReport) -> None:
    from tacholog.render.requirements import badges

    for name, svg in badges(report).items():
        write_output(folder / f"{name}.svg", svg.encode())
