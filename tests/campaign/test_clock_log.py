"""The largest difference between two clocks, from reports of clock programs. The reports are real: chronyd 4.3 with -x, ptp4l 3.1.1."""

from __future__ import annotations

import pytest

from tacholog.runs.clocks import NoWitness, clock_error_ns

REFERENCE = "7F7F0101,,8,1795393168.926226402,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal"
FOLLOWER = "0A630001,10.99.0.1,9,1795393171.186408233,0.000000758,-0.000000016,0.000000343,0.275,-0.001,0.421,0.000002490,0.000001135,0.1,Normal"
LATER = "0A630001,10.99.0.1,9,1795393179.014272690,0.000000971,-0.000000030,0.000000076,0.028,-0.001,0.055,0.000002178,0.000000725,0.3,Normal"
SERVED = FOLLOWER.replace("0A630001,10.99.0.1,9", "C0000201,192.0.2.1,3")
LOST = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised"
MASTER = (
    *("66628b.fffe.d2193f-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET", "stepsRemoved     0", "offsetFromMaster 0.0", "meanPathDelay    0.0"),
    *("grandmasterIdentity                   66628b.fffe.d2193f", "portState               MASTER", "timestamping            SOFTWARE"),
)
SLAVE = (
    *("c272ea.fffe.75442f-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET", "stepsRemoved     1", "offsetFromMaster -1208.0", "meanPathDelay    2160.0"),
    *("grandmasterIdentity                   66628b.fffe.d2193f", "portState               SLAVE", "timestamping            SOFTWARE"),
)


def log(*reports: str) -> str:
    return "\n".join(("clock reports log=clock/1", *reports, "end")) + "\n"


def chrony(first: str, second: str, later: str | None = None) -> str:
    reports = [f"a {when} address 10.99.0.1" for when in ("before", "after")]
    return log(*reports, f"a before chronyc {first}", f"b before chronyc {second}", f"a after chronyc {first}", f"b after chronyc {later or second}")


def ptp(first: tuple[str, ...], second: tuple[str, ...]) -> str:
    lines = [(host, line) for host, report in (("a", first), ("b", second)) for line in report]
    return log(*(f"{host} {when} pmc {line}" for when in ("before", "after") for host, line in lines))


def test_clock_error_is_the_largest_sum_of_the_errors_that_chrony_reports() -> None:
    # The sum before the run, 758 ns + 1135 ns + 2490 ns / 2, is larger than the sum after the run, 971 ns + 725 ns + 2178 ns / 2.
    assert clock_error_ns(chrony(REFERENCE, FOLLOWER, LATER)) == pytest.approx(3138)


def test_errors_of_two_clocks_with_different_time_servers_are_added() -> None:
    assert clock_error_ns(chrony(SERVED, SERVED)) == pytest.approx(2 * 3138)


def test_clock_error_of_ptp_is_offset_plus_path_delay() -> None:
    assert clock_error_ns(ptp(MASTER, SLAVE)) == pytest.approx(1208 + 2160)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "clock.log is cut short, or has another version"),
        (chrony(REFERENCE, FOLLOWER)[:-5], "clock.log is cut short, or has another version"),
        (log(f"a before chronyc {REFERENCE}"), "clock.log holds fewer than two hosts"),
        (chrony(REFERENCE, LOST), "the clock of b is not synchronised (before the run), says chrony: Not synchronised"),
        (chrony(REFERENCE, FOLLOWER, LOST), "the clock of b is not synchronised (after the run), says chrony: Not synchronised"),
        (chrony(REFERENCE, REFERENCE), "the clocks of a and b do not follow one reference (before the run)"),
        (chrony(REFERENCE, SERVED), "the clocks of a and b do not follow one reference (before the run)"),
        (chrony(REFERENCE, FOLLOWER.replace("0.000000758", "nan")), "chronyc's report on b cannot be read (before the run)"),
        (chrony(REFERENCE, FOLLOWER.rpartition(",")[0]), "chronyc's report on b cannot be read (before the run)"),
        (
            ptp(MASTER, tuple(line.replace("66628b", "77728b") for line in SLAVE)),
            "the clocks of a and b do not follow one reference (before the run)",
        ),
        (
            ptp(MASTER, tuple(line.replace("SLAVE", "UNCALIBRATED") for line in SLAVE)),
            "the clock of b is not synchronised (before the run), says ptp4l: UNCALIBRATED",
        ),
        (
            ptp(MASTER, tuple(line.replace("SOFTWARE", "HARDWARE") for line in SLAVE)),
            "ptp4l steers the network card of b, not its system clock; let chrony follow the card, and report",
        ),
        (
            log(*(f"a {when} chronyc {SERVED}" for when in ("before", "after")), "b before address 10.0.0.3"),
            "no clock service reports on b (before the run): neither chronyc nor pmc answers there",
        ),
    ],
)
def test_clock_reports_without_usable_data_are_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(NoWitness) as refused:
        clock_error_ns(text)

    assert str(refused.value) == reason
