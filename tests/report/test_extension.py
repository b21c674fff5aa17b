"""The Sphinx extension in a project of a user."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace

from tacholog.store.load import load

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def build(folder: Path, text: str, **settings: object) -> tuple[str, str]:
    """Build a project of one page. Return the page and the warnings of Sphinx."""
    source = folder / "docs"
    source.mkdir()
    (source / "index.md").write_text(f"# Ours\n\n{text}\n", encoding="utf-8")
    warnings = io.StringIO()
    overrides = {"extensions": ["myst_parser", "tacholog.sphinx"], **settings}
    # Sphinx registers directives for the whole process. This removes them after the build, so that the next build can register them.
    with docutils_namespace():
        Sphinx(source, None, folder / "out", folder / "trees", "html", overrides, status=None, warning=warnings).build()
    return (folder / "out/index.html").read_text(), warnings.getvalue()


@pytest.fixture
def dataset(data: Path, tmp_path: Path) -> str:
    load([data]).save(tmp_path / "dataset")
    return str(tmp_path / "dataset")


def test_table_and_plot_appear_on_a_page_of_any_project(tmp_path: Path, dataset: str) -> None:
    text = "```{perf-table} throughput\n:transport: SHMEM\n```\n\n```{perf-plot} goodput\n:transport: SHMEM\n```"

    page, warnings = build(tmp_path, text, tacholog_dataset=dataset)

    assert warnings == ""
    assert "2\u202f386\u202f046" in page
    assert "<svg" in page
    assert "doc:" not in page
    assert (tmp_path / "out/_static/tacholog.css").is_file()
    assert (tmp_path / "out/_static/plotly.min.js").is_file()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("```{perf-table} latency\n:transport: SHMEM\n```", "perf-table: no data set for transport 'SHMEM' (test latency)"),
        ("```{perf-plot} goodput\n:system: nobody\n```", "perf-plot: no data set for system 'nobody'"),
        ("```{perf-table} lattency\n```", "perf-table: no table 'lattency'; there are"),
        ("```{perf-host} nowhere\n```", "perf-host: no host 'nowhere'"),
        ("```{perf-table} throughput\n:label: plugin=none\n```", "perf-table: no data set for label.plugin 'none' (test throughput)"),
        ("```{perf-table} throughput\n:label: plugin\n```", "perf-table: :label: plugin: write NAME=VALUE, as in plugin=flannel"),
        ("```{perf-log} none.log\n:run: rti/copy\n```", "perf-log: no log 'none.log' in run 'rti/copy'"),
    ],
)
def test_missing_item_causes_a_warning_with_its_line(tmp_path: Path, dataset: str, text: str, warning: str) -> None:
    _, warnings = build(tmp_path, text, tacholog_dataset=dataset)

    assert "index.md:3: WARNING: " in warnings
    assert warning in warnings
    assert "[perf.nodata]" in warnings


def test_table_shows_only_runs_with_the_requested_labels(tmp_path: Path, data: Path) -> None:
    everything = load([data])
    labels = ['{"net": "a b", "plugin": "flannel"}' if run == "rti/copy" else None for run in everything.runs["run"]]
    everything.runs["labels"] = pd.array(labels, dtype="string")
    everything.save(tmp_path / "dataset")
    text = '```{perf-table} runs\n:label: plugin=flannel "net=a b"\n```\n\n```{perf-table} runs\n:label: "plugin=not stated"\n```'

    page, warnings = build(tmp_path, text, tacholog_dataset=str(tmp_path / "dataset"))

    assert warnings == ""
    asked, others = page.split("<table")[1:3]
    assert "rti/copy" in asked
    assert asked.count("<tr>") == 2
    assert "rti/copy" not in others
    assert "rti/zero-copy" in others


def test_project_without_a_dataset_gets_a_warning_that_names_the_setting(tmp_path: Path) -> None:
    _, warnings = build(tmp_path, "```{perf-table} latency\n```")

    assert "in conf.py, set tacholog_data to a folder of runs" in warnings


def test_folder_without_runs_stops_the_build_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ExtensionError, match=r"tacholog_data: .*nowhere: no such folder"):
        build(tmp_path, "", tacholog_data="nowhere")


def test_example_project_builds_with_its_figures_in_both_languages(checkout: Path, tmp_path: Path) -> None:
    pages = sphinx(checkout / "docs/example", tmp_path)

    assert '<svg class="tl-svg"' in pages["index"]
    assert 'data-v="3851"' in pages["index"]  # The log states this median for 64 bytes, in ns.
    assert "Intel(R) Xeon(R) Processor" in pages["index"]
    assert '<svg class="tl-svg"' in pages["throughput"]
    assert 'perftest --test throughput --transport udp --sizes 16,65536 --duration "${DURATION_S:-0.3}"' in re.sub("<[^>]*>", "", pages["throughput"])


def test_next_build_shows_the_changed_log(checkout: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(checkout / "docs/example", project)
    sphinx(project, tmp_path)
    log, manifest = project / "data/latency-udp/perftest.log", project / "data/latency-udp/run.toml"
    before = hashlib.sha256(log.read_bytes()).hexdigest()
    log.write_text(log.read_text().replace("p50_ns=3851", "p50_ns=3852"))
    manifest.write_text(manifest.read_text().replace(before, hashlib.sha256(log.read_bytes()).hexdigest()))

    assert 'data-v="3852"' in sphinx(project, tmp_path)["index"]


def sphinx(project: Path, folder: Path) -> dict[str, str]:
    """Build a project that has its own conf.py. No warning is allowed."""
    warnings = io.StringIO()
    with docutils_namespace():
        Sphinx(project, project, folder / "out", folder / "trees", "html", status=None, warning=warnings).build()
    assert warnings.getvalue() == ""
    return {name: html.unescape((folder / f"out/{name}.html").read_text()) for name in ("index", "throughput")}


def policy_of(page: str) -> str:
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found
    return found[1]


@pytest.mark.parametrize("theme", ["pydata_sphinx_theme", "alabaster"])
def test_script_in_the_content_of_a_page_is_blocked_and_named(tmp_path: Path, theme: str) -> None:
    own, strange = "window.ours = 1", "document.title = 'PWNED'"
    text = f"```{{raw}} html\n<script>{strange}</script><SCRIPT data-src=x >{strange};</SCRIPT>\n```"

    page, warnings = build(tmp_path, text, tacholog_csp=True, html_theme=theme, html_js_files=[(None, {"body": own})])

    assert own in page
    assert sha256(own) in policy_of(page)
    assert strange in page
    assert sha256(strange) not in policy_of(page)
    assert warnings.count("index: an inline script came with the page's content and is blocked: \"document.title = 'PWNED'") == 2
    assert not list((tmp_path / "out").rglob("*without-content*"))


def sha256(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
