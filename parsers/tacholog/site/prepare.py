"""The dataset of a site: read, limited to the systems of the site, redacted, and saved in the folder from which the directives read it."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pandas as pd

from tacholog.compare.requirements.file import FILE as REQUIREMENTS
from tacholog.compare.sides import find_renames, folder_of_renames
from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence, read_small_evidence
from tacholog.memory import return_freed_memory
from tacholog.privacy.redact import redacted_with_redactor
from tacholog.runs.manifest import RENAMES_FILE, SAME_BUILD_FOLDER
from tacholog.runs.problems import FORGOTTEN, UNREADABLE, problem
from tacholog.schema.tables import TABLES
from tacholog.site.data import find_requirements, keep_requirements
from tacholog.site.settings import CampaignOfRelease, SiteSettings
from tacholog.store.complaints import complaints, with_copies
from tacholog.store.frames import Dataset, Row, frame
from tacholog.store.load import load
from tacholog.store.logs import Progress
from tacholog.store.pool import Work

_NAMED = 3  # the number of problems in one line; check lists all of them


_SHOWN = "shown"


def prepare(roots: Sequence[Path], work: Path, settings: SiteSettings, progress: Progress | None = None, reading: Work | None = None) -> Dataset:
    """Return the dataset to show. Save it in ``work/dataset``, and the redacted logs in ``work/shown``.

    The list of unreadable files is saved too, with their real names. `saved_complaints` returns it.

    Raises:
        UnreadableInput: the folders contain no run, or no run of a system that the settings name.
    """
    data = load(roots, settings.limits.limits, work=reading)
    with_renames, with_requirements, wrong = _beside_runs(roots)
    if wrong:
        data = msgspec.structs.replace(data, problems=pd.concat([data.problems, frame("problems", wrong)], ignore_index=True))
    return_freed_memory()
    complained = complaints(with_copies(data))
    if data.runs.empty:  # Pages without a run have no content, and Sphinx refuses their empty lists.
        has_bare_logs = bool((data.problems["kind"] == FORGOTTEN).any())
        raise UnreadableInput(_no_run_message(roots, complained.unread, has_bare_logs=has_bare_logs))
    chosen, text_bytes = with_copies(_chosen_part(data, settings)), settings.limits.limits.text_bytes
    if chosen.runs.empty:
        raise UnreadableInput("site.toml leaves every run out (systems, campaigns_left_out): nothing to report")
    data, redactor = redacted_with_redactor(chosen, settings.privacy, (work / _SHOWN).resolve(), progress, text_bytes)
    refused = _keep_bands(roots, work / "dataset" / SAME_BUILD_FOLDER)
    new = [line for line in refused if not any(complaint.startswith(f"{line.partition(': ')[0]}: ") for complaint in complained.unread)]
    msgspec.structs.replace(complained, unread=(*complained.unread, *new)).save(work)
    _save(data, work / "dataset", with_renames)
    return_freed_memory()
    keep_requirements(with_requirements, work / "dataset", redactor)
    return data


def _beside_runs(roots: Sequence[Path]) -> tuple[Path | None, Path | None, list[Row]]:
    """Return the folder with the file of renames, the folder with the file of requirements, and a list of problems.

    A problem means that one of the two files cannot be used.
    """
    renames, requirements, problems = None, None, list[Row]()
    try:
        find_renames(roots)
        renames = folder_of_renames(roots)
    except UnreadableInput as error:
        problems.append(problem("", RENAMES_FILE, 0, UNREADABLE, "", str(error)))
    try:
        requirements = find_requirements(roots)
    except UnreadableInput as error:
        problems.append(problem("", REQUIREMENTS, 0, UNREADABLE, "", str(error)))
    return renames, requirements, problems


def _no_run_message(roots: Sequence[Path], unread: Sequence[str], *, has_bare_logs: bool) -> str:
    folders = ", ".join(str(root) for root in roots)
    if not unread:
        return f"no run.toml below {folders}: nothing to report"
    more = f"; and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
    message = f"no run could be read below {folders}: {'; '.join(unread[:_NAMED])}{more}"
    if not has_bare_logs:
        return message
    advice = "each folder of logs needs a run.toml (docs/add-a-run.md explains it); tacholog parse and tacholog diff read logs without one"
    return f"{message}. To build pages, {advice}"


def _keep_bands(roots: Sequence[Path], folder: Path) -> list[str]:
    """Copy the files with bands to ``folder``, where comparisons on pages read them.

    Return a message for each file that is not copied, because it is not a regular file.
    """
    contents: dict[str, bytes] = {}
    refused: list[str] = []
    for root in reversed(roots):
        for file in (root / SAME_BUILD_FOLDER).glob("*.csv"):
            try:
                contents[file.name] = read_evidence(root, f"{SAME_BUILD_FOLDER}/{file.name}")
            except UnreadableInput as error:
                refused.append(f"{file}: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.csv"):
        if file.name not in contents:
            file.unlink()
    for name, content in contents.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != content:
            (folder / name).write_bytes(content)
    return refused


def _chosen_part(data: Dataset, settings: SiteSettings) -> Dataset:
    """Return the part of a dataset that the settings show.

    Raises:
        UnreadableInput: the settings name a system or a campaign without any run.
    """
    is_chosen = pd.Series(data=True, index=data.runs.index)
    if settings.systems is not None:
        _refuse_unknown("systems: no run of", settings.systems, data.runs["system"])
        is_chosen &= data.runs["system"].isin(settings.systems)
    for campaign in settings.campaigns_left_out:
        is_chosen &= ~_left_out(data.runs, campaign)
    if is_chosen.all():
        return data
    left_out = set(data.runs[~is_chosen]["run"])
    tables = {name: getattr(data, name) for name in TABLES}
    tables = {name: table[~table["run"].isin(left_out)].reset_index(drop=True) for name, table in tables.items()}
    used = set(tables["runs"]["host"].dropna())
    return Dataset(**tables, hosts={name: host for name, host in data.hosts.items() if name in used})


def _left_out(runs: pd.DataFrame, what: str | CampaignOfRelease) -> pd.Series:
    """Return a flag for each run. It is true if the run belongs to this campaign and, if a release is stated, to this release.

    Raises:
        UnreadableInput: no run belongs to them.
    """
    campaign = what if isinstance(what, str) else what.campaign
    _refuse_unknown("campaigns_left_out: no run of the campaign", [campaign], runs["campaign"])
    of_campaign = runs["campaign"].isin([campaign])
    if isinstance(what, str):
        return of_campaign
    _refuse_unknown(f"campaigns_left_out: no run of the campaign {campaign!r} has the release", [what.release], runs[of_campaign]["release"])
    return of_campaign & runs["release"].isin([what.release])


def _refuse_unknown(what: str, asked: Sequence[str], column: pd.Series) -> None:
    values = sorted(set(column.dropna()))
    if missing := [name for name in asked if name not in values]:
        raise UnreadableInput(f"{what} {missing[0]!r}; there are {', '.join(map(repr, values)) or 'none'}")


def _renames(root: Path) -> bytes:
    try:
        return read_small_evidence(root, RENAMES_FILE)
    except UnreadableInput as error:
        raise UnreadableInput(f"{root / RENAMES_FILE}: {error}") from error


def _save(data: Dataset, folder: Path, renaming: Path | None) -> None:
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)  # files of a build that was interrupted at this step
    data.save(fresh, packed=True)
    if renaming is not None:
        (fresh / RENAMES_FILE).write_bytes(_renames(renaming))
    else:
        (folder / RENAMES_FILE).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(fresh.iterdir()):
        # Pages depend on these files, so an unchanged file keeps its modification time.
        if not (folder / file.name).is_file() or not filecmp.cmp(file, folder / file.name, shallow=False):
            file.replace(folder / file.name)
    shutil.rmtree(fresh)
