"""The examples of the documentation produce the shown results."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.command import run_tacholog_text
from tests.waiting import LIMIT_S

from tacholog.formats import kit
from tacholog.runs.importing import fields
from tacholog.runs.importing.rules import RuleFile
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, Readiness, Source
from tacholog.schema.conditions import CONDITIONS, Conditions
from tacholog.schema.marks import FORMAT_MARKS, MARKS
from tacholog.schema.metrics import METRICS, STATISTICS
from tacholog.schema.reference import results_schema, with_tables
from tacholog.schema.tables import RESULTS, TABLES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md"), *ROOT.glob("tests/**/README.md")])
READERS = sorted(ROOT.glob("docs/i-*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def shown_commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of the ``console`` blocks, each with the shown output."""
    text = "".join(blocks(page, "console"))
    return [(command, output) for command, output in re.findall(r"^\$ (tacholog .*)\n((?:(?!\$ ).*\n)*)", text, flags=re.MULTILINE)]


def tacholog(command: str, folder: Path, path: Path | None = None, status: int = 0) -> str:
    """``path`` is an additional import path. Return the whole output."""
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {}) | {"COLUMNS": "200"}
    words = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "tacholog", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == status, done.stdout.decode()
    return done.stdout.decode()


def test_page_about_formats_shows_the_files_and_the_output_of_its_commands(tmp_path: Path) -> None:
    page, package = ROOT / "docs/add-a-format.md", tmp_path / "tacholog-pingbench"
    written, parsed, _ = shown_commands(page)  # The last command belongs to the example in JSON: see tests/formats/test_example_json.py.

    assert tacholog(written[0], tmp_path) == written[1]
    assert (package / "src/tacholog_pingbench/__init__.py").read_text() == blocks(page, "python")[0]
    assert (package / "tests/pingbench-2.1.log").read_text() == blocks(page, "text")[0]
    information = package / "src/tacholog_pingbench-0.1.0.dist-info"  # Files like those of an installation by pip. They exist only during this test.
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tacholog-pingbench\nVersion: 0.1.0\n")
    (information / "entry_points.txt").write_text("[tacholog.formats]\npingbench = tacholog_pingbench\n")
    assert tacholog(parsed[0], tmp_path, package / "src") == parsed[1]


def test_page_about_the_contents_of_a_site_shows_the_output_of_its_command() -> None:
    ((command, shown),) = shown_commands(ROOT / "docs/what-you-get.md")

    assert tacholog(command, ROOT) == shown


@pytest.mark.site
def test_commands_in_the_tutorial_print_the_shown_output(tmp_path: Path) -> None:
    page = ROOT / "docs/tutorial.md"
    copy, describe = blocks(page, "sh")
    exit_codes = {"tacholog import logs": 2}  # Exit code 2: without a pattern, the command imports nothing.
    subprocess.run(["sh", "-ec", copy.replace("CHECKOUT", shlex.quote(str(ROOT)))], cwd=tmp_path, check=True)

    commands = shown_commands(page)
    for command, shown in commands:
        if command.startswith("tacholog check"):
            subprocess.run(["sh", "-ec", describe], cwd=tmp_path, check=True)
        assert tacholog(command, tmp_path, status=exit_codes.get(command, 0)).replace(str(tmp_path), "FOLDER") == shown

    assert [command.split()[1] for command, _ in commands] == ["parse", "import", "import", "check", "diff", "require", "report", "verify"]


@pytest.mark.site
@pytest.mark.parametrize("page", READERS, ids=lambda page: page.stem)
def test_commands_on_the_page_for_each_kind_of_reader_succeed(page: Path, tmp_path: Path) -> None:
    commands = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("tacholog ")]
    imported = next(command for command, _ in shown_commands(ROOT / "docs/tutorial.md") if " --to data" in command)
    shutil.copytree(ROOT / "docs/example-logs/sockperf", tmp_path / "logs")
    (tmp_path / "data/hosts").mkdir(parents=True)
    (tmp_path / "data/hosts/laptop.toml").write_text('name = "Laptop"\nsource = "typed by hand"\n')

    for command in [*([] if any("import" in command for command in commands) else [imported]), *commands]:
        done = run_tacholog_text(*shlex.split(command)[1:], cwd=ROOT if " data/perftest/" in command else tmp_path)
        assert done.returncode == 0, command + done.stdout + done.stderr

    assert commands


