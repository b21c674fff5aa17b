"""Run two builds in interleaved pairs within one session.

The folder of such a comparison contains ``ab.toml`` and one campaign for each side, in ``old/`` and ``new/``. All runs of both sides have one common
order.

For each variant of the campaign, a run of one side directly follows a run of the other side. The side of the first run is random, but in two
successive pairs, each side is first once. Each round has the variants in a new random order. The number of pairs is fixed before the first run, and
no result is used while the pairs run.
"""

from __future__ import annotations

import random
import secrets
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tacholog.campaign.builds import Build, apply_template
from tacholog.campaign.campaign_file import Campaign, Process, path_in_errors, read_campaign
from tacholog.campaign.campaign_folder import (
    copy_hosts_to_data,
    copy_to_data,
    default_cpus,
    listed_names,
    make_campaign_folder,
    make_plan,
    pending_runs,
    resume,
    write_plan,
)
from tacholog.campaign.floor import with_floor, without_floor
from tacholog.campaign.measure import RATE_OPTION, utc_now, with_rate
from tacholog.campaign.plan import Plan, PlannedRun, read_plan, schedule_runs
from tacholog.campaign.preview import without_commands
from tacholog.campaign.programs import sha256
from tacholog.compare.pairing import RECORD_FILE, PairRecord, PairSide, PlanEvent, read_record, write_record
from tacholog.errors import TachologError, UnreadableInput
from tacholog.runs.labels import CONTROL, label_name
from tacholog.runs.manifest import FLOOR, PLAN_FILE, RUN_FILE, check_release_name

SIDES: tuple[Literal["old"], Literal["new"]] = ("old", "new")
_HALVES_FOLDER = "half-pairs"
_CONFIRMATION = "confirmation"


class Task(NamedTuple):
    """A run to do, with its folder, its plan and its programs. ``label`` is the name of the run in the progress output."""

    folder: Path
    plan: Plan
    run: PlannedRun
    tools: Mapping[str, Path]
    label: str


class Pairs(NamedTuple):
    """A started comparison: its folder, its record, and the plan and the build of each side."""

    folder: Path
    record: PairRecord
    plans: tuple[Plan, Plan]
    builds: tuple[Build, Build]

    @property
    def sides(self) -> tuple[Path, Path]:
        """Return the folder of the old side, and the folder of the new side."""
        return self.folder / SIDES[0], self.folder / SIDES[1]

    def tasks(self) -> list[Task]:
        """Return the pending runs, in their order."""
        tasks = [
            Task(folder, plan, run, build.tools, f"{folder.name} {run.folder}")
            for folder, plan, build in zip(self.sides, self.plans, self.builds, strict=True)
            for run in pending_runs(folder, plan)
        ]
        return sorted(tasks, key=lambda task: task.run.order_index)

    def pairs_done(self) -> int:
        """Return the number of complete pairs of the variant that has the fewest."""
        missing = {task.run.folder for task in self.tasks()}
        done: dict[str, int] = {}
        for run in self.plans[0].runs:
            done[run.variant] = done.get(run.variant, 0) + (run.folder not in missing)
        return min(done.values(), default=0)


def schedule_pairs(
    campaigns: tuple[Campaign, Campaign], seed: int, listed: Collection[str] | None = None
) -> tuple[tuple[PlannedRun, ...], tuple[PlannedRun, ...]]:
    """Return the runs of the old side, and the runs of the new side. Both are numbered in one common order.

    If the number of repetitions grows and the seed stays the same, the new runs are added at the end of this order.

    Args:
        campaigns: the campaigns of the old and the new side.
        seed: the seed of the random order.
        listed: the names that the programs of both sides list (``only_if_listed``). If it is ``None``, no variant is left out.
    """
    cpus = default_cpus()
    unordered = [schedule_runs(campaign, seed, cpus, listed) for campaign in campaigns]
    variants_of_sides = [list(dict.fromkeys(run.variant for run in runs)) for runs in unordered]
    for side_name, variants, others in zip(SIDES, variants_of_sides, reversed(variants_of_sides), strict=True):
        if alone := [variant for variant in variants if variant not in others]:
            raise UnreadableInput(
                f"the variants of both sides need the same names to make pairs; only the {side_name} side has {', '.join(alone[:3])}"
            )
    run_of = {run.folder: run for run in unordered[1]}
    unordered[1] = tuple(run_of[run.folder] for run in unordered[0])
    ordered: tuple[list[PlannedRun], list[PlannedRun]] = ([], [])
    for index, pair in enumerate(zip(*unordered, strict=True)):
        # Two successive pairs use one coin toss. The second pair has the opposite order of sides, so each side is first in one of the two pairs.
        toss, is_second = divmod(pair[0].repetition - 1, 2)
        new_first = (random.Random(f"{seed} {pair[0].variant} {toss}").random() < 0.5) != bool(is_second)  # noqa: S311, PLR2004 - a coin, not a secret
        for side, run in enumerate(pair):
            ordered[side].append(msgspec.structs.replace(run, order_index=2 * index + 1 + (side ^ new_first)))
    return tuple(ordered[0]), tuple(ordered[1])


