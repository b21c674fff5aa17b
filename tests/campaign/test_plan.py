"""The runs of a campaign file, in a random order that the seed reproduces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.campaign.campaign_file import Campaign, read_campaign
from tacholog.campaign.campaign_folder import default_cpus
from tacholog.campaign.plan import PlannedRun, schedule_runs
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


def test_each_combination_of_listed_values_is_a_variant_and_each_variant_is_repeated(schedule: Schedule) -> None:
    folders = {run.folder for run in schedule(TWO_BY_TWO)}

    assert folders == {f"{order}-{number}/0{repetition}" for order in ("up", "down") for number in (1, 2) for repetition in (1, 2, 3)}


def test_same_seed_gives_the_same_plan_and_another_seed_gives_another_plan(schedule: Schedule) -> None:
    assert schedule(TWO_BY_TWO, 7) == schedule(TWO_BY_TWO, 7)
    assert [run.folder for run in schedule(TWO_BY_TWO, 7)] != [run.folder for run in schedule(TWO_BY_TWO, 8)]


def test_repetitions_are_interleaved_with_a_new_order_in_each_round(schedule: Schedule) -> None:
    runs = schedule(TWO_BY_TWO)

    assert [run.repetition for run in runs] == [1] * 4 + [2] * 4 + [3] * 4
    assert [run.order_index for run in runs] == list(range(1, 13))
    rounds = [tuple(run.folder[:-3] for run in runs[start : start + 4]) for start in (0, 4, 8)]
    assert len(set(rounds)) > 1


def test_value_of_a_placeholder_is_one_argument_and_is_not_interpreted_by_a_shell(schedule: Schedule) -> None:
    commands = {run.command for run in schedule(TWO_BY_TWO)}

    assert ("seq", "--separator=$(1) b", "up", "16,64,1024", "0/1") in commands
    assert ("seq", "--separator=$(2) b", "down", "16,64,1024", "0/1") in commands


def test_conditions_have_the_types_that_the_schema_requires(schedule: Schedule) -> None:
    conditions = next(run.conditions for run in schedule(TWO_BY_TWO) if run.folder.startswith("up"))

    assert (conditions.transport, conditions.planned_duration_s, conditions.load_mode) == ("over up", 2, "closed")


def test_sizes_are_shuffled_only_if_the_campaign_has_the_key_shuffle(schedule: Schedule) -> None:
    fixed = {tuple(run.options["sizes_bytes"]) for run in schedule(TWO_BY_TWO)}  # type: ignore[arg-type]
    shuffled = {tuple(run.options["sizes_bytes"]) for run in schedule(TWO_BY_TWO + 'shuffle = ["sizes_bytes"]\n')}  # type: ignore[arg-type]

    assert fixed == {(16, 64, 1024)}
    assert len(shuffled) > 1
    assert {tuple(sorted(sizes)) for sizes in shuffled} == fixed


def test_expected_time_follows_from_sizes_and_duration(schedule: Schedule) -> None:
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
def test_message_describes_a_mistake_in_a_campaign_file(schedule: Schedule, text: str, message: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        schedule(text)

    assert message in str(error.value)


SHARED = """
command = ["seq", "{last}"]
options = { last = 3, size = 1 }

[[runs]]
name = "plain"

[[runs]]
name = "with-{size}"
arguments = ["--equal-width"]
options = { size = 2 }
"""


def test_blocks_inherit_the_command_and_the_options_of_the_campaign(schedule: Schedule) -> None:
    runs = {run.folder: run for run in schedule(SHARED)}

    assert (runs["plain/01"].command, runs["plain/01"].options) == (("seq", "3"), {"last": 3, "size": 1})
    assert (runs["with-2/01"].command, runs["with-2/01"].options) == (("seq", "3", "--equal-width"), {"last": 3, "size": 2})


LISTED = """
only_if_listed = { by = ["printf", "udp  over sockets\\n  left out of this build: zeromq (install libzmq3-dev)\\n"], name = "{transport}" }