def test_readme_and_front_page_link_to_the_page_for_each_kind_of_reader() -> None:
    readme, front = ((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/index.md"))

    assert [page.name for page in READERS if f"](docs/{page.name})" not in readme or f"]({page.name})" not in front] == []
    assert len(READERS) == 5
    assert len(readme.splitlines()) <= 50


def test_example_manifest_and_host_file_are_valid() -> None:
    manifest, host = blocks(ROOT / "docs/add-a-run.md", "toml")

    assert msgspec.toml.decode(manifest, type=Manifest).system == "Some Middleware"
    assert msgspec.toml.decode(host, type=Host).name == "Some lab"


def test_page_about_runs_shows_the_output_of_its_command(tmp_path: Path) -> None:
    page = ROOT / "docs/add-a-run.md"
    run = tmp_path / "runs/first"
    run.mkdir(parents=True)
    (run / "run.toml").write_text(blocks(page, "toml")[0])
    (run / "sub.log").write_bytes((ROOT / "tests/formats/rti/3.0.1-throughput-sub.log").read_bytes())
    ((command, shown),) = shown_commands(page)

    assert tacholog(command, tmp_path, status=1) == shown


def test_tables_of_the_fields_of_run_toml_are_up_to_date_and_name_each_field() -> None:
    page = (ROOT / "docs/add-a-run.md").read_text(encoding="utf-8")
    tables = re.findall(r"<!-- keys: (\w+) -->(.*?)<!--", page, re.DOTALL)

    assert runpy.run_path(str(ROOT / "docs/make_tables.py"))["with_keys"](page) == page, "run: python docs/make_tables.py"
    structs: tuple[type[msgspec.Struct], ...] = (Manifest, LogFile, Command, Readiness, Source, Host)
    assert {name: re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) for name, table in tables} == {
        struct.__name__: [*struct.__struct_fields__] for struct in structs
    }


def test_page_about_importing_shows_the_output_of_its_commands(tmp_path: Path) -> None:
    page = ROOT / "docs/import.md"
    for number, plugin in enumerate(("calico", "flannel")):
        for test, side in ((1, "pub"), (1, "sub"), (2, "pub"), (2, "sub")):
            text = (ROOT / f"tests/formats/rti/3.0.1-throughput-{side}.log").read_text()
            log = tmp_path / f"logs/throughput/{plugin}/test-{test}/perf-{side}0.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text.replace("1677 us", f"{1700 + 10 * number + test} us").replace("11833", f"{11900 + 10 * number + test}"))
    (tmp_path / "logs/plot.gp").write_text("plot 'latency.dat'\n")
    commands = shown_commands(page)

    assert len(commands) == 4
    for command, shown in commands:
        assert tacholog(command, tmp_path, status=2 if command.endswith("import logs") else 0) == shown
    assert (tmp_path / "data/flannel/02/run.toml").is_file()
    assert len(msgspec.toml.decode(blocks(page, "toml")[0], type=RuleFile).rule) == 3


def test_page_about_importing_names_each_field() -> None:
    page = (ROOT / "docs/import.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`\{(\w+)\}`", page))

    assert {*fields.TEXTS, *fields.OF_LOG, fields.REPETITION, "published"} <= named


def test_pages_for_authors_of_formats_list_each_statistic_and_mark() -> None:
    page = (ROOT / "docs/add-a-format.md").read_text(encoding="utf-8")
    example = (ROOT / "templates/format-package/README.md").read_text(encoding="utf-8")
    listed = example.partition("The statistics are\n")[2].partition("\nand percentiles")[0]

    assert re.findall(r"^\| `([^`]+)` \| (.*) \|$", page, flags=re.MULTILINE) == list(STATISTICS.items())
    assert re.findall(r"`([^`]+)`", listed) == list(STATISTICS)
    assert set(re.findall(r"`([^`]+)`", page.partition("Marks that a format may set are ")[2].partition("\n")[0])) == FORMAT_MARKS


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_tables_of_the_schema_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert with_tables(text) == text, "run: python docs/make_tables.py"


