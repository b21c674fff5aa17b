"""Known regressions: a worse row in ``known.toml`` does not fail a comparison, unless its change grows or its entry expires.

The real runs are pairs of perftest 0.3.0 and 0.4.0. Version 0.4.0 is faster, so the tests use it as the old side: seven rows are worse.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

from tacholog.commands.diff import diff, rendered
from tacholog.compare.acknowledged import acknowledge, read_known
from tacholog.compare.diff.compare import exit_code
from tacholog.compare.result import Comparison
from tacholog.errors import UnreadableInput
from tacholog.render.diff.text import workflow_commands

Compared = Callable[..., Comparison]
TODAY = date(2026, 11, 28)
REASON = 'reason = "locks are robust now"\nissue = "https://example.org/issues/12"\n'
P50 = f'[[known]]\nmetric = "latency"\nstatistic = "p50"\n{REASON}'
FOREVER = "until = 9999-12-31\n"
WORSE_ROWS = {("udp", 64, "p50"), ("udp", 64, "p99"), ("udp", 1024, "p50"), ("udp", 1024, "p99")} | {
    ("uds", 65536, "p50"),
    ("uds", 65536, "p99"),
    ("shm", 1024, "p99"),
}


@pytest.fixture
def real(checkout: Path, tmp_path: Path) -> Callable[..., Result]:
    def run(entries: str, *options: str) -> Result:
        (tmp_path / "known.toml").write_text(entries, encoding="utf-8")
        sides = (f"{checkout}/data/perftest/0.3.0-to-0.4.0/{side}" for side in ("new", "old"))
        return CliRunner().invoke(diff, [*sides, "--known", str(tmp_path / "known.toml"), "--fail-on", "worse", *options], catch_exceptions=False)

    return run


@pytest.fixture
def judged(compared: Compared, tmp_path: Path) -> Callable[..., Comparison]:
    """Return a function that compares latencies of messages of 16 B and 32 B, and applies the entries of a ``known.toml`` to the comparison.

    Each factor multiplies the new latencies of one size.
    """

    def run(entries: str, *factors: float, today: date = TODAY, release: str | None = None) -> Comparison:
        (tmp_path / "known.toml").write_text(entries, encoding="utf-8")
        old = np.full((2, 12), 10_000.0)
        report = compared(old, old * np.array([[factor] for factor in factors]) + 10.0 * np.arange(-5, 7))
        if release:
            report = msgspec.structs.replace(report, new=msgspec.structs.replace(report.new, releases=(release,)))
        return acknowledge(report, read_known(tmp_path / "known.toml"), today)

    return run


def states(report: Comparison) -> list[tuple[str, int | None]]:
    return [(entry.state, entry.rows) for entry in report.acknowledgements]


def test_real_comparison_passes_if_each_worse_row_is_acknowledged(real: Callable[..., Result]) -> None:
    entries = "".join(
        f'[[known]]\nmetric = "latency"\nstatistic = "{statistic}"\ntransport = "{transport}"\npayload_bytes = {size}\n{REASON}{FOREVER}'
        for transport, size, statistic in sorted(WORSE_ROWS)
    )

    result = real(entries, "--format", "json")

    report = json.loads(result.stdout)
    worse = [row for row in report["rows"] if row["verdict"] == "worse"]
    assert {(row["key"]["transport"], row["key"]["payload_bytes"], row["key"]["statistic"]) for row in worse} == WORSE_ROWS
    assert result.exit_code == 0
    assert {row["acknowledgement"]["state"] for row in worse} == {"acknowledged"}
    assert [(entry["state"], entry["rows"]) for entry in report["acknowledgements"]] == [("acknowledged", 1)] * 7


def test_real_comparison_fails_if_a_worse_row_is_not_acknowledged(real: Callable[..., Result]) -> None:
    entries = f'[[known]]\nmetric = "latency"\ntransport = "udp"\n{REASON}{FOREVER}'

    result = real(entries, "--only", "worse")

    assert result.exit_code == 3
    assert "7 worse (4 known)," in result.stdout
    lines = [line.strip() for line in result.stdout.splitlines() if line.startswith("  latency")]
    assert ["known until 9999-12-31: locks are robust now (https://example.org/issues/12)" in line for line in lines] == [False] * 3 + [True] * 4
    assert [line.split()[2] for line in lines] == ["uds,", "uds,", "shm,", "udp,", "udp,", "udp,", "udp,"]


def test_known_row_counts_again_if_the_change_exceeds_at_most_percent(real: Callable[..., Result]) -> None:
    # The median latency over uds at 64 KiB grows from 17711 to 20255 ns. The pairs give the ratio x1.142: the change is above 14 % and below 15 %.
    entries = f'[[known]]\nmetric = "latency"\ntransport = "uds"\nstatistic = "p50"\nsize = "64 KiB"\nat_most_percent = %s\n{REASON}{FOREVER}'

    below, above = (json.loads(real(entries % percent, "--format", "json").stdout)["acknowledgements"][0]["state"] for percent in (14, 15))

    assert (below, above) == ("grown", "acknowledged")


def test_acknowledged_row_is_shown_with_reason_and_issue_in_each_format(judged: Callable[..., Comparison]) -> None:
    report = judged(P50 + FOREVER, 1.1, 1.0)

    words = "known until 9999-12-31: locks are robust now"
    for output in ("text", "markdown", "html", "comment", "github"):
        content = rendered(output, report)
        assert words in content
        assert "example.org/issues/12" in content
        assert "1 known" in content
    assert exit_code(report, ("worse",)) == 0
    assert workflow_commands(report) == ""


def test_entry_is_valid_on_its_last_day_and_expired_on_the_next_day(judged: Callable[..., Comparison]) -> None:
    entries = P50 + "until = 2026-11-28\n"

    last, after = judged(entries, 1.1, 1.0), judged(entries, 1.1, 1.0, today=date(2026, 11, 29))

    assert (exit_code(last, ("worse",)), exit_code(after, ("worse",))) == (0, 3)
    assert states(after) == [("expired", 1)]
    for output in ("text", "markdown", "html", "comment"):
        assert "the entry was valid until 2026-11-28, so its row, which is worse, counts again" in rendered(output, after)
        assert "known, but only until 2026-11-28: locks are robust now" in rendered(output, after)


@pytest.mark.parametrize(
    ("release", "state"),
    [("1.3.9", "acknowledged"), ("1.4", "expired"), ("v1.4.0", "expired"), ("1.10", "expired"), ("nightly", "acknowledged"), (None, "acknowledged")],
)
def test_entry_expires_with_a_release(judged: Callable[..., Comparison], release: str | None, state: str) -> None:
    report = judged(f'{P50}until_release = "1.4"\n', 1.1, 1.0, release=release)

    assert states(report) == [(state, 1)]


def test_entry_acknowledges_only_rows_whose_change_is_below_the_acknowledged_size(judged: Callable[..., Comparison]) -> None:
    report = judged(f"{P50}{FOREVER}at_most_percent = 15\n", 1.1, 1.3)

    assert [(row.key.payload_bytes, row.is_acknowledged) for row in report.rows] == [(32, False), (16, True)]
    assert states(report) == [("grown", 2)]
    assert exit_code(report, ("worse",)) == 3
    text = rendered("text", report)
    assert "known.toml:1: of its 2 worse rows, those that grew beyond the acknowledged size count again (locks are robust now;" in text
    assert "known, but it grew beyond 15 %: locks are robust now" in text


def test_valid_entry_counts_even_if_an_expired_entry_names_the_same_row(judged: Callable[..., Comparison]) -> None:
    report = judged(f"{P50}{FOREVER}{P50}until = 2000-01-01\n", 1.1, 1.0)

    assert states(report) == [("acknowledged", 1), ("expired", 1)]
    assert exit_code(report, ("worse",)) == 0


@pytest.mark.parametrize(
    ("property_", "state", "sentence"),
    [
        ("", ("not_needed", 2), "the entry is no longer needed, because none of its 2 rows is worse"),
        ('size = "32 B"\n', ("not_needed", 1), "the entry is no longer needed, because its row is not worse"),
        ('transport = "udp"\n', ("no_row", 0), "the entry names no row of this comparison"),
    ],
)
def test_entry_without_a_worse_row_is_reported(judged: Callable[..., Comparison], property_: str, state: tuple[str, int], sentence: str) -> None:
    report = judged(P50 + property_ + FOREVER, 0.9, 1.0)

    assert states(report) == [state]
    assert f"known.toml:1: {sentence} (locks are robust now; https://example.org/issues/12)." in rendered("text", report)
    for output in ("markdown", "html", "comment"):
        assert sentence in rendered(output, report)


def test_entry_whose_rows_have_no_verdict_is_not_called_obsolete(real: Callable[..., Result]) -> None:
    result = real(f'[[known]]\nmetric = "latency"\ntransport = "shm"\nstatistic = "p50"\nsize = "1 KiB"\n{REASON}{FOREVER}')

    assert "known.toml:1: the row of the entry has no verdict (locks are robust now;" in result.stdout


def test_limit_of_a_known_loss_is_in_percentage_points(compared: Compared, tmp_path: Path) -> None:
    steady = 0.02 + 0.0005 * np.sin(np.arange(12))
    report = compared(np.zeros((1, 12)), steady, metric="loss", statistic="total", test="throughput")  # 2 points more loss
    entry = f'[[known]]\nmetric = "loss"\n{REASON}{FOREVER}at_most_points = '

    def code(points: float) -> int:
        (tmp_path / "known.toml").write_text(f"{entry}{points}\n")
        return exit_code(acknowledge(report, read_known(tmp_path / "known.toml"), TODAY), ("worse",))

    assert (code(3), code(1)) == (0, 3)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (P50, "known.toml:1: an entry states one of until (the last day, such as 2027-03-31) and until_release (such as '1.4')"),
        (f'{P50}{FOREVER}until_release = "1.4"\n', "known.toml:1: an entry states one of until"),
        (f'{P50}until_release = "nightly"\n', "known.toml:1: until_release: 'nightly' has no order"),
        (f'{P50}until = "soon"\n', "known.toml:1: Expected a date without quotes, such as 2027-03-31, got text"),
        (f"{P50}{FOREVER}{P50}{FOREVER}whither = 1\n", "known.toml:7: Object contains unknown field `whither`"),
        (f"{P50}{FOREVER}at_most_points = 1\n", "known.toml:1: at_most_points: state at_most_percent for the metric latency"),
        (f"{P50}{FOREVER}at_most_percent = -1\n", "known.toml:1: Expected a number > 0.0 - at `$.at_most_percent`"),
        (f'{P50}{FOREVER}size = "1 elephant"\n', "known.toml:1: size: '1 elephant' is not a size"),
        (P50.replace("latency", "samples") + FOREVER, "known.toml:1: metric: 'samples' cannot become worse"),
        (P50.replace("locks are robust now", " ") + FOREVER, "known.toml:1: "),
        (P50.replace(REASON, "") + FOREVER, "known.toml:1: Object missing required field `reason`"),
        ("[known]\n", "known.toml:1: known: write [[known]] in double brackets"),
        ("[[row]]\n", "known.toml:1: unknown key 'row'; there is [[known]]"),
        ("\x00", "known.toml: "),
    ],
)
def test_error_in_the_file_of_known_regressions_is_reported_with_its_line(tmp_path: Path, entries: str, message: str) -> None:
    (tmp_path / "known.toml").write_text(entries, encoding="utf-8")

    with pytest.raises(UnreadableInput) as error:
        read_known(tmp_path / "known.toml")

    assert str(error.value).startswith(f"{tmp_path}/{message}")


def test_hostile_text_of_an_entry_is_not_markup(judged: Callable[..., Comparison]) -> None:
    report = judged(P50.replace("locks are robust now", "<script>alert(1)</script> @everyone \\u001b[31m") + FOREVER, 1.1, 1.0)

    for output in ("html", "markdown", "comment"):
        assert "<script>alert" not in rendered(output, report)
    assert "\x1b" not in rendered("text", report)


def test_example_of_the_documentation_is_read(checkout: Path, tmp_path: Path) -> None:
    section = (checkout / "docs/significance.md").read_text(encoding="utf-8").partition("## Known regressions")[2]
    (tmp_path / "known.toml").write_text(section.split("```toml\n")[1].partition("```")[0], encoding="utf-8")

    entries = [entry for _, entry in read_known(tmp_path / "known.toml")]

    assert [(entry.metric, entry.transport, entry.until, entry.until_release, entry.at_most_percent, entry.at_most_points) for entry in entries] == [
        ("latency", "udp", date(2027, 3, 31), None, 12, None),
        ("loss", "shm", None, "1.4", None, 0.5),
    ]


def test_default_file_of_known_regressions_is_in_the_current_folder(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "known.toml").write_text(f'[[known]]\nmetric = "latency"\n{REASON}{FOREVER}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sides = [f"{checkout}/data/perftest/0.3.0-to-0.4.0/{side}" for side in ("new", "old")]

    result = CliRunner().invoke(diff, [*sides, "--fail-on", "worse"], catch_exceptions=False)

    assert (result.exit_code, "7 worse (7 known)," in result.stdout) == (0, True)
