"""The search for the highest rate that a tool sustains.

Some tests choose the result of each trial. Other tests run ``tacholog sustain`` with a program that replaces the tool.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.campaign.sustain import SearchPlan, SearchResult, SustainSearch, TrialOrder, TrialTimes, classify
from tacholog.formats.reading import Log, read

CAPACITY = 20_000
# A program with the output of `sockperf under-load`. At rates above its capacity, a queue grows during the trial.
PROGRAM = """
import sys
rate, seconds, capacity = float(sys.argv[1]), float(sys.argv[2]), 20000
late_us = max(0.0, rate / capacity - 1) * seconds * 1e6
sent = round(rate * seconds)
print(f'''sockperf: == version #3.10-no.git ==
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT = 11111 # UDP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime={seconds:.3f} sec; Warm up time=400 msec; SentMessages={sent}; ReceivedMessages={sent}
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime={seconds:.3f} sec; SentMessages={sent}; ReceivedMessages={sent}
sockperf: ====> avg-latency={10 + late_us / 2:.3f} (std-dev=7.577)
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is {10 + late_us / 2:.3f} usec
sockperf: Total {sent} observations; each percentile contains {sent / 100:.2f} observations
sockperf: ---> <MAX> observation = {10 + late_us:.3f}
sockperf: ---> percentile 99.999 = {10 + 0.99999 * late_us:.3f}
sockperf: ---> percentile 99.990 = {10 + 0.9999 * late_us:.3f}
sockperf: ---> percentile 99.900 = {10 + 0.999 * late_us:.3f}
sockperf: ---> percentile 99.000 = {10 + 0.99 * late_us:.3f}
sockperf: ---> percentile 90.000 = {10 + 0.9 * late_us:.3f}
sockperf: ---> percentile 75.000 = {10 + 0.75 * late_us:.3f}
sockperf: ---> percentile 50.000 = {10 + 0.5 * late_us:.3f}
sockperf: ---> percentile 25.000 = {10 + 0.25 * late_us:.3f}
sockperf: ---> <MIN> observation =    3.808''')
"""


def search(plan: SearchPlan, passes: Callable[[TrialOrder, int], bool]) -> tuple[SearchResult, list[str]]:
    """Return the result of a search and its trials.

    ``passes`` returns whether a trial passes. In the list of trials, ``1000s`` is a short trial at 1000 messages per second, and ``1000F`` one of
    full length.
    """
    found, trials = SustainSearch(plan), list[str]()
    while order := found.next():
        found.add(order, passed=passes(order, len(trials)))
        trials.append(f"{order.rate_per_s:g}{'F' if order.is_full_length else 's'}")
        assert len(trials) < 1000
    return found.result(), trials


def test_search_requests_the_same_trials_as_perftest() -> None:
    _, trials = search(SearchPlan(), lambda order, _: order.rate_per_s <= 50_000)

    # The test of perftest, bench/tests/sustain_test.cpp, has the same list of trials.
    assert " ".join(trials) == ("1000s 4000s 16000s 64000s 32000s 45255s 53817s 49351s 51536s 50432s 49889s 50160s 49889F 49889F 50160F 50160F")


@pytest.mark.parametrize("capacity", [1001, 4_321, 50_000, 777_777, 9_500_000])
def test_known_capacity_is_found_with_an_error_of_about_one_percent(capacity: int) -> None:
    found, _ = search(SearchPlan(), lambda order, _: order.rate_per_s <= capacity)

    assert found.outcome == "found"
    assert found.rate_per_s is not None
    assert found.upper_per_s is not None
    assert 0.9899 * capacity <= found.rate_per_s <= capacity < found.upper_per_s


def test_trial_that_misses_the_goal_by_chance_does_not_change_the_result() -> None:
    found, _ = search(SearchPlan(), lambda order, at: order.rate_per_s <= 50_000 and at % 7 != 4)

    assert found.rate_per_s == pytest.approx(50_000, rel=0.02)


def test_search_always_ends_even_if_the_results_of_trials_are_random() -> None:
    chance = random.Random(1)  # noqa: S311 - outcomes, not secrets
    for _ in range(300):
        found, _ = search(SearchPlan(), lambda _order, _at: chance.random() < 0.7)
        assert found.outcome in ("found", "above_range", "below_range")


def test_rates_are_classified_as_in_rfc_9971() -> None:
    assert classify(TrialTimes(60, 0, 0, 0), 120, 0.5) == "lower"
    assert classify(TrialTimes(0, 60, 0, 0), 120, 0.5) == "undecided"
    assert classify(TrialTimes(0, 120, 0, 0), 120, 0.5) == "upper"
    assert classify(TrialTimes(0, 0, 500, 0), 120, 0.5) == "undecided"
    assert classify(TrialTimes(0, 0, 0, 61), 120, 0.5) == "upper"
    assert classify(TrialTimes(0, 0, 61, 61), 120, 0.5) == "undecided"
    assert classify(TrialTimes(60, 0, 0, 0), 60, 0) == "lower"
    assert classify(TrialTimes(0, 0, 0, 1), 60, 0) == "upper"


def sustain(folder: Path, *arguments: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program, encoding="utf-8")
    options = ("--rate-range", "5000,80000", "--duration", "1", "--trial-duration", "0.5")
    return run_tacholog_text("sustain", *options, *arguments, "--", sys.executable, "program.py", "%rate%", "%seconds%", cwd=folder)


def log_of(folder: Path, done: subprocess.CompletedProcess[str]) -> Log:
    (folder / "search.log").write_text(done.stdout, encoding="utf-8")
    return read(folder / "search.log")


def test_capacity_of_a_program_is_found_within_two_percent_and_its_log_is_read(tmp_path: Path) -> None:
    done = sustain(tmp_path, "--latency-goal", "p99=5ms", "--keep", "trials")

    assert (done.returncode, done.stderr) == (0, "")
    log = log_of(tmp_path, done)
    (found,) = [record for record in log.records if record.scope == "summary"]
    rate = found.number("sustained_rate", "lower-bound")
    assert rate is not None
    assert rate.value == pytest.approx(CAPACITY, rel=0.02)
    assert found.conditions.goal == "p99 at most 5 ms, no loss, exceed ratio 0.5, by sockperf-latency"
    trials = [record for record in log.records if record.scope == "interval"]
    assert len(trials) == len(list((tmp_path / "trials").iterdir())) > 8
    assert log.broken == []


def test_program_that_does_not_send_the_rate_misses_the_goal(tmp_path: Path) -> None:
    slow = PROGRAM.replace("sent = round(rate * seconds)", "late_us = 0; sent = round(min(rate, capacity) * seconds)")
    done = sustain(tmp_path, "--latency-goal", "p99=5ms", program=slow)

    (found,) = [record for record in log_of(tmp_path, done).records if record.scope == "summary"]
    rate = found.number("sustained_rate", "lower-bound")
    assert rate is not None
    assert rate.value == pytest.approx(CAPACITY, rel=0.02)


def test_failed_program_ends_the_search_and_its_log_states_why(tmp_path: Path) -> None:
    done = sustain(tmp_path, "--latency-goal", "p99=5ms", program="raise SystemExit('no server')")

    assert done.returncode == 1
    assert "exit status 1: no server" in done.stderr
    assert done.stdout.splitlines()[-1] == "end status=failed errors=1"
    assert "no server" in (log_of(tmp_path, done).facts.reason or "")


HELP = """
print("sockperf: '-t' Invalid duration: 0.5")
print("under-load (ul): Run sockperf client for latency under load test.")
for line in range(90):
    print(" -h,-?   --help,--usage         -Show the help message and exit.")