def test_page_about_the_kit_for_formats_is_up_to_date_and_names_all_its_parts() -> None:
    page = (ROOT / "docs/kit.md").read_text(encoding="utf-8")

    assert runpy.run_path(str(ROOT / "docs/make_tables.py"))["kit_page"]() == page, "run: python docs/make_tables.py"
    entries, _, constants = page.partition("## Constants and types")
    named = re.findall(r"^### (\w+)$", entries, flags=re.MULTILINE) + re.findall(r"^- `(\w+)`", constants, flags=re.MULTILINE)
    assert sorted(named) == sorted(kit.__all__)


def test_page_about_conditions_has_all_conditions_and_metrics_and_marks_and_columns() -> None:
    page = (ROOT / "docs/conditions.md").read_text(encoding="utf-8")
    sections = {title.strip("# "): text for title, text in re.findall(r"^(##+ .*)\n((?:(?!^##).*\n)*)", page, flags=re.MULTILINE)}
    listed = {title: re.findall(r"^\| (?:[^`\s]+ \| )?`([^`]+)`(?=[ ,])", text, flags=re.MULTILINE) for title, text in sections.items()}

    assert listed["Conditions"][:3] == ["transport", "reach", "data_path"]
    assert listed["Conditions"] == list(Conditions.__struct_fields__)
    assert listed["Metrics"] == list(METRICS)
    assert listed["Marks"] == list(MARKS)
    assert [*listed["results"], *listed["Conditions"]] == sorted(RESULTS, key=lambda name: name in CONDITIONS)
    assert {table: listed[table] for table in ("runs", "logs", "problems", "histograms")} == {
        table: list(columns) for table, columns in TABLES.items() if table != "results"
    }


def test_json_schema_of_the_results_is_up_to_date() -> None:
    stored = json.loads((ROOT / "docs/results.schema.json").read_text(encoding="utf-8"))

    assert stored == results_schema(), "run: python docs/make_tables.py"


def test_code_on_the_page_about_notebooks_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plot, question, others = blocks(ROOT / "docs/notebook.md", "python")
    for folder in ("data", "tests"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)

    names: dict[str, Any] = {}
    exec(compile(plot, "docs/notebook.md", "exec"), names)  # noqa: S102 - our own page
    exec(compile(question, "docs/notebook.md", "exec"), names)  # noqa: S102
    answered = capsys.readouterr().out
    exec(compile(others, "docs/notebook.md", "exec"), names)  # noqa: S102

    assert answered.startswith(
        "In these runs, of 7 cases, the lowest median latency is that of shm-zero-copy in 1; in 6 the best two are at most 5\xa0% apart."
    )
    lines = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in names["plot"].data}
    assert len(plot.splitlines()) <= 10
    assert set(lines) == {"inter-thread", "shm", "shm-zero-copy", "tcp", "udp", "udp-multicast", "udp-reliable", "udp-wan", "uds"}
    assert list(lines["shm"]) == [16, 64, 1024, 4096, 16384, 65536, 1048576]
    assert (tmp_path / "latency.html").stat().st_size > 0
    assert names["bins"].shape == (len(names["data"].histograms["bins"].iloc[0]), 3)
    assert (names["bins"][:, 0] <= names["bins"][:, 1]).all()
    assert (tmp_path / "saved/histograms.parquet").is_file()
    assert capsys.readouterr().out.startswith("rti 3.0.1 ")


def test_notebook_example_keeps_results_whose_size_and_transport_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = blocks(ROOT / "docs/notebook.md", "python")[0]
    path, log = "data/perftest/0.3.0", ROOT / "tests/formats/sockperf/ping-pong-tcp-full-rtt.log"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}

    exec(compile(code.replace(path, log.as_posix()), "docs/notebook.md", "exec"), names)  # noqa: S102 - our own page

    assert path in code
    assert names["over_runs"]["payload_bytes"].isna().tolist() == [True]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_targets_of_links_to_files_exist(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_each_page_states_its_readers_and_its_purpose_at_the_top(page: Path) -> None:
    title, empty, whom = page.read_text(encoding="utf-8").splitlines()[:3]

    assert title.startswith("# ")
    assert empty == ""
    assert re.match(r"\*This page is for .*\b(?:After|after)\b", whom)


def test_guide_for_contributors_lists_each_folder_of_the_package() -> None:
    rooms = sorted(path.parent.name for path in (ROOT / "parsers/tacholog").glob("*/__init__.py"))
    named = re.findall(r"^\| `(\w+)/` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert sorted(named) == rooms
