"""Interleaved pairs of two builds in one session: a folder with ``ab.toml``, and in ``old/`` and ``new/`` a campaign each, with one common order.

For each variant of the campaign the two sides run next to each other, in random order, balanced over every two pairs; variants come in a new order
in each round. How many pairs there will be is fixed before the first of them, and nothing looks at a result while they run.
"""

from __future__ import annotations

import random
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tacholog.campaign.builds import Build, with_template
from tacholog.campaign.plan import Campaign, Plan, Planned, lay_out, read_campaign
from tacholog.campaign.runs import cpus, keep, keep_hosts, new_folder, now, pending, plan_of, resume, write_plan
from tacholog.campaign.tools import sha256
from tacholog.compare.pairing import RECORD_FILE, PairRecord, PairSide, PlanEvent, read_record, write_record
from tacholog.errors import TachologError, UnreadableInput
from tacholog.runs.manifest import RUN_FILE, check_label

SIDES: tuple[Literal["old"], Literal["new"]] = ("old", "new")
_HALVES = "half-pairs"


class Task(NamedTuple):
    """A run that is to be done, and all that doing it takes."""

    folder: Path
    plan: Plan
    run: Planned
    tools: Mapping[str, Path]
    label: str


class Pairs(NamedTuple):
    """A comparison that was begun: its folder, its record, and the plan and programs of either side."""

    folder: Path
    record: PairRecord
    plans: tuple[Plan, Plan]
    builds: tuple[Build, Build]

    @property
    def sides(self) -> tuple[Path, Path]:
        """The folders of both sides."""
        return self.folder / SIDES[0], self.folder / SIDES[1]

    def tasks(self) -> list[Task]:
        """The runs that are left to do, in their order."""
        found = [
            Task(folder, plan, run, build.tools, f"{folder.name} {run.folder}")
            for folder, plan, build in zip(self.sides, self.plans, self.builds, strict=True)
            for run in pending(folder, plan)
        ]
        return sorted(found, key=lambda task: task.run.order_index)

    def pairs_done(self) -> int:
        """How many pairs are there of the variant that has the fewest."""
        old, new = ({run.folder for run in plan.runs} for plan in self.plans)
        missing = {task.run.folder for task in self.tasks()}
        variants: dict[str, int] = {}
        for folder in old & new:
            variant = folder.rpartition("/")[0]
            variants[variant] = variants.get(variant, 0) + (folder not in missing)
        return min(variants.values(), default=0)


def lay_out_pairs(campaigns: tuple[Campaign, Campaign], seed: int) -> tuple[tuple[Planned, ...], tuple[Planned, ...]]:
    """Lay out both sides' runs in one common order. More repetitions of the same seed only add to the end."""
    order = cpus()
    both = [lay_out(campaign, seed, order) for campaign in campaigns]
    laid: tuple[list[Planned], list[Planned]] = ([], [])
    for index, pair in enumerate(zip(*both, strict=True)):
        variant = pair[0].folder.rpartition("/")[0]
        turn, second = divmod(pair[0].repetition - 1, 2)
        new_first = (random.Random(f"{seed} {variant} {turn}").random() < 0.5) != bool(second)  # noqa: S311, PLR2004 - a coin, not a secret
        for side, run in enumerate(pair):
            laid[side].append(msgspec.structs.replace(run, order_index=2 * index + 1 + (side ^ new_first)))
    return tuple(laid[0]), tuple(laid[1])


def begin(path: Path, output: Path, builds: tuple[Build, Build], pairs: int, releases: tuple[str, str] | None = None) -> Pairs:
    """Plan a comparison and write its folder.

    Args:
        path: the campaign file.
        output: where campaigns are kept; this one gets a folder ``ab-<name>-<time>`` in it.
        builds: the two sides.
        pairs: how many pairs of each variant.
        releases: the labels under which the results of either side will be found.
    """
    campaign = read_campaign(path)
    seed = campaign.seed if campaign.seed is not None else secrets.randbelow(2**31)
    plans = _plans(path.stem, campaign, seed, builds, pairs, releases or (None, None))
    folder, here, session = new_folder(output, f"ab-{path.stem}")
    whole = [msgspec.structs.replace(plan, session=session, host=here) for plan in plans]
    for side, plan in zip(SIDES, whole, strict=True):
        (folder / side).mkdir()
        write_plan(folder / side, plan)
    old, new = (PairSide(name=label or build.name, revision=build.revision, template=build.template) for build, label in _named(builds, releases))
    record = PairRecord(
        campaign=path.stem,
        campaign_sha256=sha256(path),
        seed=seed,
        planned_pairs=pairs,
        pairs=pairs,
        runs=sum(len(plan.runs) for plan in whole),
        old=old,
        new=new,
    )
    write_record(folder, record)
    return Pairs(folder, record, (whole[0], whole[1]), builds)


def _named(builds: tuple[Build, Build], releases: tuple[str, str] | None) -> Iterator[tuple[Build, str | None]]:
    yield from zip(builds, releases or (None, None), strict=True)


def _plans(
    name: str, campaign: Campaign, seed: int, builds: tuple[Build, Build], pairs: int, releases: tuple[str | None, str | None]
) -> tuple[Plan, Plan]:
    old, new = (with_template(campaign, build, pairs) for build in builds)
    laid = lay_out_pairs((old, new), seed)
    made = (plan_of(one, name, runs, build.tools, label) for one, runs, build, label in zip((old, new), laid, builds, releases, strict=True))
    first, second = (msgspec.structs.replace(plan, seed=seed) for plan in made)
    return first, second