print("For additional information visit our website")
"""


def test_search_prints_the_output_of_a_tool_that_measured_nothing_and_ended_without_an_error(tmp_path: Path) -> None:
    done = sustain(tmp_path, "--latency-goal", "p99=5ms", program=HELP)

    assert done.returncode == 1
    assert "at 5000 messages per second: its output is not a readable log (no format fits: " in done.stderr
    assert "It printed: sockperf: '-t' Invalid duration: 0.5 | under-load (ul): Run sockperf client" in done.stderr
    assert "Invalid duration" in (log_of(tmp_path, done).facts.reason or "")
    assert len(done.stderr) < 1000


def test_search_prints_the_last_lines_of_a_log_without_a_result(tmp_path: Path) -> None:
    silent = f"{PROGRAM.partition('sockperf: [Total Run]')[0]}sockperf: No messages were received from the server. Is the server down?''')"

    done = sustain(tmp_path, "--latency-goal", "p99=5ms", program=silent)

    assert done.returncode == 1
    assert done.stderr.endswith("sockperf: Test ended | sockperf: No messages were received from the server. Is the server down?\n")


def test_trial_fails_if_its_log_lacks_the_statistic_of_the_goal(tmp_path: Path) -> None:
    done = sustain(tmp_path, "--latency-goal", "p99.5=5ms")

    assert done.returncode == 1
    assert "states no latency p99.5" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--latency-goal", "p99"), "use STATISTIC=TIME"),
        (("--rate-range", "9,1"), "use LOWEST,HIGHEST"),
        (("--trial-duration", "9"), "must not be longer than --duration"),
    ],
)
def test_invalid_options_of_a_search_are_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = sustain(tmp_path, *arguments)

    assert done.returncode == 2
    assert said in done.stderr
