"""An error in the format of a stranger affects only the log that the format reads, and the message names the package of the format."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.command import run_tacholog_text

GOOD = "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)\n"
PACKAGE = "somebodys 1.5"
MODULE = '''
"""Somebody's format. Source: made up."""
import sys
from tacholog.formats.kit import Broken, Conditions, Detected, Dialect, Facts, Finding, Histogram, Line, Number, Record

SYSTEM, TOOL, DIALECTS = "Somebody's", "sometool", (Dialect("1", "1", "none"),)
DEFINITIONS = {"some": "Something."}


def detect(head):
    return Detected(head.startswith("hostile "), "a first line 'hostile'")


def record(*numbers, **what):
    what = {"test": "latency", "payload_bytes": 64, "conditions": Conditions(basis="rtt", definition="some"), **what}
    return Record(numbers=numbers, **what)


def number(**what):
    return Number(**{"metric": "latency", "statistic": "mean", "value": 1000.0, **what})


def deep():
    return deep()


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError


def failing(error):
    raise error


WAYS = {
    "an unforeseen statistic": lambda line: Finding(line, record(number(statistic="peak"))),
    "a percentile beyond 100": lambda line: Finding(line, record(number(statistic="p101"))),
    "an unforeseen metric": lambda line: Finding(line, record(number(metric="happiness"))),
    "an unforeseen bound": lambda line: Finding(line, record(number(bound="?"))),
    "a value that is a text": lambda line: Finding(line, record(number(value="1"))),
    "a size that is a text": lambda line: Finding(line, record(number(), payload_bytes="64")),
    "a size below zero": lambda line: Finding(line, record(number(), payload_bytes=-64)),
    "a size beyond 64 bits": lambda line: Finding(line, record(number(), payload_bytes=2**70)),
    "samples below zero": lambda line: Finding(line, record(number(), samples=-1)),
    "an unforeseen test": lambda line: Finding(line, record(number(), test="taste")),
    "an unforeseen mark": lambda line: Finding(line, record(number(marks=("nice",)))),
    "marks that are a text": lambda line: Finding(line, record(number(marks="derived"))),
    "a resolution of nothing": lambda line: Finding(line, record(number(resolution=0.0))),
    "half of a character": lambda line: Finding(line, record(number(), participant="\\ud800")),
    "numbers in a list": lambda line: Finding(line, msgspec_replace(record(number()), numbers=[number()])),
    "no numbers but texts": lambda line: Finding(line, record("latency")),
    "conditions of texts": lambda line: Finding(line, record(number(), conditions={"basis": "rtt"})),
    "conditions of wrong types": lambda line: Finding(line, record(number(), conditions=Conditions(transport=5))),
    "conditions that are no number": lambda line: Finding(line, Facts(conditions=Conditions(offered_rate_per_s=float("nan")))),
    "facts of wrong types": lambda line: Finding(line, Facts(environment={"a": 1})),
    "a histogram of texts": lambda line: Finding(line, Histogram(payload_bytes=64, basis="rtt", bins=(("1", 2, 3),))),
    "a line that is not there": lambda line: Finding(Line(10**6, "?"), record(number())),
    "a line before the first": lambda line: Finding(Line(0, "?"), record(number())),
    "a number for a line": lambda line: Finding(2, record(number())),
    "other lines that are not there": lambda line: Finding(line, record(number()), (Line(77, "?"),)),
    "no finding": lambda line: None,
    "a text": lambda line: "found",
    "something else that was found": lambda line: Finding(line, {"latency": 1}),
    "an error": lambda line: failing(ValueError("nothing\\x1b[31m but trouble")),
    "an error that cannot be said": lambda line: failing(Unspeakable()),
    "an endless recursion": lambda line: deep(),
    "no memory": lambda line: failing(MemoryError()),
    "an exit": lambda line: sys.exit(0),
    "an end of a generator": lambda line: failing(GeneratorExit()),
    "an interrupted task": lambda line: failing(BaseException("cancelled")),
}
VALUES = {"nan": float("nan"), "inf": float("inf"), "below zero": -5.0, "huge": 1e300}


def msgspec_replace(struct, **fields):
    import msgspec
    return msgspec.structs.replace(struct, **fields)


def parse(lines):
    for line in lines:
        if line.number == 1:
            way = line.text.removeprefix("hostile ")
            yield Finding(line, None)
        elif way in VALUES:
            yield Finding(line, record(number(value=VALUES[way])))
        elif way == "nothing":
            return
        else:
            yield WAYS[way](line)
