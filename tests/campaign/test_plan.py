"""From a campaign file to runs, in a random order that the seed reproduces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tacholog.campaign import PlannedRun, read_campaign, schedule_runs
from tacholog.compare.policy import MIN_RUNS
from tacholog.errors import UnreadableInput

CPUS = ("0", "1")
HEAD = 'system = "coreutils"\ntool = "seq"\nrepetitions = 3\n'
TWO_BY_TWO = """
[[runs]]
name = "{order}-{number}"
command = ["seq", "--separator=$({number}) b", "{order}", "{sizes_bytes}", "{cpu_pub}/{cpu_sub}"]
vary = { order = ["up", "down"], number = [1, 2] }
options = { sizes_bytes = [16, 64, 1024], duration_s = 2 }
conditions = { transport = "over {order}", planned_duration_s = "{duration_s}", load_mode = "closed" }
"""
Schedule = Callable[..., tuple[PlannedRun, ...]]


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    def scheduled(text: str, seed: int = 1) -> tuple[PlannedRun, ...]:
        (tmp_path / "small.toml").write_text(HEAD + text)
        return schedule_runs(read_campaign(tmp_path / "small.toml"), seed, CPUS)

    return scheduled


def test_lists_multiply_and_each_variant_is_repeated(schedule: Schedule) -> None:
    folders = {run.folder for run in schedule(TWO_BY_TWO)}

    assert folders == {f"{order}-{number}/0{repetition}" for order in ("up", "down") for number in (1, 2) for repetition in (1, 2, 3)}


def test_the_same_seed_draws_the_same_plan_and_another_seed_another(schedule: Schedule) -> None:
    assert schedule(TWO_BY_TWO, 7) == schedule(TWO_BY_TWO, 7)
    assert [run.folder for run in schedule(TWO_BY_TWO, 7)] != [run.folder for run in schedule(TWO_BY_TWO, 8)]


def test_repetitions_interleave_each_round_in_an_order_of_its_own(schedule: Schedule) -> None:
    runs = schedule(TWO_BY_TWO)

    assert [run.repetition for run in runs] == [1] * 4 + [2] * 4 + [3] * 4
    assert [run.order_index for run in runs] == list(range(1, 13))
    rounds = [tuple(run.folder[:-3] for run in runs[start : start + 4]) for start in (0, 4, 8)]
    assert len(set(rounds)) > 1


def test_placeholders_become_whole_arguments_that_no_shell_reads(schedule: Schedule) -> None:
    commands = {run.command for run in schedule(TWO_BY_TWO)}

    assert ("seq", "--separator=$(1) b", "up", "16,64,1024", "0/1") in commands
    assert ("seq", "--separator=$(2) b", "down", "16,64,1024", "0/1") in commands


def test_conditions_are_those_of_the_schema_and_keep_their_types(schedule: Schedule) -> None:
    conditions = next(run.conditions for run in schedule(TWO_BY_TWO) if run.folder.startswith("up"))

    assert (conditions.transport, conditions.planned_duration_s, conditions.load_mode) == ("over up", 2, "closed")


def test_sizes_are_shuffled_only_where_the_campaign_says_so(schedule: Schedule) -> None:
    fixed = {tuple(run.options["sizes_bytes"]) for run in schedule(TWO_BY_TWO)}  # type: ignore[arg-type]
    shuffled = {tuple(run.options["sizes_bytes"]) for run in schedule(TWO_BY_TWO + 'shuffle = ["sizes_bytes"]\n')}  # type: ignore[arg-type]

    assert fixed == {(16, 64, 1024)}
    assert len(shuffled) > 1
    assert {tuple(sorted(sizes)) for sizes in shuffled} == fixed


def test_time_expected_follows_from_sizes_and_duration(schedule: Schedule) -> None:
    run = schedule(TWO_BY_TWO.replace("duration_s = 2", "duration_s = 2, warmup_s = 0.5"))[0]

    assert run.expected_s == 3 * 2.5 + 0.5
    assert run.deadline_s == 2 * 3 * 2.5 + 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[runs]]\nname = "x"\ncommand = ["seq", "{length}"]\noptions = {size = 1}',
            "{length} has no value; the known names are cpu_pub, cpu_sub, size",
        ),
        ('[[runs]]\nname = "x"\ncommand = ["seq"]\nvary.size = [1, 2]', "two runs are called x/01"),
        ('[[runs]]\nname = "x"\ncommand = ["seq"]\nconditions.carrier = "udp"', "carrier"),
        ('[[runs]]\nname = "x"\ncommand = "seq 3"', "Expected a list, got text - at `$.runs[0].command`"),
        ('[[runs]]\nname = "../{x}"\ncommand = ["seq"]\nvary.x = [1]', "name = '../1': the name of a run becomes a folder"),
        ('[[runs]]\nname = "x"\ncommand = ["seq"]\nshuffle = ["sizes"]', "shuffle: the options have no list called 'sizes'"),
        ('[[run]]\nname = "x"', "unknown field `run`"),
    ],
    ids=["unknown placeholder", "same name twice", "unknown condition", "a shell line", "a way out", "shuffling nothing", "unknown key"],
)
def test_a_mistake_is_named(schedule: Schedule, text: str, message: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        schedule(text)

    assert message in str(error.value)


@pytest.mark.parametrize("name", ["quick", "release", "full"])
def test_our_own_campaigns_can_be_laid_out(checkout: Path, name: str) -> None:
    campaign = read_campaign(checkout / f"bench/campaigns/{name}.toml")
    runs = schedule_runs(campaign, 1, CPUS)

    assert {run.conditions.load_mode for run in runs} == {"closed", "max-rate"}
    assert {run.command[0] for run in runs if run.command} == {"perftest"}


def test_the_quick_campaign_takes_well_under_three_minutes(checkout: Path) -> None:
    runs = schedule_runs(read_campaign(checkout / "bench/campaigns/quick.toml"), 1, CPUS)

    assert sum(run.expected_s for run in runs) < 150


def test_the_release_campaign_takes_ten_minutes_and_repeats_enough_to_name_a_best(checkout: Path) -> None:
    campaign = read_campaign(checkout / "bench/campaigns/release.toml")

    assert campaign.repetitions >= MIN_RUNS
    assert sum(run.expected_s for run in schedule_runs(campaign, 1, CPUS)) < 660


def test_the_full_campaign_repeats_each_row_twelve_times(checkout: Path) -> None:
    assert read_campaign(checkout / "bench/campaigns/full.toml").repetitions == 12