[[runs]]
name = "{transport}"
command = ["seq", "3"]
vary.transport = ["udp", "zeromq-tcp", "tcp"]
"""


def test_variant_is_left_out_if_the_program_that_lists_the_variants_does_not_print_it(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + LISTED)

    plan = run_tacholog_text("bench", "--no-control", "--plan", "small.toml", cwd=tmp_path)
    done = run_tacholog_text("bench", "--no-control", "small.toml", "--output", "out", cwd=tmp_path)

    # A plan runs no program that the campaign names.
    assert plan.stdout.splitlines()[0] == "small: 3 variants, 3 repetitions each: 9 runs, about 3 min."
    assert "which runs at the start, does not list all of them." in plan.stdout
    said = ["Left out: zeromq-tcp (left out of this build: zeromq (install libzmq3-dev)).", "Left out: tcp, which is not listed."]
    assert [line for line in done.stderr.splitlines() if line.startswith("Left out")] == said
    assert sorted(path.parent.name for path in tmp_path.glob("out/*/udp/*/run.toml")) == ["01", "02", "03"]


def test_failure_of_the_program_that_lists_the_variants_is_reported_before_any_run(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(HEAD + LISTED.replace('"printf"', '"false"'))

    done = run_tacholog_text("bench", "small.toml", "--output", "out", cwd=tmp_path)

    assert done.returncode == 2
    assert "ended with exit code 1, so the names that this command lists are not known" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["quick", "release", "full"])
def test_campaigns_of_this_project_can_be_planned(checkout: Path, name: str) -> None:
    campaign = read_campaign(checkout / f"bench/campaigns/{name}.toml")
    runs = schedule_runs(campaign, 1, CPUS)

    assert {run.conditions.load_mode for run in runs} == {"closed", "max-rate"}
    assert {run.command[0] for run in runs if run.command} == {"perftest"}


def test_quick_campaign_takes_less_than_two_and_a_half_minutes(checkout: Path) -> None:
    runs = schedule_runs(read_campaign(checkout / "bench/campaigns/quick.toml"), 1, CPUS)

    assert sum(run.expected_s for run in runs) < 150


def test_release_campaign_takes_less_than_eleven_minutes_and_has_enough_repetitions_for_a_verdict(checkout: Path) -> None:
    campaign = read_campaign(checkout / "bench/campaigns/release.toml")

    assert campaign.repetitions >= MIN_RUNS
    assert sum(run.expected_s for run in schedule_runs(campaign, 1, CPUS)) < 660


def test_middleware_campaign_takes_less_than_an_hour_and_has_enough_repetitions_for_a_verdict(checkout: Path) -> None:
    campaign = read_campaign(checkout / "bench/campaigns/middleware.toml")

    assert campaign.repetitions >= MIN_RUNS
    assert sum(run.expected_s for run in schedule_runs(campaign, 1, CPUS)) < 3600


def test_short_middleware_campaign_takes_less_than_150_seconds_and_has_the_settings_of_the_full_campaign(checkout: Path) -> None:
    short, long = (read_campaign(checkout / f"bench/campaigns/{name}.toml") for name in ("middleware-quick", "middleware"))

    def settings(campaign: Campaign) -> dict[tuple[object, object], tuple[str, ...]]:
        runs = [run for run in schedule_runs(campaign, 1, CPUS) if run.labels["variant"] == "as it comes"]
        commands = [(run.options, run.command) for run in runs if run.command and not {"busy-poll", "--rate"} & {*run.command}]
        return {(options["test"], options["transport"]): command[command.index("-") + 1 :] for options, command in commands}

    assert sum(run.expected_s for run in schedule_runs(short, 1, CPUS)) < 150
    assert settings(short).items() <= settings(long).items()


def test_full_campaign_has_twelve_repetitions(checkout: Path) -> None:
    assert read_campaign(checkout / "bench/campaigns/full.toml").repetitions == 12


SEVERAL = """
[[runs]]
name = "ping-{payload_bytes}"
vary.payload_bytes = [64, 1024]
options = { port = 11111 }
labels = { plugin = "size {payload_bytes}" }
[[runs.processes]]
name = "server"
role = "sub"
host = "b"
command = ["sockperf", "server", "-i", "{b.address}"]
ready = { port = "{port}" }
ends = "stopped"
[[runs.processes]]
name = "client"
role = "pub"
command = ["sockperf", "ping-pong", "-i", "{b.address}", "-m", "{payload_bytes}"]
"""
HOSTS = 'labels = { plugin = "none", kernel = "6" }\nhosts.b = { prefix = ["ip", "netns", "exec", "b"], address = "10.0.0.2" }\n'


def test_placeholders_of_processes_hosts_and_labels_are_replaced(schedule: Schedule) -> None:
    run = next(run for run in schedule(HOSTS + SEVERAL) if run.folder == "ping-64/01")

    assert [process.command for process in run.processes] == [
        ("sockperf", "server", "-i", "10.0.0.2"),
        ("sockperf", "ping-pong", "-i", "10.0.0.2", "-m", "64"),
    ]
    assert run.processes[0].ready is not None
    assert run.processes[0].ready.port == 11111
    assert run.labels == {"plugin": "size 64", "kernel": "6"}
    assert run.command is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('host = "b"', 'host = "c"', "process 'server': host = 'c' is unknown; the hosts are b"),
        ('name = "client"', 'name = "server"', "two processes are called server"),
        ('name = "client"', 'name = "client"\nlog = "server.log"', "two processes write to server.log"),
        ('name = "client"', 'name = "client"\nlog = "resources.log"', "process 'client': log = 'resources.log' is reserved"),
        ('name = "client"', 'name = "../client"', "process '../client': a name may have at most 64 characters"),
        ('"{port}"', '"https"', "process 'server': ready = { port = 'https' } is not a number from 1 to 65535"),
        ('"{port}"', "70000", "is not a number from 1 to 65535"),
        (
            'port = "{port}" }',
            'port = 1, output = "x" }',
            "the key 'ready' needs exactly one of 'output', 'port' and 'seconds'; it has output and port",
        ),
        ("{b.address}", "{c.address}", "{c.address} has no value"),
        ('name = "client"', 'name = "client"\nends = "stopped"', "every process has ends = 'stopped'"),
        ('ends = "stopped"', 'ends = "stopped"\ndeadline_s = 3', "process 'server': the key 'deadline_s' is for processes that end by themselves"),
        ('name = "client"', 'name = "client"\nready = { port = 11111 }\nhost = "b"', "two processes wait for port 11111 on b"),
        ("[[runs.processes]]", 'command = ["seq"]\n[[runs.processes]]', "it needs either a command or [[runs.processes]], and not both"),
        ("hosts.b", 'hosts."b c"', "hosts: 'b c' cannot be the name of a host"),
        ('"size {payload_bytes}"', '" "', "labels: "),
    ],
)
def test_invalid_processes_of_a_run_are_refused_in_one_line(schedule: Schedule, old: str, new: str, message: str) -> None:
    assert old in HOSTS + SEVERAL

    with pytest.raises(UnreadableInput) as error:
        schedule((HOSTS + SEVERAL).replace(old, new, 1))

    assert message in str(error.value)
    assert "\n" not in str(error.value)


SEARCH = """
[[runs]]
name = "sustain-{transport}"
command = ["perftest", "--test", "sustain", "{transport}"]
vary.transport = ["a", "b"]
repetitions = 1
"""
HALF = """
[[runs]]
name = "half-{transport}"
command = ["perftest", "--rate", "%rate%", "{transport}"]
vary.transport = ["a", "b"]
sustained = { run = "sustain-{transport}", share = 0.5 }
"""


def test_search_for_a_rate_is_done_once_and_before_the_runs_that_use_the_rate(schedule: Schedule) -> None:
    runs = schedule(HALF + SEARCH)

    assert sorted(run.folder for run in runs[:2]) == ["sustain-a/01", "sustain-b/01"]
    assert len(runs) == 2 + 3 * 2
    assert {(run.folder[:6], run.sustained and run.sustained.run) for run in runs[2:]} == {("half-a", "sustain-a"), ("half-b", "sustain-b")}


def test_campaign_is_refused_if_a_run_refers_to_a_rate_search_that_does_not_exist(schedule: Schedule) -> None:
    with pytest.raises(UnreadableInput, match=r"half-a/01: sustained: there is no variant 'sustain-a' that searches the rate"):
        schedule(HALF)


@pytest.mark.parametrize(
    ("allowed", "siblings", "cpus"),
    [
        ((0, 1, 2, 3), {0: "0-1"}, ("0", "2")),
        ((0, 1, 2, 3), {0: "0,2"}, ("0", "1")),
        ((2, 3), {2: "2-3"}, ("2", "3")),  # There is only one core: both of its hardware threads are used.
        ((5,), {5: "4,5"}, ("5", "5")),
        ((0, 1), {}, ("0", "1")),  # The kernel does not state which hardware threads share a core.
    ],
)
def test_campaign_uses_two_cores_if_the_machine_has_two(
    tmp_path: Path, allowed: tuple[int, ...], siblings: dict[int, str], cpus: tuple[str, str]
) -> None:
    for cpu, text in siblings.items():
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{text}\n")

    assert default_cpus(allowed, tmp_path) == cpus