'''
WAYS_NAMED = [line.split('"')[1] for line in MODULE.splitlines() if line.startswith('    "') and ": lambda line:" in line]
VALUES_NAMED = ["nan", "inf", "below zero", "huge"]


class Place(NamedTuple):
    """The folder of the package, and the folder with the runs: one run for each log of the package, and a good run."""

    package: Path
    runs: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A package as pip installs it, a run for each kind of error, and a run of one of our formats."""
    package, runs = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("runs")
    (package / "somebodys.py").write_text(MODULE, encoding="utf-8")
    info = package / "somebodys-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text("[tacholog.formats]\nsometool = somebodys\n")
    for way in (*WAYS_NAMED, *VALUES_NAMED, "nothing"):
        write_run(runs / way.replace(" ", "-"), f"hostile {way}\nsecond line\nthird line\n", "Somebody's")
    write_run(runs / "good", GOOD, "RTI Connext DDS")
    return Place(package, runs)


def write_run(folder: Path, log: str, system: str) -> None:
    folder.mkdir()
    (folder / "some.log").write_text(log)
    digest = hashlib.sha256(log.encode()).hexdigest()
    run = f'system = "{system}"\ntool = "tool"\n[[logs]]\nfile = "some.log"\nsha256 = "{digest}"\n'
    (folder / "run.toml").write_text(run)


def tacholog(place: Place, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(path for path in (str(place.package), os.environ.get("PYTHONPATH", "")) if path)
    done = run_tacholog_text(*arguments, environment={"PYTHONPATH": paths})
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert "\x1b" not in done.stdout + done.stderr
    return done


def complaint(said: str, way: str) -> str:
    return "\n".join(line for line in said.splitlines() if f"{way.replace(' ', '-')}/some.log" in line or f"{way.replace(' ', '-')}:" in line)


def test_parse_names_the_package_for_each_bad_log_and_reads_the_other_logs(place: Place) -> None:
    done = tacholog(place, "parse", place.runs)

    assert done.returncode == 2
    assert [way for way in WAYS_NAMED if f"the format sometool of {PACKAGE}" not in complaint(done.stderr, way)] == []
    assert "664.2" in done.stdout


@pytest.mark.parametrize("way", VALUES_NAMED)
def test_impossible_value_affects_only_its_line_and_names_the_package(place: Place, way: str) -> None:
    done = tacholog(place, "parse", "--strict", place.runs / way.replace(" ", "-") / "some.log")

    assert done.returncode == 1
    assert f"some.log:2: broken: the format sometool of {PACKAGE} says that latency mean is " in done.stderr


def test_lines_that_a_format_does_not_read_are_counted_as_unknown(place: Place) -> None:
    done = tacholog(place, "parse", "--summary", "--strict", place.runs / "nothing/some.log")

    assert done.returncode == 1
    assert "0 broken and 2 unknown of 3 lines" in done.stdout


def test_check_names_each_bad_log_and_its_package(place: Place) -> None:
    done = tacholog(place, "check", place.runs)

    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert said.count(f"the format sometool of {PACKAGE}") >= len(WAYS_NAMED)


def test_export_writes_the_good_numbers(place: Place, tmp_path: Path) -> None:
    done = tacholog(place, "export", "--data", place.runs, "--format", "csv", "--output", tmp_path / "numbers.csv")

    assert done.returncode == 2
    assert "77849677" in (tmp_path / "numbers.csv").read_text()
    assert f"the format sometool of {PACKAGE}" in done.stderr


def test_diff_command_prints_the_name_of_the_package_with_the_faulty_format(place: Place) -> None:
    done = tacholog(place, "diff", place.runs / "good/some.log", place.runs / "an-unforeseen-statistic/some.log")

    assert done.returncode in (2, 4)
    assert f"the format sometool of {PACKAGE}" in done.stdout + done.stderr


@pytest.mark.site
def test_report_builds_a_site_of_the_good_runs(place: Place, tmp_path: Path) -> None:
    done = tacholog(place, "report", "--data", place.runs, "--output", tmp_path / "site")

    assert done.returncode == 2
    assert (tmp_path / "site/index.html").is_file()
    assert f"the format sometool of {PACKAGE}" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import sys; sys.exit(0)", "sometool: of somebodys 1.5 cannot be loaded: SystemExit: 0"),
        ("from tacholog.formats.lines import Line", "No module named 'tacholog.formats.lines'; all that formats need is in tacholog.formats.kit"),
        ("SYSTEM = 5\n" + MODULE.replace("SYSTEM, TOOL", "_, TOOL"), "sometool: of somebodys 1.5 is no format: its SYSTEM is no str"),
        (MODULE.replace('(Dialect("1", "1", "none"),)', "(5,)"), "is no format: its DIALECTS must all be Dialects with three texts"),
        (MODULE.replace("return Detected(", "return ("), None),
        (MODULE.replace("return Detected(", "return sys.exit("), None),
        (MODULE.replace("return Detected(", "raise MemoryError("), None),
    ],
)
def test_package_without_a_format_and_package_that_fails_affect_only_themselves(tmp_path: Path, module: str, why: str | None) -> None:
    place = Place(tmp_path / "package", tmp_path / "runs")
    (place.package / "somebodys-1.5.dist-info").mkdir(parents=True)
    (place.package / "somebodys.py").write_text(module, encoding="utf-8")
    (place.package / "somebodys-1.5.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: somebodys\nVersion: 1.5\n")
    (place.package / "somebodys-1.5.dist-info/entry_points.txt").write_text("[tacholog.formats]\nsometool = somebodys\n")
    place.runs.mkdir()
    write_run(place.runs / "good", GOOD, "RTI Connext DDS")

    assert "664.2" in tacholog(place, "parse", place.runs).stdout
    listed = tacholog(place, "formats").stdout
    assert why is None or why in listed