def start_pairs(
    path: Path, output: Path, builds: tuple[Build, Build], pairs: int, releases: tuple[str, str] | None = None, *, asks: bool = True
) -> Pairs:
    """Plan a comparison and write its folder.

    Args:
        path: the campaign file; not used if each build has its own campaign.
        output: the folder of all campaigns. The comparison gets a new subfolder ``ab-<name>-<time>``.
        builds: the two sides, old and new.
        pairs: the number of pairs of each variant.
        releases: the labels of the two sides, for publication.
        asks: whether to run the commands of the campaign that print a version and a list; false for a plan that is only printed.
    """
    campaign, name = read_campaign(builds[0].campaign or path), _comparison_name(path, builds)
    if builds[0].campaign is None:
        _check_reach(campaign, builds)
    seed = campaign.seed if campaign.seed is not None else secrets.randbelow(2**31)
    with path_in_errors(path):
        plans = _plans(name, campaign, seed, builds, pairs, releases or (None, None), asks=asks)
    tools = {**builds[0].tools, **builds[1].tools}
    folder, identity = make_campaign_folder(output, f"ab-{name}", campaign.hosts, tools)
    old_plan, new_plan = (msgspec.structs.replace(plan, session=identity.session, host=identity.host, host_ids=identity.host_ids) for plan in plans)
    old, new = (
        PairSide(name=plan.release or build.name, revision=build.revision, template=build.template) for plan, build in zip(plans, builds, strict=True)
    )
    record = PairRecord(
        campaign=name,
        campaign_sha256=_checksum(path, builds),
        seed=seed,
        planned_pairs=pairs,
        pairs=pairs,
        runs=len(old_plan.runs) + len(new_plan.runs),
        old=old,
        new=new,
    )
    return _write_comparison(Pairs(folder, record, (old_plan, new_plan), builds))


def _write_comparison(begun: Pairs) -> Pairs:
    for folder, plan in zip(begun.sides, begun.plans, strict=True):
        folder.mkdir()
        write_plan(folder, plan)
    write_record(begun.folder, begun.record)
    return begun


def _comparison_name(path: Path, builds: tuple[Build, Build]) -> str:
    return "-to-".join(build.campaign.stem for build in builds if build.campaign) or path.stem


def _checksum(path: Path, builds: tuple[Build, Build]) -> str:
    return "-".join(sha256(build.campaign) for build in builds if build.campaign) or sha256(path)


def _check_reach(campaign: Campaign, builds: tuple[Build, Build]) -> None:
    """Raise an error if a process runs on another machine, but a build is a program of this machine.

    Without the error, both sides would run the program that is installed on the other machine.
    """
    remote = [process for block in campaign.runs for process in block.processes if _is_remote(campaign, process)]
    for build in builds:
        wrong = next((process for process in remote if not build.template and process.command[0] in build.tools), None)
        if wrong is not None:
            raise TachologError(
                f"{build.name} is a program of this machine, but {wrong.name} runs on {wrong.host}; "
                f"give a command template with the path there, as in '/opt/new/{wrong.command[0]} {{arguments}}'"
            )


def _is_remote(campaign: Campaign, process: Process) -> bool:
    entry = campaign.hosts.get(process.host or "")
    return entry is not None and entry.ssh is not None


def _plans(
    name: str, campaign: Campaign, seed: int, builds: tuple[Build, Build], pairs: int, releases: tuple[str | None, str | None], *, asks: bool = True
) -> tuple[Plan, Plan]:
    old_side, new_side = (
        with_floor(apply_template(read_campaign(build.campaign) if build.campaign else campaign, build, pairs), build.tools) for build in builds
    )
    if old_side.hosts != new_side.hosts:
        raise UnreadableInput("the campaigns of both sides need the same hosts")
    campaigns = (old_side, new_side) if asks else (without_commands(old_side), without_commands(new_side))
    runs_of_sides = schedule_pairs(campaigns, seed, _listed_by_both(campaigns, builds))
    plans = (
        make_plan(side_campaign, name, runs, build.tools, label)
        for side_campaign, runs, build, label in zip(campaigns, runs_of_sides, builds, releases, strict=True)
    )
    old, new = (msgspec.structs.replace(plan, seed=seed) for plan in plans)
    return old, new


