"""The pages of questions: the first answer of a site, the list of its questions, and the links of its numbers."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.questions.datasets import DATASETS

LOSS = "median-latency-of-each-system-over-network-loss-by-network-bandwidth"


def site_of(folder: Path, name: str, settings: str = "") -> Path:
    DATASETS[name](folder / "data")
    arguments: list[str | Path] = ["report", folder / "data", "--output", folder / "site"]
    if settings:
        (folder / "site.toml").write_text(settings)
        arguments += ["--site", folder / "site.toml"]
    result = run_tacholog_text(*arguments)
    assert result.returncode == 0, result.stderr
    return folder / "site"


def text_of(page: Path) -> str:
    body = re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0])
    return " ".join(unescape(body).replace("\u00a0", " ").replace("\u202f", " ").split())


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_of(tmp_path_factory.mktemp("lossy"), "lossy")


def test_home_page_starts_with_the_answer_to_the_question_that_the_data_suggest(lossy: Path) -> None:
    text = text_of(lossy / "index.html")

    answer = "From 5 % network loss on, Cedar has the lowest median latency."
    assert text.index("Median latency of each system over network loss, by network bandwidth") < text.index(answer) < text.index("What changed last")
    assert "nothing is ranked here" not in text


def test_page_of_a_question_shows_the_answer_with_plots_and_numbers(lossy: Path) -> None:
    page = lossy / f"questions/{LOSS}.html"
    html, text = page.read_text(encoding="utf-8"), text_of(page)

    assert html.count("<figure ") == 2
    assert "network bandwidth 54 Mbit/s" in text
    assert text.index("has the lowest median latency") < text.index("607 µs") < text.index("Can`t connect socket") < text.index("The question")
    assert "with your folder of these runs for RUNS: tacholog table RUNS --subject system --over network_loss_percent" in text


def test_each_number_of_the_table_links_to_the_log_line_of_the_median_run(lossy: Path) -> None:
    html = (lossy / f"questions/{LOSS}.html").read_text(encoding="utf-8")
    link = re.search(r'data-v="607115"><a href="\.\./(logs/[^"#]+)#([^"]+)">', html)
    assert link is not None

    log = (lossy / link[1]).read_text(encoding="utf-8")
    marked = re.search(rf'id="{re.escape(link[2])}"[^>]*>([^<]+)<', log)

    assert marked is not None
    assert marked[1] == "607.115"


def test_numbers_in_the_sentences_of_an_answer_link_to_their_log_lines(lossy: Path) -> None:
    (numbers,) = re.findall(r"With network loss.*?it is (.*?)</p>", (lossy / "index.html").read_text(encoding="utf-8"))
    links = re.findall(r'<a href="(logs/[^"#]+)#([^"]+)">([^<]+)</a>', numbers)

    assert len(links) == 2
    for log, anchor, number in links:
        marked = re.search(rf'id="{re.escape(anchor)}"[^>]*>([^<]+)<', (lossy / log).read_text(encoding="utf-8"))
        assert marked is not None
        assert f"{float(marked[1]) / 1000:.3g}\u00a0ms" == number


def test_question_about_releases_says_why_its_test_differs_from_the_comparison_and_links_to_it(tmp_path: Path) -> None:
    site = site_of(tmp_path, "builds")
    (page,) = (site / "questions").glob("*.html")

    (address,) = re.findall(r'See also the comparison <a [^>]*?href="\.\./(diffs/[^"]+)">1.0 → 1.1</a>', page.read_text(encoding="utf-8"))

    assert (site / address).is_file()
    assert "It uses pairs of runs and a threshold" in text_of(page)


def test_list_of_questions_links_to_each_question(lossy: Path) -> None:
    assert f'href="questions/{LOSS}.html"' in (lossy / "questions.html").read_text(encoding="utf-8")
    assert 'href="questions.html"' in (lossy / "index.html").read_text(encoding="utf-8")


def test_page_of_a_question_links_to_the_values_that_the_page_does_not_show(tmp_path: Path) -> None:
    site = site_of(
        tmp_path,
        "lossy",
        '[[questions]]\ntitle = "Who keeps <b>going</b>?"\nsubject = "system"\nover = "network_loss_percent"\nmetric = "latency:p99"\n',
    )

    home = (site / "index.html").read_text(encoding="utf-8")
    # The page for the shown bandwidth has the shortest name: the names of other pages also contain their bandwidth.
    page = min((site / "questions").glob("*.html"), key=lambda path: len(path.name))
    html, text = page.read_text(encoding="utf-8"), text_of(page)
    assert "Who keeps &lt;b&gt;going&lt;/b&gt;?" in home
    assert "These runs differ in network bandwidth. Shown: 54 Mbit/s (66 runs). Not shown: 300 Mbit/s (66 runs)." in text
    links = {words.replace("\u00a0", " "): target for target, words in re.findall(r'<a href="([^"]+)">([^<]+)</a>', html)}
    assert (page.parent / links["divided by network bandwidth"]).is_file()
    # 2.5 ms is p99 of Cedar at 20 % loss: three times its median of 833 µs.
    assert "2.5 ms" in text_of(page.parent / links["network bandwidth 300 Mbit/s"])
    assert "These runs differ in network loss. Shown: 0 % (36 runs)." in text_of(page.parent / links["over network bandwidth"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ('subject = "plugin"', "questions[0]: no field 'plugin' (is label.plugin meant?)"),
        ('subject = "label.plugin"\nmetric = "jitter:mean"', "questions[0]: no run states jitter:mean"),
        ('subject = "label.plugin"\nmetrc = "jitter"', "metrc"),
    ],
)
def test_invalid_question_is_refused_with_its_position_in_the_file(question: str, message: str, tmp_path: Path) -> None:
    DATASETS["plugins"](tmp_path / "data")
    (tmp_path / "site.toml").write_text(f"[[questions]]\n{question}\n")

    result = run_tacholog_text("report", tmp_path / "data", "--output", tmp_path / "site", "--site", tmp_path / "site.toml")

    assert result.returncode == 2
    assert message in result.stderr


def test_home_page_answers_the_question_that_a_campaign_states(tmp_path: Path) -> None:
    DATASETS["single"](tmp_path / "logs")
    (tmp_path / "which.toml").write_text(
        f"""system = "Bus"
