"""Questions of experiments: the question that the data suggest, its answer, and the certainty of the answer."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from tests.command import run_tacholog_text
from tests.questions.datasets import DATASETS, noise, run

from tacholog.errors import TachologError
from tacholog.render.answers import (
    answer_table,
    as_json,
    choice_sentences,
    figures,
    missing_sentences,
    off_axis_words,
    partial_words,
    question_title,
    sentences,
)
from tacholog.render.table import terminal
from tacholog.runs.questions import Question
from tacholog.store.load import open_paths
from tacholog.view.chosen_questions import questions_for
from tacholog.view.factors import measured
from tacholog.view.questions import Answer, Case, answer

FORMATS = Path(__file__).parent.parent / "formats"


def made(name: str, folder: Path) -> Path:
    DATASETS[name](folder)
    return folder


def answered(folder: Path, question: Question | None = None) -> Answer:
    """Return the answer to ``question``, or to the first question that the data suggest."""
    numbers, runs = measured(open_paths([folder]))
    return answer(question or questions_for(numbers)[0], numbers, runs)


def words(found: Answer) -> str:
    return " ".join(sentence.text for sentence in sentences(found)).replace("\u00a0", " ").replace("\u202f", " ")


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("plugins", Question(subject="label.plugin", by=("label.security",), metric="latency:p50")),
        ("lossy", Question(subject="system", over="network_loss_percent", by=("network_bandwidth_bit_per_s",), metric="latency:p50")),
        ("subscribers", Question(subject="system", over="subscribers", metric="latency:p50")),
        ("rates", Question(subject="system", over="offered_rate_per_s", metric="latency:p50")),
        ("depths", Question(subject="label.depth", over="payload_bytes", metric="latency:p50")),
        ("kernels", Question(subject="label.kernel", over="payload_bytes", metric="latency:p50")),
        ("builds", Question(subject="release", metric="latency:p50")),
    ],
)
def test_suggested_question_is_one_that_the_data_can_answer(name: str, question: Question, tmp_path: Path) -> None:
    numbers, _ = measured(open_paths([made(name, tmp_path)]))

    assert questions_for(numbers) == [question]


def test_question_about_a_single_run_asks_only_for_the_measured_value(tmp_path: Path) -> None:
    numbers, _ = measured(open_paths([made("single", tmp_path)]))

    assert questions_for(numbers) == [Question(subject="system", metric="latency:p50")]
    assert (
        words(answered(tmp_path))
        == "The median latency of Bus is 11.5 µs. This is one run. How much the number varies from run to run is not known. "
        "This is about half round trip, 64 B and UDP only."
    )


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        (
            "plugins",
            "cilium has the lowest median latency in all 3 cases. With security ipsec, it is 60.4 µs against 88.3 µs of calico (1.46 times).",
        ),
        ("lossy", "From 5 % network loss on, Cedar has the lowest median latency."),
        ("subscribers", "Multicast has the lowest median latency at every number of subscribers that was measured."),
        ("rates", "The median latency of Bus is 7.78 µs at offered rate 10 k msg/s, and 892 µs at offered rate 80 k msg/s. The largest step is from"),
        ("depths", "In these runs, depth 1 has the lowest median latency at every message size that was measured."),
        ("kernels", "At 64 B, kernel 6.10.3 has the lowest median latency. With message size 64 B, it is 19.5 µs against 20.4 µs of kernel 6.1.0-13"),
        (
            "builds",
            "Release 1.0 has the lowest median latency. It is 12 µs against 13.2 µs of release 1.1 (1.1 times). This is shown by tests (12 runs",
        ),
    ],
)
def test_answer_to_the_suggested_question_is_stated_in_sentences(name: str, begins: str, tmp_path: Path) -> None:
    text = words(answered(made(name, tmp_path)))

    assert text.startswith(begins)


def test_significance_test_needs_at_least_six_runs_to_name_the_best_value(tmp_path: Path) -> None:
    assert "Each of these is shown by tests (6 runs of each; the risk that any of this is chance is at most 5 %)." in words(
        answered(made("plugins", tmp_path / "a"))
    )
    assert "No test: there are 3 runs of each, and a test takes 6. So the order may be chance." in words(answered(made("depths", tmp_path / "b")))


def test_answer_claims_and_quotes_only_the_cases_that_tests_show(tmp_path: Path) -> None:
    for size, factor in ((64, 1.2), (1024, 1.01)):
        for number, chance in enumerate(noise(str(size), 8)):
            for plugin, latency_us in (("a", 10 * chance), ("b", 10 * factor * chance)):
                run(tmp_path, f"{plugin}{size}-{number}", latency_us, labels={"plugin": plugin}, conditions={"payload_bytes": size})

    found = answered(tmp_path)

    assert words(found).startswith("At 64 B, a has the lowest median latency. With message size 64 B, it is ")
    assert "In the other case, no test shows which is best." in words(found)
    assert True not in [sentence.is_sure for sentence in sentences(found)]


def test_answer_names_the_subjects_of_the_shown_cases_if_they_are_no_ranges_of_the_axis(tmp_path: Path) -> None:
    for security, (first, second) in {"none": (10, 20), "tls": (30, 20), "ipsec": (10, 10.1)}.items():
        for number, chance in enumerate(noise(security, 8)):
            for plugin, latency_us in (("a", first), ("b", second)):
                run(tmp_path, f"{plugin}{security}-{number}", latency_us * chance, labels={"plugin": plugin, "security": security})

    answer_words = words(answered(tmp_path, Question(subject="label.plugin", by=("label.security",))))

    assert answer_words.startswith("Tests show the lowest median latency in 2 of 3 cases: that of a in 1 and that of b in 1.")


def test_answer_states_that_the_sides_were_measured_one_after_the_other(tmp_path: Path) -> None:
    kernels, builds = answered(made("kernels", tmp_path / "a")), answered(made("builds", tmp_path / "b"))

    assert [test.took_turns for test in kernels.tests if test.is_shown] == [False]
    assert "So anything else that changed meanwhile is part of the difference." in words(kernels)
    assert [test.took_turns for test in builds.tests] == [True]
    assert "meanwhile" not in words(builds)


def test_field_is_not_suggested_as_subject_if_its_values_were_measured_with_different_sizes(tmp_path: Path) -> None:
    for kind, sizes in (("Small", (200, 800)), ("Large", (65536, 131072))):
        for size in sizes:
            for rate in (100.0, 200.0):
                conditions = {"type": kind, "payload_bytes": size, "offered_rate_per_s": rate}
                run(tmp_path, f"{size}-{rate:.0f}", rate / 10, conditions=conditions)
    numbers, _ = measured(open_paths([tmp_path]))

    assert (questions_for(numbers)[0].subject, questions_for(numbers)[0].over) == ("offered_rate_per_s", "payload_bytes")


def test_first_of_several_equally_suitable_labels_is_the_subject_of_the_question(
    tmp_path: Path,
) -> None:
    """The offered rate follows from the label mbit and the message size, so the question does not contain it."""
    for vpn, latency_us in (("wire", 10.0), ("quic", 20.0)):
        for direction in ("down", "up"):
            for mbit in (50, 100):
                for size in (200, 800):
                    labels = {"vpn": vpn, "mbit": str(mbit), "direction": direction}
                    conditions = {"payload_bytes": size, "offered_rate_per_s": mbit * 1e6 / 8 / size}
                    run(tmp_path, f"{vpn}-{direction}-{mbit}-{size}", latency_us, labels=labels, conditions=conditions)
    numbers, _ = measured(open_paths([tmp_path]))

    assert questions_for(numbers)[0] == Question(
        subject="label.vpn", over="label.mbit", by=("payload_bytes", "label.direction"), metric="latency:p50"
    )


def test_cell_of_an_answer_has_the_median_and_the_log_line_of_the_median(tmp_path: Path) -> None:
    for number, latency_us in enumerate((11.0, 14.0, 10.0, 12.0)):
        run(tmp_path, f"a{number}", latency_us, labels={"plugin": "a"})
    run(tmp_path, "b", 30.0, labels={"plugin": "b"})

    cell = answered(tmp_path).cells[Case((), "a", None)]

    assert (cell.value, cell.low, cell.high, cell.run_count) == (12000.0, 10000.0, 14000.0, 4)  # The median is the worse of the two middle values.
    assert (cell.median.run.run, cell.median.number_line) == ("a3", 23)  # Line 23 of the log is "percentile 50.000".


def test_cell_of_an_answer_has_both_groups_of_runs_and_counts_as_the_worse_one_as_in_tables(tmp_path: Path) -> None:
    for number, latency_us in enumerate((10.0, 30.0, 10.1, 30.1, 10.2, 10.3)):
        run(tmp_path, f"a{number}", latency_us, labels={"plugin": "a"})
    run(tmp_path, "b", 20.0, labels={"plugin": "b"})

    found = answered(tmp_path)
    cell = found.cells[Case((), "a", None)]

    assert [(group.value, group.runs) for group in cell.groups] == [(10200.0, 4), (30100.0, 2)]
    assert (cell.value, cell.median.run.run) == (30100.0, "a3")
    assert "10.2 µs in 4 and 30.1 µs in 2 runs (10 µs\u201330.1 µs)" in "".join(terminal(answer_table(found, ranges_in_text=True)))


def test_answer_states_why_a_number_is_missing(tmp_path: Path) -> None:
    found = answered(made("lossy", tmp_path))

    assert {missing.case.subject for missing in found.missing} == {"Birch"}
    (sentence,) = missing_sentences(found)
    assert sentence.startswith("ERROR: Can`t connect socket (errno=111 Connection refused): Birch at network loss 20")


def test_subject_without_any_number_is_named_once(tmp_path: Path) -> None:
    for loss, plugin in ((0, "a"), (5, "a"), (0, "b"), (5, "b")):
        run(tmp_path, f"{plugin}{loss}", 10.0, labels={"plugin": plugin, "half": "1"}, conditions={"network_loss_percent": loss})
        run(tmp_path, f"broken{plugin}{loss}", None, labels={"plugin": "c", "half": "1"}, conditions={"network_loss_percent": loss})
    for plugin in ("a", "b"):
        run(tmp_path, f"{plugin}other", 10.0, labels={"plugin": plugin, "half": "2"}, conditions={"network_loss_percent": 0})

    found = answered(tmp_path, Question(subject="label.plugin", over="network_loss_percent", by=("label.half",)))

    assert missing_sentences(found) == ["ERROR: Can`t connect socket (errno=111 Connection refused): c."]


def test_number_is_missing_with_a_reason_if_the_log_prints_an_impossible_value(tmp_path: Path) -> None:
    log = (FORMATS / "iperf3" / "tcp.json").read_text()
    arrived = '7086931968,\n\t\t\t"bits_per_second":\t18885712211.307755'
    for plugin, received in (("a", log), ("b", log.replace(arrived, '0,\n\t\t\t"bits_per_second":\t0'))):
        folder = tmp_path / plugin
        folder.mkdir()
        (folder / "client.json").write_text(received)
        digest = sha256(received.encode()).hexdigest()
        (folder / "run.toml").write_text(f'system = "Sockets"\n[labels]\nplugin = "{plugin}"\n[[logs]]\nfile = "client.json"\nsha256 = "{digest}"\n')

    found = answered(tmp_path, Question(subject="label.plugin", metric="goodput:mean"))

    assert missing_sentences(found) == ["The log prints something impossible: b."]


def test_answer_is_limited_to_one_network_bandwidth_and_names_this_bandwidth(tmp_path: Path) -> None:
    made("lossy", tmp_path)

    found = answered(tmp_path, Question(subject="system", over="network_loss_percent"))

    (choice,) = found.choices
    assert (choice.field.name, choice.value, choice.runs) == ("network_bandwidth_bit_per_s", 54e6, {54e6: 66, 300e6: 66})
    assert words(found).endswith("This is about network bandwidth 54 Mbit/s only.")
    (sentence,) = choice_sentences(found)
    assert sentence.replace("\u00a0", " ") == (
        "These runs differ in network bandwidth. Shown: 54 Mbit/s (66 runs). Not shown: 300 Mbit/s (66 runs). "
        "To see them, put it on the axis, divide by it, or choose another value."
    )


@pytest.mark.parametrize("typed", ["300 Mbit/s", "300mbit/s", "300000000"])
def test_question_with_a_chosen_value_is_answered_for_this_value_only(typed: str, tmp_path: Path) -> None:
    made("lossy", tmp_path)

    found = answered(tmp_path, Question(subject="system", over="network_loss_percent", where={"network_bandwidth_bit_per_s": typed}))

    assert found.choices == ()
    assert found.cells[Case((), "Cedar", 20.0)].value == pytest.approx(833e3, rel=0.001)


def test_runs_of_systems_that_were_not_chosen_are_not_reported_as_missing(tmp_path: Path) -> None:
    made("lossy", tmp_path)

    found = answered(tmp_path, Question(subject="network_bandwidth_bit_per_s", over="network_loss_percent", where={"system": "Cedar"}))

    assert (found.partial, found.missing) == ((), ())


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(subject="plugn"), "no field 'plugn'"),
        (Question(subject="nothing"), "no field 'nothing'; these runs state"),
        (Question(subject="plugin"), "no field 'plugin' (is label.plugin meant?)"),
        (
            Question(subject="label.plugin", over="label.security"),
            "label.security cannot be the axis: its values are not numbers with one unit (ipsec, none, wireguard)",
        ),
        (Question(subject="label.plugin", metric="latncy:p50"), "no metric 'latncy:p50'"),
        (Question(subject="label.plugin", metric="latency:p98"), "no run states latency:p98; there are latency:"),
        (Question(subject="label.plugin", where={"label.security": "tls"}), "nothing has label.security = tls; there is ipsec, none, wireguard"),
        (Question(subject="network_loss_percent"), "no run states network_loss_percent"),
        (Question(subject="label.plugin", by=("label.plugin",)), "a field occurs twice in this question: label.plugin, label.plugin"),
    ],
)
def test_invalid_question_is_refused_and_the_message_lists_the_possible_values(question: Question, message: str, tmp_path: Path) -> None:
    with pytest.raises(TachologError) as error:
        answered(made("plugins", tmp_path), question)

    assert str(error.value).startswith(message)


def test_runs_that_do_not_state_the_value_on_the_axis_are_counted_but_not_shown(tmp_path: Path) -> None:
    made("subscribers", tmp_path)
    run(tmp_path, "unstated", 12.0, system="Unicast", conditions={"payload_bytes": 256})

    found = answered(tmp_path, Question(subject="system", over="subscribers"))

    assert found.over is not None
    assert found.over.values == (1, 2, 4, 8)
    assert off_axis_words(found) == "1 run of the same metric does not state the number of subscribers."


def test_answer_uses_the_result_of_all_streams_and_not_of_a_single_stream(tmp_path: Path) -> None:
    log = (FORMATS / "iperf3" / "tcp-two-streams-omit.json").read_text()
    for plugin in ("a", "b"):
        folder = tmp_path / plugin
        folder.mkdir()
        (folder / "client.json").write_text(log + "\n" * (plugin == "b"))
        (folder / "run.toml").write_text(
            f'system = "Sockets"\n[labels]\nplugin = "{plugin}"\n[[logs]]\nfile = "client.json"\n'
            f'sha256 = "{sha256((folder / "client.json").read_bytes()).hexdigest()}"\n'
        )

    found = answered(tmp_path, Question(subject="label.plugin", metric="goodput:mean"))

    (choice,) = [choice for choice in found.choices if choice.field.name == "participant"]
    assert (choice.value, choice.field.short(choice.value)) == (None, "all together")


def test_case_has_no_winner_if_the_two_best_values_are_close(tmp_path: Path) -> None:
    for security, latencies_us in (("none", (10.0, 10.2)), ("tls", (20.0, 10.0)), ("ipsec", (10.1, 10.0)), ("ssh", (10.0, 20.0))):
        for plugin, latency_us in zip("ab", latencies_us, strict=True):
            run(tmp_path, f"{plugin}{security}", latency_us, labels={"plugin": plugin, "security": security})

    answer_words = words(answered(tmp_path, Question(subject="label.plugin", by=("label.security",))))

    assert answer_words.startswith(
        "In these runs, of 4 cases, the lowest median latency is that of a in 1 and b in 1; in 2 the best two are at most 5 % apart."
    )
    assert "With security ipsec, it is 10 µs of b against 10.1 µs of a." in answer_words


def test_bound_is_shown_with_its_sign_and_is_not_ranked(tmp_path: Path) -> None:
    for repetition in range(6):
        run(tmp_path, f"a{repetition}", 0.0, labels={"plugin": "a"})
        run(tmp_path, f"b{repetition}", 10.0 + repetition, labels={"plugin": "b"})

    found = answered(tmp_path, Question(subject="label.plugin"))

    assert words(found) == (
        "No two values of plugin were measured in the same case, so nothing is ranked. The logs print bounds, and a bound is no measured value."
    )
    assert not found.tests
    assert "< 1 ns" in "\n".join(terminal(answer_table(found)))


def test_systems_are_the_subject_of_the_question_even_if_a_label_has_many_more_values(tmp_path: Path) -> None:
    for system in ("A", "B"):
        for rate in (10, 100):
            for message in ("Array1k", "Array4k", "Range", "Track"):
                run(tmp_path, f"{system}{rate}{message}", 5.0, system=system, labels={"rate": str(rate), "message": message})

    (question,) = questions_for(measured(open_paths([tmp_path]))[0])

    assert (question.subject, question.over, question.by) == ("system", "label.rate", ("label.message",))


def test_label_is_the_subject_of_the_question_if_almost_all_runs_are_of_one_system(tmp_path: Path) -> None:
    for size in (64, 1024):
        run(tmp_path, f"other{size}", 5.0, system="Other", labels={"depth": "d1"}, conditions={"payload_bytes": size})
        for depth in ("d1", "d10", "d100", "d1000", "d10000"):
            run(tmp_path, f"{depth}{size}", 5.0, labels={"depth": depth}, conditions={"payload_bytes": size})

    (question,) = questions_for(measured(open_paths([tmp_path]))[0])

    assert (question.subject, question.over) == ("label.depth", "payload_bytes")


def test_tick_labels_of_a_plot_are_not_drawn_if_they_would_overlap(tmp_path: Path) -> None:
    for mbit in (10, 100, 1000, 1100):
        for system in ("A", "B"):
            run(tmp_path, f"{system}{mbit}", 5.0, system=system, labels={"mbit": str(mbit)})

    (figure,) = figures(answered(tmp_path))

    assert figure.x.labels == ("10", "100", "1100")


def test_answer_names_no_winner_if_untested_medians_are_equal_or_close(tmp_path: Path) -> None:
    for plugin, latency_us in (("a", 10.0), ("b", 10.0)):
        run(tmp_path / "equal", plugin, latency_us, labels={"plugin": plugin})
    for plugin, latency_us in (("a", 10.0), ("b", 10.2)):
        run(tmp_path / "close", plugin, latency_us, labels={"plugin": plugin})

    assert words(answered(tmp_path / "equal")) == "In the only case, the best two have the same median latency."
    assert words(answered(tmp_path / "close")).startswith("There is no clear difference: the best is at most 2 % ahead of the next. No test:")


def test_answer_states_how_many_runs_lack_the_asked_number(tmp_path: Path) -> None:
    for number, latency_us in enumerate((10.0, 10.1, None)):
        run(tmp_path, f"a{number}", latency_us, labels={"plugin": "a"})
    run(tmp_path, "b", 20.0, labels={"plugin": "b"})

    assert partial_words(answered(tmp_path)) == "Runs without this number: a (1 of 3)."


def test_label_becomes_an_axis_if_its_values_are_numbers_with_the_same_unit(tmp_path: Path) -> None:
    for loss in ("0 %", "2.5 %", "10 %"):
        for system in ("A", "B"):
            run(tmp_path, f"{system}-{loss[:-2]}", 5.0, system=system, labels={"drop": loss})

    found = answered(tmp_path)

    assert found.over is not None
    assert (found.over.name, found.over.values, found.over.unit) == ("label.drop", ("0 %", "2.5 %", "10 %"), "%")
    assert [found.over.number(value) for value in found.over.values] == [0.0, 2.5, 10.0]


def test_command_prints_the_answer_and_the_table(tmp_path: Path) -> None:
    made("plugins", tmp_path)

    result = run_tacholog_text("table", tmp_path, "--subject", "label.plugin", "--by", "label.security", "--metric", "latency:p50")

    assert result.returncode == 0
    lines = result.stdout.replace("\u00a0", " ").splitlines()
    assert lines[0] == "Median latency of each plugin, by security"
    assert lines[4].split() == ["plugin", "security", "ipsec", "security", "none", "security", "wireguard"]
    assert lines[5].split()[:3] == ["calico", "88.3", "µs"]


def test_chosen_question_is_printed_if_the_user_asked_no_question(tmp_path: Path) -> None:
    result = run_tacholog_text("table", made("subscribers", tmp_path), "--format", "csv")

    assert result.stderr.splitlines() == ["chosen to fit the data: --subject system --over subscribers --metric latency:p50"]
    assert result.stdout.splitlines()[1].startswith("Multicast,20148,")


def test_question_with_two_subjects_is_refused(tmp_path: Path) -> None:
    result = run_tacholog_text("table", made("plugins", tmp_path), "--subject", "label.plugin", "--subject", "label.security")

    assert result.returncode == 2
    assert "a question has one subject, but 2 are given (label.plugin, label.security): give the other fields with --by" in result.stderr


def test_json_output_has_each_number_with_its_log_line(tmp_path: Path) -> None:
    import json

    found = json.loads(as_json(answered(made("builds", tmp_path))))

    assert found["question"]["subject"] == "release"
    assert [(cell["release"], cell["value"], cell["runs"], cell["shown_best"], cell["line"]) for cell in found["cells"]] == [
        ("1.0", 12005.0, 12, True, 23),
        ("1.1", 13206.0, 12, False, 23),
    ]


def test_notebook_gets_a_data_frame_with_the_answer(tmp_path: Path) -> None:
    import tacholog as front_door

    frame = front_door.load(made("builds", tmp_path)).table("release", metric="latency:p50")

    assert frame.values.tolist() == [["1.0", 12005.0, 11549.0, 12788.0, 12, True], ["1.1", 13206.0, 12704.0, 14067.0, 12, False]]
    assert frame.attrs["unit"] == "ns"
    assert frame.attrs["answer"].startswith("Release 1.0 has the lowest median latency.")


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "single"])
def test_each_answer_has_a_title_a_table_and_a_plot_for_each_panel(name: str, tmp_path: Path) -> None:
    found = answered(made(name, tmp_path))

    assert question_title(found.question, found).startswith("Median latency")
    assert len(terminal(answer_table(found))) > 1
    assert len(figures(found)) == (1 if found.over is None else len(found.panels))