def _listed_by_both(campaigns: tuple[Campaign, Campaign], builds: tuple[Build, Build]) -> frozenset[str] | None:
    old, new = (listed_names(campaign, build.tools) for campaign, build in zip(campaigns, builds, strict=True))
    return old if new is None else new if old is None else old & new


def resume_pairs(path: Path, output: Path, builds: tuple[Build, Build], pairs: int | None, *, may_be_done: bool = False) -> Pairs:
    """Continue the newest comparison of this campaign under ``output``. A larger number of ``pairs`` adds pairs at the end.

    If only one run of a pair was done, both runs are done again, because otherwise the interruption would be between them. The old run is not
    deleted, but moved into a separate folder.

    Raises:
        TachologError: there is no such comparison, it has other builds or another campaign, or no run is pending (unless ``may_be_done``).
    """
    name = _comparison_name(path, builds)
    started = sorted(output.glob(f"ab-{name}-[0-9]*Z"), reverse=True)
    folder = next((candidate for candidate in started if (candidate / RECORD_FILE).is_file()), None)
    if folder is None:
        raise TachologError(f"nothing to resume: there is no comparison ab-{name} under {output}")
    record = read_record(folder)
    if record.campaign_sha256 != _checksum(path, builds):
        raise TachologError(f"{folder} was started with different content of {path}, so its runs would not be comparable; start a new comparison")
    old, new = (resume(folder / side, build.tools) for side, build in zip(SIDES, builds, strict=True))
    begun = Pairs(folder, record, (old, new), builds)
    for side, build in zip((record.old, record.new), builds, strict=True):
        if side.template != build.template:
            raise TachologError(f"{folder} was started with another command for {side.name}; start a new comparison")
    done = record.runs - len(begun.tasks())
    if pairs is not None and pairs != record.pairs:
        begun = _extended(begun, path, pairs)
    if not begun.tasks():
        if may_be_done:
            return begun
        raise TachologError(
            f"{folder}: all {record.pairs} pairs are done; to add more, give a larger --pairs (the report will say that pairs were added)"
        )
    if done < record.runs:
        begun = with_event(begun, "resumed")
    _set_halves_aside(begun)
    return begun


def _extended(begun: Pairs, path: Path, pairs: int) -> Pairs:
    record = begun.record
    if pairs < record.pairs:
        raise TachologError(f"{begun.folder}: {record.pairs} pairs were planned; a plan can be extended, but not shortened")
    releases = begun.plans[0].release, begun.plans[1].release
    longer = _plans(record.campaign, read_campaign(path), record.seed, _builds_as_started(begun), pairs, releases)
    old, new = (
        msgspec.structs.replace(plan, session=begun_plan.session, host=begun_plan.host, host_ids=begun_plan.host_ids)
        for begun_plan, plan in zip(begun.plans, longer, strict=True)
    )
    for folder, plan in zip(begun.sides, (old, new), strict=True):
        write_plan(folder, plan)
    extended = with_event(begun, "extended", pairs=pairs, runs=len(old.runs) + len(new.runs))
    return extended._replace(plans=(old, new))


def _builds_as_started(begun: Pairs) -> tuple[Build, Build]:
    """Return the builds for the added pairs.

    The builds have no floor program if the earlier pairs have no floor runs. So all pairs measure the same variants.
    """
    old, new = begun.builds
    if FLOOR in begun.plans[0].programs:
        return old, new
    return old._replace(tools=without_floor(old.tools)), new._replace(tools=without_floor(new.tools))


def with_event(begun: Pairs, what: Literal["interrupted", "resumed", "extended"], **planned: int) -> Pairs:
    """Add an event to the record of a comparison. Return the comparison with the changed record.

    Args:
        begun: the comparison.
        what: the kind of event.
        planned: the new values of the record, if the numbers of pairs and runs change.
    """
    record = msgspec.structs.replace(begun.record, **planned)
    event = PlanEvent(what=what, time=f"{utc_now():%Y-%m-%dT%H:%M:%SZ}", runs_done=begun.record.runs - len(begun.tasks()), pairs=record.pairs)
    record = msgspec.structs.replace(record, events=(*record.events, event))
    write_record(begun.folder, record)
    return begun._replace(record=record)