def go_on(path: Path, output: Path, builds: tuple[Build, Build], pairs: int | None) -> Pairs:
    """Go on with the newest comparison of that campaign under ``output``: what is left of it, and, with more ``pairs``, those too.

    A pair of which only one half was measured is measured again whole: its halves would lie as far apart as the interruption was long. The half that
    is there is set aside, not thrown away.

    Raises:
        TachologError: there is none, another build or campaign was begun with, or nothing is left to do.
    """
    folder = next((place for place in sorted(output.glob(f"ab-{path.stem}-*"), reverse=True) if (place / RECORD_FILE).is_file()), None)
    if folder is None:
        raise TachologError(f"nothing to resume: no comparison ab-{path.stem} under {output}")
    record = read_record(folder)
    if record.campaign_sha256 != sha256(path):
        raise TachologError(f"{folder} was begun with another {path}: its runs would not be alike; begin a new comparison")
    plans = [resume(folder / side, build.tools) for side, build in zip(SIDES, builds, strict=True)]
    begun = Pairs(folder, record, (plans[0], plans[1]), builds)
    _check_templates(begun)
    done = record.runs - len(begun.tasks())
    if pairs is not None and pairs != record.pairs:
        begun = _extended(begun, path, pairs, done)
    if not begun.tasks():
        raise TachologError(
            f"{folder}: all {record.pairs} pairs are done; more of them come with --pairs, and the report will say that they were added"
        )
    if done < record.runs:
        begun = noted(begun, "resumed")
    _set_halves_aside(begun)
    return begun


def _check_templates(begun: Pairs) -> None:
    for side, build in zip((begun.record.old, begun.record.new), begun.builds, strict=True):
        if side.template != build.template:
            raise TachologError(f"{begun.folder} was begun with another command for {side.name}; begin a new comparison")


def _extended(begun: Pairs, path: Path, pairs: int, done: int) -> Pairs:
    record = begun.record
    if pairs < record.pairs:
        raise TachologError(f"{begun.folder}: {record.pairs} pairs were planned; a plan can be extended, not cut short")
    releases = begun.plans[0].release, begun.plans[1].release
    more = _plans(record.campaign, read_campaign(path), record.seed, begun.builds, pairs, releases)
    whole = [msgspec.structs.replace(new, session=old.session, host=old.host) for old, new in zip(begun.plans, more, strict=True)]
    for folder, plan in zip(begun.sides, whole, strict=True):
        write_plan(folder, plan)
    event = PlanEvent(what="extended", time=_time(), runs_done=done, pairs=pairs)
    runs = sum(len(plan.runs) for plan in whole)
    record = msgspec.structs.replace(record, pairs=pairs, runs=runs, events=(*record.events, event))
    write_record(begun.folder, record)
    return Pairs(begun.folder, record, (whole[0], whole[1]), begun.builds)


def noted(begun: Pairs, what: Literal["interrupted", "resumed"]) -> Pairs:
    """Write into the record that the comparison was interrupted or resumed."""
    event = PlanEvent(what=what, time=_time(), runs_done=begun.record.runs - len(begun.tasks()), pairs=begun.record.pairs)
    record = msgspec.structs.replace(begun.record, events=(*begun.record.events, event))
    write_record(begun.folder, record)
    return begun._replace(record=record)


def _set_halves_aside(begun: Pairs) -> None:
    left = [(task.folder.name, task.run.folder) for task in begun.tasks()]
    for side, folder in left:
        other = SIDES[1 - SIDES.index("old" if side == "old" else "new")]
        half = begun.folder / other / folder
        if (other, folder) not in left and (half / RUN_FILE).is_file():
            aside = _free(begun.folder / _HALVES / other / folder)
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(half, aside)


def _free(place: Path) -> Path:
    """A folder that is not there yet."""
    names: Iterable[Path] = (place.with_name(f"{place.name}{suffix}") for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(name for name in names if not name.exists())


def keep_pairs(done: Pairs, data: Path) -> Path:
    """Copy both sides to where they are published from, ``data/<tool>/<old>-to-<new>/``, with the record of how they were made.

    Raises:
        TachologError: there is such a folder already.
    """
    target = place_of_pairs(data, done.plans[0].tool, (str(done.plans[0].release), str(done.plans[1].release)))
    for side, folder, plan in zip(SIDES, done.sides, done.plans, strict=True):
        keep(folder, plan, data, target / side)
    keep_hosts(done.folder, data)
    shutil.copy2(done.folder / RECORD_FILE, target)
    return target


def place_of_pairs(data: Path, tool: str, releases: tuple[str, str]) -> Path:
    """Return the folder for a comparison's runs, which must not exist yet."""
    for release in releases:
        check_label(release)
    if releases[0] == releases[1]:
        raise UnreadableInput(f"--release {releases[0]} {releases[1]}: the two sides need different labels, to be told apart")
    target = data / tool / "-to-".join(releases)
    if target.exists():
        raise TachologError(f"{target} has results already: give the releases other names, or remove the folder")
    return target


def _time() -> str:
    return f"{now():%Y-%m-%dT%H:%M:%SZ}"


__all__ = ["Pairs", "Task", "begin", "go_on", "keep_pairs", "lay_out_pairs", "noted", "place_of_pairs"]
