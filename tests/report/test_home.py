"""The home page: the best transport for each kind of message on each machine, and a plot with small panels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
import pytest

from tacholog.render.home.page import machines_at_home
from tacholog.render.home.panels import spread_labels
from tacholog.render.links import Links
from tacholog.render.tables.cost import spin_note
from tacholog.runs.manifest import Host
from tacholog.schema.conditions import Conditions
from tacholog.site.for_programs import CHANGES_FEED, RELEASES_FEED, Feed, FeedEntry, newest_change
from tacholog.view.history import latest
from tacholog.view.home import Choice, HomeMachine, choices, machines, polls, waits
from tacholog.view.names import load_words, with_system
from tacholog.view.page_index import PageIndex, page_index
from tacholog.view.ranking_groups import system_series
from tacholog.view.remarks import caveats
from tacholog.view.results import ResultRow, RunRow
from tacholog.view.series import series_of
from tacholog.view.views import View

TOOL = "perftest"
SIX = (700.0, 701.0, 702.0, 703.0, 704.0, 705.0)
SLOWER = tuple(value + 100.0 for value in SIX)


class Measured(msgspec.Struct, frozen=True):
    """The conditions of the runs of a transport, with defaults that suit most tests."""

    transport: str
    system: str = TOOL
    reach: str | None = "host"
    waiting: str | None = "block"
    variant: str = ""
    host: str = "desk"
    campaign: str = "c"
    began: str = "2026-01-01T00:00:00Z"
    session: str | None = None
    published: bool = False
    marks: tuple[str, ...] = ()
    hosts: tuple[str | None, ...] = (None,)

    def latency(self, *values: float, statistic: str = "p50", size: int = 64) -> list[ResultRow]:
        return self._results("latency", "latency", statistic, size, values)

    def rate(self, *values: float, metric: str = "goodput", size: int = 64) -> list[ResultRow]:
        return self._results("throughput", metric, "mean", size, values)

    def _results(self, test: str, metric: str, statistic: str, size: int, values: Sequence[float]) -> list[ResultRow]:
        conditions = msgspec.convert(
            {
                "transport": self.transport,
                "reach": self.reach,
                "waiting": self.waiting,
                "definition": f"ours-{test}",
                "load_mode": "closed" if test == "latency" else "max-rate",
                "basis": "rtt" if test == "latency" else None,
            },
            Conditions,
        )
        return [
            ResultRow(
                run=self._run(f"{test}-{number}"),
                log="a.log",
                line=7,
                test=test,
                conditions=conditions,
                payload_bytes=size,
                metric=metric,
                statistic=statistic,
                value=value,
                samples=1000 + number if metric == "latency" else None,
                marks=self.marks,
            )
            for number, value in enumerate(values)
        ]

    def _run(self, name: str) -> RunRow:
        commands = [{"role": "both", "argv": ["perftest"]} | ({"host": host} if host else {}) for host in self.hosts]
        return RunRow(
            run="/".join((self.host, self.campaign, self.system, self.transport, str(self.waiting), self.variant, name)),
            system=self.system,
            host=self.host,
            campaign=self.campaign,
            start_time=self.began,
            session=self.session,
            published=self.published,
            labels=json.dumps({"variant": self.variant}) if self.variant else None,
            manifest=json.dumps({"system": TOOL, "logs": [], "commands": commands}),
        )


def a_view(*results: Iterable[ResultRow], hosts: dict[str, Host] | None = None) -> View:
    everything = [result for some in results for result in some]
    runs = {result.run.run: result.run for result in everything}
    return View({name: [one for one in everything if one.run.run == name] for name in runs}, runs, [], [], hosts or {})


def machines_of(*results: Iterable[ResultRow]) -> list[HomeMachine]:
    return machines(system_series(a_view(*results), PageIndex()))


def chosen(found: HomeMachine, criterion: str, reach: str = "host", size: int = 64, *, polling: bool = False) -> Choice | None:
    table = choices(found)
    assert table
    columns = [column for column in table.columns if column.reach == reach and column.is_polling is polling]
    return columns[0].choice(criterion, size) if columns else None  # type: ignore[arg-type]  # a word of the test


def named(choice: Choice | None) -> tuple[str, list[str]]:
    """Return the name of the chosen transport, and the names of the transports whose ranges overlap with its range."""
    assert choice
    return choice.member.transport, [one.transport for one in choice.overlapping]


def shown(*results: Iterable[ResultRow], hosts: dict[str, Host] | None = None) -> str:
    return str(machines_at_home(a_view(*results, hosts=hosts), PageIndex(), Links("logs"), "x"))


def words_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


# -- The order of the machines, and the campaign of each machine ---------------------------------------------------------------


def test_machines_with_own_runs_come_first_and_are_sorted_by_the_newest_measurement() -> None:
    found = machines_of(
        *(Measured(name, host="old").latency(*SIX) for name in "ab"),
        *(Measured("a", host="paper", published=True, began="2026-09-09T00:00:00Z").latency(700.0, size=size) for size in (64, 128)),
        *(Measured(name, host="new", began="2026-03-03T00:00:00Z").latency(*SIX) for name in "ab"),
    )

    assert [(one.host, one.published) for one in found] == [("new", False), ("old", False), ("paper", True)]


def test_machine_with_the_most_systems_and_runs_comes_first_and_the_page_links_to_the_newest_measurement() -> None:
    many = [library(f"Lib {name}", name, host="full").latency(*SIX) for name in "abc"]
    quick = [library(f"Lib {name}", name, host="quick", campaign="look", began="2026-03-03T00:00:00Z").latency(*SIX[:2]) for name in "abc"]
    wide = [library("Lib", name, host="wide", began="2026-02-02T00:00:00Z").latency(*SIX) for name in "abcde"]

    html = shown(*quick, *wide, *many)

    # In this order, the machines have 3 systems with 6 runs each, 1 system with 6 runs, and 3 systems with 2 runs each.
    assert [one.host for one in machines_of(*quick, *wide, *many)] == ["full", "wide", "quick"]
    assert html.index("Newest measurement: 2026-03-03") < html.index('id="x-0"')
    assert ", campaign look, 2 runs each, on " in words_of(html).replace(" ,", ",")
    assert re.search(r'<p class="tl-newest">.*?<a href="#x-2">', html)
    assert "Newest measurement" not in shown(*many)


def test_machine_shows_the_campaign_with_the_most_transports() -> None:
    (found,) = machines_of(
        *(Measured(name, campaign="wide").latency(*SIX) for name in "abc"),
        *(Measured(name, campaign="later", began="2026-03-03T00:00:00Z").latency(*SIX) for name in "ab"),
    )

    assert {one.series.runs[0].campaign for one in found.series} == {"wide"}


def test_machine_with_one_transport_has_no_table_of_choices() -> None:
    assert machines_of(Measured("a").latency(*SIX)) == []


def test_controls_are_not_candidates_for_the_best_transport() -> None:
    control = [
        msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, labels='{"control": "true"}')) for one in Measured("c").latency(*SIX)
    ]

    (found,) = machines_of(*(Measured(name).latency(*SIX) for name in "ab"), control)

    assert {one.transport for one in found.everything} == {"a", "b"}


# -- The best transport for each kind of message -------------------------------------------------------------------------------


def test_transport_with_the_lowest_median_is_the_fastest_and_transports_with_overlapping_ranges_are_tied() -> None:
    (found,) = machines_of(Measured("slow").latency(*SLOWER), Measured("fast").latency(*SIX), Measured("tied").latency(705.0, *SLOWER[1:]))

    assert named(chosen(found, "fastest")) == ("fast", ["tied"])


def test_fastest_polling_transport_and_fastest_sleeping_transport_are_named_separately() -> None:
    dearer = tuple(value + 5000.0 for value in SIX)
    (found,) = machines_of(
        *(Measured(name, waiting="busy-poll").latency(*values) for name, values in (("a", SIX), ("b", SLOWER))),
        *(Measured(name).latency(*values) for name, values in (("c", SLOWER), ("d", dearer))),
    )

    by_waiting = [chosen(found, "fastest", polling=polling) for polling in (True, False)]
    assert [(one.member.transport, polls(one.member)) for one in by_waiting if one] == [("a", True), ("c", False)]


def resources(of: Sequence[ResultRow], processors: float, switches: int) -> list[ResultRow]:
    """Return rows with added resources. Each run has 2000 messages in one second.

    ``processors`` and ``switches`` are sums over both sides.
    """
    counts = {"duration": 1e9, "cpu_time": processors / 2 * 1e9, "context_switches": switches / 2}
    counted = [
        msgspec.structs.replace(one, scope="resources", side=side, metric=metric, statistic="total", value=value, samples=None)
        for one in of
        for side in ("publisher", "subscriber")
        for metric, value in counts.items()
    ]
    durations = [msgspec.structs.replace(one, metric="duration", statistic="total", value=1e9, samples=None) for one in of]
    return [*(msgspec.structs.replace(one, samples=1000) for one in of), *durations, *counted]


@pytest.mark.parametrize(
    ("processors", "switches", "words"),
    [(1.44, 12, "spins by default"), (1.44, 2000, "sleeps"), (0.8, 12, "sleeps"), (1.44, 200, "sleeps"), (0.9, 12, "sleeps")],
)
def test_blocking_transport_spins_by_default_if_it_uses_a_whole_processor_and_rarely_switches_context(
    processors: float, switches: int, words: str
) -> None:
    library, rate = Measured("lib").latency(*SIX), Measured("lib").rate(*SIX)

    (found,) = machines_of(resources(library, processors, switches), rate, Measured("other").latency(*SLOWER), Measured("other").rate(*SIX))

    assert {waits(one) for one in found.series if one.transport == "lib"} == {words}
    assert {waits(one) for one in found.series if one.transport == "other"} == {"sleeps"}


def test_note_on_a_series_that_spins_has_a_colon_after_its_name() -> None:
    counted = resources(Measured("lib").latency(*SIX), 1.44, 12)
    shown = [one for one in counted if one.scope != "resources"]

    note = str(spin_note(series_of([*shown, *Measured("other", waiting="busy-poll").latency(*SIX)]), counted))

    assert '<span class="stat-label">lib, block</span>: <strong>spins by default</strong>. It keeps' in note  # "tl-label" would add a full stop


def test_note_does_not_state_that_a_polling_transport_spins_by_default() -> None:
    (found,) = machines_of(resources(Measured("lib", waiting="busy-poll").latency(*SIX), 2.0, 0), Measured("other").latency(*SLOWER))

    assert {waits(one) for one in found.series if one.transport == "lib"} == {"polls"}


def of_release(release: str, began: str, found: Sequence[ResultRow], campaign: str) -> list[ResultRow]:
    changes = {"release": release, "system_version": release, "start_time": began, "campaign": campaign}
    return [msgspec.structs.replace(one, run=msgspec.structs.replace(one.run, run=f"{release}/{one.run.run}", **changes)) for one in found]


def test_fastest_transport_without_a_library_has_a_separate_row_if_libraries_were_measured() -> None:
    bare = [Measured("shm").latency(*SIX), Measured("tcp").latency(*SLOWER)]
    libraries = [library(f"Lib {name}", name).latency(*SLOWER) for name in "ab"]
    row = r"without a library lowest median ([\w-]+) (\d+ ns)"

    found, alone = (words_of(shown(*bare, *others)) for others in (libraries, []))

    assert re.search(row, found).groups() == ("shm", "703 ns")  # type: ignore[union-attr]  # it is there
    assert "fastest lowest median a 803" in found  # shm is faster, but is not a library.
    assert not re.search(row, alone)


def test_column_of_transports_within_a_process_is_left_out_if_only_one_was_measured() -> None:
    three = [Measured(name).latency(*SIX) for name in "ab"] + [Measured("alone", reach="process").latency(*SIX)]

    assert "Within one process" not in words_of(shown(*three))
    assert "Within one process" in words_of(shown(*three, Measured("second", reach="process").latency(*SIX)))


def test_parts_that_scripts_fold_on_phones_are_open_in_the_html(site_of_many: str) -> None:
    folds = re.findall(r"<details([^>]*)><summary[^>]*>(.*?)</summary>", site_of_many)

    assert [re.sub("<[^>]*>", "", words) for attributes, words in folds if "tl-folds-on-phone" in attributes] == [
        "2 more panels",
    ]
    assert re.findall(r'<input type="radio" name="size-desk" value="(\d)"( checked)?', site_of_many) == [("0", " checked"), ("1", "")]
    assert all(attributes.endswith(" open") for attributes, _ in folds if "tl-folds-on-phone" in attributes)


def test_newest_results_of_each_system_are_shown_if_no_transports_can_be_ranked() -> None:
    html = shown(
        library("Old", "old", began="2025-01-01T00:00:00Z", host="shelf").latency(*SIX),
        library("New", "new", began="2026-02-03T00:00:00Z").latency(*SIX),
    )

    assert "so nothing is ranked here" in html
    rows = [words_of(row).strip() for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", html)]
    assert [row.split()[0] for row in rows] == ["New", "Old"]
    assert "703 ns" in rows[0]
    assert rows[0].endswith("2026-02-03")
    assert "tl-best" not in html


def test_single_system_is_represented_by_the_transport_with_the_most_numbers() -> None:
    html = shown(
        library("Lib", "few", host="a").latency(*SIX), library("Lib", "many", host="b").latency(*SIX), library("Lib", "many", host="b").rate(*SIX)
    )

    (row,) = [words_of(row).strip() for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", html)]
    assert row.startswith("Lib many other transports: few ")


@pytest.fixture
def site_of_many() -> str:
    return shown(*(library(f"Lib {name}", name).latency(*SIX, size=at) for name in "abcdefgh" for at in (64, 1024)))


def test_steadiest_transport_has_the_lowest_99th_percentile_and_may_differ_from_the_fastest() -> None:
    fast, steady = Measured("fast"), Measured("steady")
    (found,) = machines_of(
        fast.latency(*SIX),
        fast.latency(*(9 * value for value in SIX), statistic="p99"),
        steady.latency(*SLOWER),
        steady.latency(*SLOWER, statistic="p99"),
    )

    assert named(chosen(found, "fastest")) == ("fast", [])
    assert named(chosen(found, "steadiest")) == ("steady", [])


# The 99th percentiles of six runs, in ns. The runs belong to the campaign middleware of 2026-11-23, with messages of 64 B over loopback. The runs of
# Fast DDS form two groups.
FASTDDS_UDP = (99071.0, 113791.0, 167807.0, 112127.0, 1150975.0, 1488895.0)
MOSQUITTO = (138879.0, 200191.0, 148607.0, 144639.0, 165375.0, 145407.0)
REDIS = (139647.0, 137471.0, 1483775.0, 124479.0, 131327.0, 128255.0)
# The 99th percentiles of 4 MiB of nng in the same campaign, with only 105 to 156 samples in each run.
NNG_TCP = (3168255.0, 4337663.0, 3452927.0, 8343551.0, 5332991.0, 6107135.0)


def with_tail(one: Measured, *tail: float, size: int = 64) -> list[ResultRow]:
    """Add the 99th percentiles ``tail`` to six medians that form one group."""
    return [*one.latency(*SIX, size=size), *one.latency(*tail, statistic="p99", size=size)]


def test_transport_is_not_the_steadiest_if_only_some_of_its_runs_have_the_lowest_values() -> None:
    (found,) = machines_of(with_tail(Measured("fastdds-udp"), *FASTDDS_UDP), with_tail(Measured("mosquitto"), *MOSQUITTO))

    choice = chosen(found, "steadiest")

    assert named(choice) == ("mosquitto", [])
    assert choice
    assert (choice.cell.value, choice.candidates, choice.doubts) == (148607.0, 2, frozenset())


def test_transport_with_runs_in_two_groups_is_not_tied_with_the_steadiest() -> None:
    below = tuple(value / 10 for value in FASTDDS_UDP)
    (found,) = machines_of(with_tail(Measured("low"), *below), with_tail(Measured("mosquitto"), *MOSQUITTO))

    assert named(chosen(found, "steadiest")) == ("mosquitto", [])  # The values of "low" overlap with the values of mosquitto, but form two groups.


def test_fastest_transport_is_chosen_by_the_slower_group_if_runs_form_two_groups() -> None:
    (found,) = machines_of(Measured("fastdds-udp").latency(*FASTDDS_UDP), Measured("mosquitto").latency(*MOSQUITTO))

    assert named(chosen(found, "fastest")) == ("mosquitto", [])


def test_no_transport_is_the_steadiest_if_the_runs_of_each_transport_form_two_groups() -> None:
    html = shown(with_tail(Measured("fastdds-udp"), *FASTDDS_UDP), Measured("other").latency(*SLOWER))
    found = words_of(html[html.index("tl-choices") :])

    assert re.search(r"fastdds-udp 114 µs or 1.49 ms .*no winner: the runs form two groups", found)


def test_value_with_too_few_samples_does_not_win_even_without_a_competitor() -> None:
    (found,) = machines_of(
        with_tail(Measured("nng-tcp", marks=("undersampled",)), *NNG_TCP, size=4 << 20), Measured("zeromq-tcp").latency(*SIX, size=4 << 20)
    )
    choice = chosen(found, "steadiest", size=4 << 20)
    html = shown(with_tail(Measured("nng-tcp", marks=("undersampled",)), *NNG_TCP, size=4 << 20), Measured("zeromq-tcp").latency(*SIX, size=4 << 20))
    said = words_of(html[html.index("tl-choices") :])

    assert choice
    assert (choice.candidates, choice.measured, choice.doubts) == (1, 2, frozenset({"undersampled"}))
    assert "nng-tcp 5.33 ms no winner: too few samples" in said
    assert "A value from too few samples is never called the best." in said


def test_lowest_of_several_values_with_too_few_samples_is_shown_but_does_not_win() -> None:
    few = ("undersampled",)
    html = shown(with_tail(Measured("nng-tcp", marks=few), *NNG_TCP), with_tail(Measured("other", marks=few), *MOSQUITTO))

    assert "other 149 µs no winner: too few samples" in words_of(html[html.index("tl-choices") :])


def test_value_with_enough_samples_wins_over_a_lower_value_with_too_few_samples() -> None:
    (found,) = machines_of(with_tail(Measured("few", marks=("undersampled",)), *MOSQUITTO), with_tail(Measured("enough"), *NNG_TCP))

    assert named(chosen(found, "steadiest")) == ("enough", [])


def test_cheapest_transport_takes_the_least_processor_time_for_a_message_and_lost_few_messages() -> None:
    costs = {"dear": SLOWER, "cheap": SIX, "lossy": tuple(value / 2 for value in SIX)}
    marks = {"lossy": ("loss",)}
    (found,) = machines_of(
        *(Measured(name, marks=marks.get(name, ())).rate(*(1e9 for _ in SIX)) for name in costs),
        *(Measured(name).rate(*values, metric="cpu_per_message") for name, values in costs.items()),
    )

    assert named(chosen(found, "cheapest")) == ("cheap", [])


def test_variants_of_a_transport_compete_with_each_other_and_with_other_transports() -> None:
    (found,) = machines_of(
        Measured("a", variant="as it comes").latency(*SLOWER),
        Measured("a", variant="advised").latency(*SIX),
        Measured("b", variant="as it comes").latency(*SLOWER),
    )

    choice = chosen(found, "fastest")

    assert choice
    assert (choice.member.transport, choice.candidates) == ("a", 3)
    assert json.loads(choice.member.series.runs[0].labels or "") == {"variant": "advised"}


def test_best_transport_within_a_process_is_from_the_campaign_with_the_most_transports_within_a_process() -> None:
    (found,) = machines_of(
        *(Measured(name, campaign="wide").latency(*SIX) for name in "abc"),
        *(Measured(name, campaign="own", reach="process").latency(*SIX) for name in ("queue", "ring")),
    )

    assert named(chosen(found, "fastest", "process")) == ("queue", ["ring"])
    assert chosen(found, "fastest", "network") is None


def test_kind_of_message_is_listed_as_not_measured_if_no_measured_size_is_near() -> None:
    found = words_of(shown(*(Measured(name).latency(*SIX, size=65507) for name in "ab")))

    assert "Tiles, 65 507 B" in found
    assert "steadiest" not in found  # The steadiest transport needs 99th percentiles, but only medians were measured.
    assert "Not measured on this machine: Control messages, 64 B; State, 1 KiB; Frames, 1 MiB; Images, 4 MiB." in found


def test_winner_with_few_runs_is_marked() -> None:
    few, many = (
        words_of(shown(*(Measured(name).latency(*values) for name, values in runs.items())))
        for runs in ({"a": SIX[:5], "b": SLOWER}, {"a": SIX, "b": SLOWER})
    )

    assert few.count("5 runs: no winner is named") == few.count("winner") == 1
    assert "no winner" not in many


def test_home_page_states_once_that_two_runs_are_too_few_to_name_a_winner() -> None:
    found = words_of(shown(*(Measured(name).latency(*SIX[:2], size=size) for name in "ab" for size in (64, 1024, 65536))))

    assert "2 runs: no winner is named. Each number is the worse of 2 runs." in found
    assert found.count("winner") == 1
    assert "lines join the medians (of two runs, the worse)" in found


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["closed"], "one message at a time. Under load it was not measured."),
        (["open"], "measured under load"),
        (["closed", "open"], "Some latencies are those of one message at a time, others"),
        (["closed", None], "one message at a time. Under load it was not measured. Some sources do not state the load."),
        ([None], "does not state whether the system was loaded"),
    ],
)
def test_table_states_whether_the_system_was_loaded(modes: list[str | None], expected: str) -> None:
    assert expected in load_words(modes)
    assert load_words(["max-rate"], has_latency=False) == "These are rates: the system was loaded."
    assert "does not state" in load_words([None], has_latency=False)


def test_home_page_states_that_latencies_are_without_load_and_links_to_latencies_under_load() -> None:
    unloaded = [Measured(name).latency(*SIX) for name in "ab"]
    loaded = [  # More transports were measured under load than without load.
        [
            msgspec.structs.replace(result, conditions=msgspec.structs.replace(result.conditions, load_mode="open", offered_rate_per_s=1000.0))
            for result in Measured(name).latency(*SIX)
        ]
        for name in "abc"
    ]

    assert "one message at a time. Under load it was not measured." in words_of(shown(*unloaded))
    assert "one message at a time. Latencies under load are on the page \u201cSide by side\u201d." in words_of(shown(*unloaded, *loaded))


def test_network_between_two_processes_of_one_machine_is_called_loopback() -> None:
    alone, two = (
        words_of(shown(*(Measured(name, reach="network", hosts=hosts).latency(*SIX) for name in "ab"))) for hosts in ((None,), (None, "other"))
    )

    assert "loopback" in alone
    assert "loopback" not in two
    assert "Over a network" in two


def test_each_number_of_the_table_links_to_its_log_line() -> None:
    html = shown(*(Measured(name).latency(*SIX) for name in "ab"))
    table = html[html.index("tl-choices") :]

    # The median of six latencies is the larger of the two middle values. Here it is the value of the fourth run.
    assert re.search(r'<a href="doc:logs/desk/c/perftest/a/block/-/latency-3/a\.log[^"]*#L7[^"]*"[^>]*>703\u00a0ns</a>', table)


# -- The plot ------------------------------------------------------------------------------------------------------------------


def drawings(html: str) -> dict[str, str]:
    found = re.findall(r'<svg class="tl-svg".*?</svg>', html, re.DOTALL)
    return {str(re.search(r"<title[^>]*>([^:]*):", one)[1]): one for one in found}  # type: ignore[index]  # each has a title


def library(name: str, transport: str, **others: str) -> Measured:
    return msgspec.convert({"transport": transport, "system": name, **others}, Measured)


def test_each_system_has_a_panel_and_a_single_system_has_a_panel_for_each_transport() -> None:
    several = drawings(shown(Measured("shm").latency(*SIX), *(library("Lib", name).latency(*SIX) for name in ("lib-ipc", "lib-udp"))))
    alone = drawings(shown(*(Measured(name).latency(*SIX) for name in ("shm", "udp"))))

    assert set(several) == {TOOL, "Lib"}
    assert set(alone) == {"shm", "udp"}


def test_each_run_is_a_dot_and_the_medians_are_stated_in_words() -> None:
    found = drawings(shown(Measured("a").latency(*SIX), Measured("a").latency(*SLOWER, size=1024), Measured("b").latency(*SIX)))

    (dots,) = re.findall(r'<path d="([^"]*)" class="tl-dots"', found["a"])
    assert dots.count("h0") > 8  # Twelve runs, but some dots have the same position.
    assert "a (sleeps): 703\u00a0ns at 64\u00a0B, 803\u00a0ns at 1\u00a0KiB." in found["a"]


def floor_lines(drawing: str) -> list[str]:
    return re.findall(r'<path d="([^"]*)" class="tl-floor"', drawing)


def test_floor_line_of_a_library_shows_a_plain_transport_with_equal_reach_and_waiting() -> None:
    def both_sizes(one: Measured, value: float) -> list[ResultRow]:
        return [*one.latency(*(value for _ in SIX)), *one.latency(*(value for _ in SIX), size=1024)]

    found = drawings(
        shown(
            both_sizes(Measured("shm"), 1e3),
            both_sizes(Measured("shm", waiting="busy-poll"), 1e2),
            both_sizes(Measured("tcp", reach="network"), 1e4),
            both_sizes(library("Lib", "lib-ipc"), 1e5),
        )
    )

    (floor,) = floor_lines(found["Lib"])
    (own,) = [line for line in re.findall(r'<path d="([^"]*)" class="tl-path"', found[TOOL]) if line == floor]
    assert own
    assert floor_lines(found[TOOL]) == []
    # The axis goes from 100 ns at y = 132 to 100 us at y = 18, so 1 us is at y = 94.
    assert floor == "M44 94L292 94"


def test_each_transport_has_a_letter_beside_its_line_and_in_the_header_of_the_panel() -> None:
    def both_sizes(one: Measured, value: float) -> list[ResultRow]:
        return [*one.latency(*(value for _ in SIX)), *one.latency(*(value for _ in SIX), size=1024)]

    html = shown(both_sizes(library("Lib", "lib-udp"), 1e5), both_sizes(library("Lib", "lib-ipc"), 1e3), both_sizes(library("Other", "other"), 1e4))
    found = drawings(html)

    assert re.findall(r'class="tl-name">(\w)</text>', found["Lib"]) == ["b", "a"]  # The slower transport is drawn higher.
    assert "Lib a ipc , b udp" in words_of(html)
    assert "tl-name" not in found["Other"]


def test_value_of_a_dot_is_in_a_text_that_the_pointer_shows() -> None:
    found = drawings(shown(Measured("a").latency(*SIX), Measured("b").latency(*SLOWER)))

    assert re.search(
        r'<path d="M44 [\d.]+h0"></path><text [^>]*>sleeps<tspan [^>]*>64\u00a0B: 703\u00a0ns</tspan></text>',
        found["a"].replace("/>", "></path>"),
    )


def test_text_of_a_dot_names_the_label_that_distinguishes_its_line() -> None:
    html = shown(*(Measured(name, variant=variant).latency(*SIX) for name in "ab" for variant in ("plain", "tuned")))

    assert '>sleeps, tuned<tspan x="156" dy="13">' in html.replace("156.0", "156")


def test_all_panels_have_one_colour_and_two_plots_of_equal_width() -> None:
    html = shown(*(row for name in "ab" for row in (Measured(name).latency(*SIX), Measured(name).rate(*SIX))))

    assert not re.search(r"tl-s\d", html)
    grids = [tuple(map(float, pair)) for pair in re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)[^"]*" class="tl-grid"', drawings(html)["a"])]
    assert [(end - start, start % 156) for start, end in grids] == [(92.0, 44.0), (92.0, 44.0)]


def test_labels_of_lines_that_end_close_together_do_not_overlap() -> None:
    found = spread_labels({"a": 100.0, "b": 101.0, "c": 137.0, "d": 138.0}, 18.0, 138.0)

    assert list(found) == ["a", "b", "c", "d"]
    places = list(found.values())
    assert all(below - above >= 10.0 for above, below in pairwise(places))
    assert places[0] == 100.0
    assert places[-1] == 138.0


def test_panel_links_to_the_pages_of_its_transports() -> None:
    view = a_view(Measured("shm").latency(*SIX), library("Lib", "lib-ipc").latency(*SIX), library("Lib", "lib-udp").latency(*SIX))
    pages = page_index([[TOOL, "shm", "perftest/shm"], ["Lib", "lib-ipc", "lib/ipc"], ["Lib", "lib-udp", "lib/udp"]])

    html = str(machines_at_home(view, pages, Links("logs"), "x"))

    assert re.search(r'<strong>Lib</strong> <b class="tl-letter">a</b>\u00a0<a href="doc:lib/ipc">ipc</a>', html)
    assert 'href="doc:lib/udp">udp</a>' in html


# -- Caveats, and the latest change --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "expected"),
    [({"virtualisation": "container in a virtual machine"}, "container in a virtual machine"), ({"virtualisation": "none"}, ""), ({}, "")],
)
def test_machine_is_called_virtual_only_if_its_description_states_this(stated: dict[str, str], expected: str) -> None:
    assert caveats(Host(name="x", source="y", system=stated)) == expected
    assert caveats(None) == ""


def test_machine_is_called_shared_if_steal_time_was_recorded() -> None:
    def run(**environment: str) -> RunRow:
        return RunRow(run="a", manifest=json.dumps({"system": "x", "logs": [], "environment": environment}))

    assert caveats(None, [run(steal_percent_before="0.00"), RunRow(run="b")]) == ""
    assert caveats(None, [run(steal_percent_before="inf", steal_percent_during="nan", steal_percent_after="much")]) == ""
    assert caveats(None, [run(steal_percent_during="0.4"), run(steal_percent_after="0.25")]) == (
        "shared: its host took up to 0.4\u00a0% of the processor time (in these runs)"
    )


def test_caveat_of_a_machine_follows_its_name() -> None:
    desk = Host(name="A desk", source="x", system={"virtualisation": "virtual machine"})

    html = shown(*(Measured(name).latency(*SIX) for name in "ab"), hosts={"desk": desk})

    assert re.search(r'<h2 class="tl-machine">A desk .*?<span class="tl-caveat">virtual machine</span></h2>', html)


def test_newest_change_equals_the_newest_entry_of_the_feed_of_changes() -> None:
    entry = FeedEntry("k", "X 0.3: p50 fell by 4 %", "2026-01-02T00:00:00+00:00", "history/latency-p50.html", "...")
    feeds = [Feed(RELEASES_FEED, "r", "releases.html", "", (entry,)), Feed(CHANGES_FEED, "c", "releases.html", "", ())]

    assert newest_change(feeds) is None
    assert newest_change([feeds[0], feeds[1]._replace(entries=(entry,))]) == {"title": "X 0.3: p50 fell by 4 %", "document": "history/latency-p50"}


# -- Published figures, and names ----------------------------------------------------------------------------------------------


def test_home_lists_machines_of_publications_without_figures_if_other_machines_were_measured() -> None:
    paper = Measured("SHMEM", system="Lib", host="lab", published=True)
    view = a_view(*(Measured(name).latency(*SIX) for name in "ab"), paper.latency(700.0), paper.latency(800.0, size=1024))

    html = str(machines_at_home(view, page_index([["Lib", "SHMEM", "lib/shmem"]]), Links("logs"), "x"))

    assert set(drawings(html)) == {"a", "b"}
    assert '<li><span class="stat-label">lab</span><span class="stat-label"> (Lib: <a href="doc:lib/shmem">SHMEM</a>)</span></li>' in html


def test_site_with_only_published_documents_draws_the_figures_of_these_documents() -> None:
    paper = Measured("SHMEM", system="Lib", host="lab", published=True)

    html = shown(paper.latency(700.0), paper.latency(800.0, size=1024))

    assert set(drawings(html)) == {"SHMEM"}
    assert '<li><span class="stat-label">lab' not in html


def test_name_is_shown_once_if_transport_and_system_have_the_same_name() -> None:
    assert with_system("iceoryx", "iceoryx") == "iceoryx"
    assert with_system("LCM", "lcm") == "LCM"
    assert with_system("iceoryx2", "iceoryx") == "iceoryx2, iceoryx"


def test_only_measured_transport_is_not_called_the_fastest() -> None:
    html = shown(Measured("shm").latency(*SIX), Measured("tcp", reach="network").latency(*SLOWER))
    table = html[html.index("tl-choices") :].partition("</table>")[0]
    found = words_of(table)

    assert "fastest" not in found
    assert found.count("the only one measured") == 2
    assert "median nothing to compare with" in found
    assert "<strong>shm" not in table


def test_cost_of_perftest_below_a_table_is_that_of_the_runs_of_the_table() -> None:
    of_table = (Measured(name, session="1").latency(*values) for name, values in (("a", SIX), ("b", SLOWER), ("null", [50.0] * 6)))
    html = shown(*of_table, Measured("null", campaign="other", session="2").latency(*[60.0] * 6))

    assert re.findall(r"perftest itself takes [^(]*", words_of(html)) == ["perftest itself takes 50 ns at 64 B "]


def test_runs_in_two_groups_are_shown_as_two_numbers_with_a_note() -> None:
    two_groups = (100.0, 101.0, 102.0, 900.0, 901.0, 902.0)
    html = shown(Measured("a").latency(*two_groups, size=1 << 16), Measured("b").latency(*(9000.0 + value for value in SIX), size=1 << 16))
    found = words_of(html[html.index("tl-choices") :])

    assert "101 ns or 901 ns" in found
    assert "Two numbers: the runs form two groups, and the worse one counts." in found
    assert "two groups of runs" not in found


def test_latest_comparison_is_of_the_newest_release_even_if_an_older_release_was_measured_later() -> None:
    def run(release: str, began: str) -> RunRow:
        return RunRow(run=f"{release} {began}", system="X", release=release, start_time=f"2026-01-{began}T00:00:00Z")

    assert latest([run("1", "01"), run("2", "02"), run("3", "03"), run("2", "04")]) == [("X", "2", "3")]
    assert latest([run("1", "01")]) == []


def test_latest_comparisons_include_all_systems_whose_newest_release_has_the_same_name() -> None:
    def run(system: str, release: str, day: int) -> RunRow:
        return RunRow(run=f"{system} {release}", system=system, release=release, start_time=f"2026-01-{day:02}T00:00:00Z")

    both = [run(system, release, day) for system in "AC" for day, release in enumerate(("1.0", "1.1"), start=1)]
    others = [run("B", "1.1", 1), run("B", "1.2", 2), run("D", "1.1", 1)]  # B has a newer release. D has only one release.

    assert latest([*both, run("Z", "1.0", 1), run("Z", "1.1", 3), *others]) == [("Z", "1.0", "1.1"), ("A", "1.0", "1.1"), ("C", "1.0", "1.1")]


def test_each_scrollable_table_has_a_unique_name_across_machines() -> None:
    html = shown(*(Measured(name, host=host).latency(*SIX) for name in "ab" for host in ("desk", "rack")))

    names = re.findall(r'role="region" aria-label="([^"]*)"', html)
    assert sorted(names) == sorted(set(names))
    assert {name.rpartition(", ")[2] for name in names} == {"desk", "rack"}


def test_each_machine_after_the_first_is_folded_below_name_and_caveat() -> None:
    hosts = {"m1": Host(name="First", source="x", system={"virtualisation": "virtual machine"})}
    html = shown(
        *(Measured(name, host=f"m{day}", began=f"2026-01-0{day}T00:00:00Z").latency(*SIX) for name in "ab" for day in (1, 2, 3)), hosts=hosts
    )

    folded = html[html.index("<details") :]
    assert re.search(
        r'<summary><span class="stat-label">First</span> <code>m1</code> <span class="tl-caveat">virtual machine</span></summary><section', folded
    )
    assert html.count('<details class="tl-release"><summary><span class="stat-label">') == 2
    assert html.index('id="x-0"') < html.index('<details class="tl-release">') < html.index('id="x-1"')


def test_figures_of_documents_without_a_machine_are_listed_last() -> None:
    paper = Measured("SHMEM", system="Lib", host="lab", published=True).latency(700.0)
    run = msgspec.structs.replace(paper[0].run, host=None)
    nowhere = [msgspec.structs.replace(one, run=run, conditions=msgspec.structs.replace(one.conditions, transport="UDP")) for one in paper]

    found = words_of(shown(*(Measured(name).latency(*SIX) for name in "ab"), paper, nowhere))

    assert "None" not in found