def pairs_to_confirm(first: Pairs, variants: Collection[str]) -> Pairs:
    """Return a comparison that measures these variants and the controls again. If such a comparison was started before, it is continued.

    The new folder is inside the folder of the first pairs, and the session is new. So the new pairs are never counted among the first pairs.
    """
    started = sorted(first.folder.glob(f"{_CONFIRMATION}-[0-9]*Z"), reverse=True)
    for folder in (candidate for candidate in started if (candidate / RECORD_FILE).is_file()):
        old, new = (read_plan(folder / side / PLAN_FILE) for side in SIDES)
        if {run.variant for run in old.runs} >= {*variants}:
            again = Pairs(folder, read_record(folder), (old, new), first.builds)
            if again.tasks():
                again = with_event(again, "resumed")
                _set_halves_aside(again)
            return again
    tools = {**first.builds[0].tools, **first.builds[1].tools}
    folder, identity = make_campaign_folder(first.folder, _CONFIRMATION, first.plans[0].hosts, tools)
    old, new = (
        msgspec.structs.replace(plan, session=identity.session, host=identity.host, host_ids=identity.host_ids, runs=runs)
        for plan, runs in zip(first.plans, _runs_again(first, variants), strict=True)
    )
    pairs = first.record.pairs
    record = msgspec.structs.replace(first.record, planned_pairs=pairs, pairs=pairs, runs=len(old.runs) + len(new.runs), events=())
    return _write_comparison(Pairs(folder, record, (old, new), first.builds))


def _runs_again(first: Pairs, variants: Collection[str]) -> list[tuple[PlannedRun, ...]]:
    """Return the runs of the old side, and the runs of the new side. Each new pair has the opposite order of the first pair.

    If a rate depends on a search, the rate of the first pairs is used, because another rate would give another row.
    """
    chosen = [[run for run in plan.runs if run.variant in variants or label_name(CONTROL) in run.labels] for plan in first.plans]
    order = sorted(run.order_index for runs in chosen for run in runs)  # in this order, the second run of a pair directly follows the first
    index_of = {index: (position ^ 1) + 1 for position, index in enumerate(order)}
    sides = []
    for folder, runs in zip(first.sides, chosen, strict=True):
        with_rates = (with_rate(folder, run) for run in runs)
        sides.append(
            tuple(
                msgspec.structs.replace(run, order_index=index_of[run.order_index], sustained=None if RATE_OPTION in run.options else run.sustained)
                for run in with_rates
            )
        )
    return sides


def _set_halves_aside(begun: Pairs) -> None:
    missing = [(task.folder.name, task.run.folder) for task in begun.tasks()]
    for side, folder in missing:
        other = "new" if side == "old" else "old"
        half = begun.folder / other / folder
        if (other, folder) not in missing and (half / RUN_FILE).is_file():
            target = _unused_name(begun.folder / _HALVES_FOLDER / other / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(half, target)


def _unused_name(path: Path) -> Path:
    candidates: Iterable[Path] = (path.with_name(f"{path.name}{suffix}") for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(candidate for candidate in candidates if not candidate.exists())


def copy_pairs_to_data(done: Pairs, data: Path) -> Path:
    """Copy both sides and their record into the data folder, to ``<tool>/<old>-to-<new>/``, for publication.

    Raises:
        TachologError: the folder already exists.
    """
    target = pairs_folder(data, done.plans[0].tool, (str(done.plans[0].release), str(done.plans[1].release)))
    for side, folder, plan in zip(SIDES, done.sides, done.plans, strict=True):
        copy_to_data(folder, plan, data, target / side)
    copy_hosts_to_data(done.folder, data, target)
    shutil.copy2(done.folder / RECORD_FILE, target)
    return target


def pairs_folder(data: Path, tool: str, releases: tuple[str, str]) -> Path:
    """Return the folder in the data folder for the runs of both sides.

    Raises:
        TachologError: the folder already exists, or the labels cannot be names of folders.
    """
    for release in releases:
        check_release_name(release)
    if releases[0] == releases[1]:
        raise UnreadableInput(f"--release {releases[0]} {releases[1]}: the two sides need different labels")
    target = data / tool / "-to-".join(releases)
    if target.exists():
        raise TachologError(f"{target} exists already: give the releases other names, or remove the folder")
    return target
