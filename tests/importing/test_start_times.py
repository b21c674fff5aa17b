"""Start times in paths: formats of times in file names, and times without a zone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.importing.conftest import import_logs, log_of, manifests

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.grouping import FILE_TIME_NOTE
from tacholog.runs.importing.patterns import Disagreement, read_pattern
from tacholog.runs.moments import has_zone

MakeTree = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "form", "time"),
    [
        ("2026-01-31_12-00-00", "%Y-%m-%d_%H-%M-%S", "2026-01-31T12:00:00"),
        ("20260131T120000Z", "%Y%m%dT%H%M%S%z", "2026-01-31T12:00:00Z"),
        ("20260131T120000+0130", "%Y%m%dT%H%M%S%z", "2026-01-31T12:00:00+01:30"),
        ("28-11-2020_08-57-42", "%d-%m-%Y_%H-%M-%S", "2020-11-28T08:57:42"),  # The format of times in file names of performance_test.
        ("1769860800", "%s", "2026-01-31T12:00:00Z"),
        ("31.01.2026", "%d.%m.%Y", "2026-01-31"),
    ],
)
def test_start_time_in_a_file_name_is_read_in_the_format_that_the_pattern_states(
    tree: MakeTree, tmp_path: Path, name: str, form: str, time: str
) -> None:
    logs = tree({f"x-{name}-sub.log": log_of("sub")})

    import_logs(logs, "--to", tmp_path / "data", "--map", f"x-{{start_time:{form}}}-{{role}}.log")

    assert [run.start_time for run in manifests(tmp_path / "data").values()] == [time]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{start_time:%d}.log", "the form must contain %Y, %m and %d (or %s instead of these three), and no directive twice"),
        ("{start_time:%Y%m%d%Y}.log", "the form must contain %Y, %m and %d (or %s instead of these three), and no directive twice"),
        ("{start_time:%B %d}.log", "%B is not one of %Y, %m, %d, %H, %M, %S, %z, %s"),
        ("{start_time:%}.log", "% is not one of"),
        ("{release:%Y%m%d}.log", "only {start_time:...} takes a form"),
    ],
)
def test_pattern_is_refused_if_its_time_format_does_not_give_a_complete_time(pattern: str, message: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        read_pattern(pattern, "--map")
    assert message in str(error.value)


def test_two_start_times_in_one_path_must_be_the_same_even_if_their_formats_differ() -> None:
    pattern = read_pattern("{start_time:%Y-%m-%d}/x-{start_time:%Y%m%d}.log", "--map")

    assert pattern.match("2026-01-31/x-20260131.log") == {"start_time": "2026-01-31"}
    assert pattern.match("2026-01-31/x-20260201.log") == Disagreement("start_time", "2026-01-31", "2026-02-01")


def test_message_names_an_impossible_date_in_a_path_and_gives_advice(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({"31-13-2026/sub.log": log_of("sub")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{start_time:%d-%m-%Y}/{role}.log", status=2)

    assert "start_time = '31-13-2026' is not a time such as" in said
    assert "a pattern can state another form, as in {start_time:%d-%m-%Y_%H-%M-%S}" in said


def test_message_states_that_a_time_without_a_zone_is_treated_as_utc(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree(
        {"2026-01-31T12:00:00/sub.log": log_of("sub"), "2026-01-31T13:00:00Z/sub.log": log_of("sub", 1), "2026-02-01/sub.log": log_of("sub", 2)}
    )

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{start_time}/{role}.log")

    assert "1 run with a start time without a time zone, which is taken as UTC" in said


@pytest.mark.parametrize(
    ("time", "has_one"),
    [
        ("2026-01-31", True),
        ("2026-01-31T12:00", False),
        ("2026-01-31 12:00:00.5", False),
        ("2026-01-31T12:00:00-05:00", True),
        ("2026-01-31T12:00Z", True),
    ],
)
def test_time_of_day_without_a_time_zone_is_recognised(time: str, has_one: bool) -> None:
    assert has_zone(time) is has_one


@pytest.mark.parametrize("kind", ["mark", "utf-16", "utf-16-le"])
def test_rules_file_with_a_byte_order_mark_is_read_and_a_utf_16_file_is_refused(tree: MakeTree, tmp_path: Path, kind: str) -> None:
    logs = tree({"1/sub.log": log_of("sub")})
    text = '[[rule]]\npath = "{repetition}/{role}.log"\n'
    (tmp_path / "rules.toml").write_bytes(f"\ufeff{text}".encode() if kind == "mark" else text.encode(kind))

    said = import_logs(logs, "--to", tmp_path / "data", "--rules", tmp_path / "rules.toml", status=0 if kind == "mark" else 2)

    assert ("1 run imported" if kind == "mark" else "rules.toml: the text is UTF-16; convert it to UTF-8 first (iconv -f UTF-16") in said


def test_start_times_from_modification_times_of_logs_have_a_note(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"{side}/{run}.log": log_of(side, run) for run in (1, 2) for side in ("pub", "sub")} | {"2026-02-01.log": log_of("sub", 9)})
    for name, seconds in (("pub/1", 50), ("sub/1", 40), ("pub/2", 10), ("sub/2", 20), ("2026-02-01", 90)):
        os.utime(logs / f"{name}.log", (1769860800 + seconds, 1769860800 + seconds))

    words = (logs, "--to", tmp_path / "data", "--map", "{role}/{repetition}.log", "--map", "{start_time}.log")
    import_logs(*words, "--set", "label.kind=a", "--times-from-files")

    times = {run.start_time: run.notes for run in manifests(tmp_path / "data").values()}
    assert times == {"2026-01-31T12:00:40Z": (FILE_TIME_NOTE,), "2026-01-31T12:00:10Z": (FILE_TIME_NOTE,), "2026-02-01": ()}


def test_runs_are_numbered_by_the_modification_times_of_their_logs(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"{name}/sub.log": log_of("sub", run) for run, name in enumerate("abc")})
    for seconds, name in enumerate("bca"):
        os.utime(logs / name / "sub.log", (1769860800 + seconds, 1769860800 + seconds))

    import_logs(logs, "--to", tmp_path / "data", "--map", "{*}/{role}.log", "--times-from-files")

    runs = [(run.repetition, run.logs[0].path) for run in manifests(tmp_path / "data").values()]
    assert runs == [(1, "b/sub.log"), (2, "c/sub.log"), (3, "a/sub.log")]


def test_modification_times_are_refused_if_most_files_have_the_same_time(tree: MakeTree, tmp_path: Path) -> None:
    logs = tree({f"{run}/{side}.log": log_of(side, run) for run in range(6) for side in ("pub", "sub")})
    for file in logs.rglob("*.log"):
        seconds = 1769860800 + (file.parent.name == "5")
        os.utime(file, (seconds, seconds))

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{repetition}/{role}.log", "--times-from-files", status=2)

    assert "the files of 6 runs have only 2 different dates. They were probably copied or unpacked" in said
    assert not (tmp_path / "data").exists()


def test_repetitions_with_the_same_number_but_different_start_times_are_separate_runs(tree: MakeTree, tmp_path: Path) -> None:
    days = ("27-07-2021", "02-08-2021")
    logs = tree({f"{day}/{side}_{n}.log": log_of(side, 10 * d + n) for d, day in enumerate(days) for n in (0, 1) for side in ("pub", "sub")})

    said = import_logs(logs, "--to", tmp_path / "data", "--map", "{start_time:%d-%m-%Y}/{role}_{repetition}.log")

    assert "the paths state the same repetitions at several start times: all runs were numbered in the order of both" in said
    runs = [(run.repetition, run.start_time, [log.path for log in run.logs]) for run in manifests(tmp_path / "data").values()]
    assert runs == [
        (1, "2021-07-27", ["27-07-2021/pub_0.log", "27-07-2021/sub_0.log"]),
        (2, "2021-07-27", ["27-07-2021/pub_1.log", "27-07-2021/sub_1.log"]),
        (3, "2021-08-02", ["02-08-2021/pub_0.log", "02-08-2021/sub_0.log"]),
        (4, "2021-08-02", ["02-08-2021/pub_1.log", "02-08-2021/sub_1.log"]),
    ]


def test_publisher_and_subscriber_of_one_repetition_can_start_at_different_times(tree: MakeTree, tmp_path: Path) -> None:
    starts = {"pub_0": "1606550262", "sub_0": "1606550261", "pub_1": "1606550272", "sub_1": "1606550271"}
    logs = tree({f"{start}-{name}.log": log_of(name[:3], int(name[-1])) for name, start in starts.items()})

    import_logs(logs, "--to", tmp_path / "data", "--map", "{start_time:%s}-{role}_{repetition}.log")

    runs = [(run.repetition, [log.path for log in run.logs]) for run in manifests(tmp_path / "data").values()]
    assert runs == [(n, [f"{starts[f'{side}_{n}']}-{side}_{n}.log" for side in ("pub", "sub")]) for n in (0, 1)]