tool = "cat"
repetitions = 1
log = "client.log"
format = "sockperf"
command = ["cat", "{tmp_path}/logs/only/client.log"]

[[runs]]
name = "a"
conditions = {{ payload_bytes = 64 }}

[[questions]]
title = "How fast is the bus?"
subject = "system"
""",
        encoding="utf-8",
    )
    measured = run_tacholog_text("bench", tmp_path / "which.toml", "--output", tmp_path / "runs", "--no-control")
    (folder,) = (tmp_path / "runs").iterdir()

    result = run_tacholog_text("report", folder, "--output", tmp_path / "site")

    assert result.returncode == 0, measured.stderr + result.stderr
    assert "How fast is the bus? The median latency of Bus is 11.5 µs ." in text_of(tmp_path / "site" / "index.html").replace(" # ", " ")


def test_page_of_runs_without_a_stated_transport_has_a_readable_title(lossy: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in lossy.glob("*/*.html")]
    titles = {re.sub(r"<[^>]+>", "", title) for page in pages for title in re.findall(r"<h1>(.*?)<a", page)}

    assert "Birch, no transport named" in titles  # The failed runs of Birch state no transport, and its other runs state UDP.
    assert [title for title in titles if "not stated" in title] == []


def test_site_of_a_single_run_states_the_measured_value(tmp_path: Path) -> None:
    text = text_of(site_of(tmp_path, "single") / "index.html")

    assert "The median latency of Bus is 11.5 µs . This is one run." in text
    assert "nothing is ranked here" not in text
