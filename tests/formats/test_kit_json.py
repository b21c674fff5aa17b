"""The kit's reader of JSON: the positions of members, and the effect of damage."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from tacholog.formats.kit import Broken, Facts, Finding, JsonObject, JsonResult, JsonScalar, Line, Record, json_findings, parse_json

DOCUMENT = """{
  "tool" : "some 1.2",
  "jobs" : [
    {
      "size" : 64,
      "us" : { "mean" : 1.50, "bins" : [ 3, 4 ] }
    },
    {
      "size" : 128,
      "us" : {
        "mean" : 2.25
      }
    }
  ]
}"""


def lines_of(text: str, *, whole: bool = True) -> Iterator[Line]:
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        yield Line(number, line, whole or number < len(lines))


def job(item: JsonObject) -> Iterator[JsonResult]:
    number = item.number("us/mean", "latency", "mean", 1000.0)
    yield Record(test="latency", payload_bytes=item.whole("size"), numbers=(number,) if number else ())


def facts(path: str, value: JsonScalar) -> Facts | None:
    return Facts(tool_version=str(value)) if path == "tool" else None


def findings(text: str, *, whole: bool = True) -> list[Finding]:
    return list(json_findings(lines_of(text, whole=whole), {"jobs/[]": job}, facts))


def records(text: str) -> list[tuple[int | None, float | None]]:
    return [
        (item.what.payload_bytes, item.what.numbers[0].value if item.what.numbers else None)
        for item in findings(text)
        if isinstance(item.what, Record)
    ]


def broken(text: str, *, whole: bool = True) -> list[tuple[int, str]]:
    return [(item.line.number, item.what.reason) for item in findings(text, whole=whole) if isinstance(item.what, Broken) and item.line]


def test_each_object_at_the_given_path_becomes_a_record_with_the_lines_of_its_numbers() -> None:
    first, second = [item for item in findings(DOCUMENT) if isinstance(item.what, Record)]

    assert isinstance(first.what, Record)
    assert isinstance(second.what, Record)
    assert [line.number for line in (first.line, *first.also) if line] == [5, 6]
    assert [line.number for line in (second.line, *second.also) if line] == [9, 11]
    number = first.what.numbers[0]
    assert (number.value, number.resolution, number.line) == (1500.0, 10.0, 6)
    assert second.what.numbers[0].line == 11


def test_number_is_converted_to_the_unit_of_its_metric_as_exactly_as_it_was_printed() -> None:
    (first, _) = records(DOCUMENT.replace("1.50", "1.001"))

    assert first == (64, 1001.0)  # In binary arithmetic, 1.001 times 1000 is 1000.9999999999999.


def test_each_line_of_a_json_document_belongs_to_exactly_one_finding() -> None:
    claimed = [line.number for item in findings(DOCUMENT) for line in (item.line, *item.also) if line]

    assert sorted(claimed) == list(range(1, 16))


def test_member_outside_of_results_becomes_a_fact_at_the_line_of_the_member() -> None:
    assert findings(DOCUMENT)[1] == Finding(Line(2, '  "tool" : "some 1.2",'), Facts(tool_version="some 1.2"))


def test_json_document_gives_the_same_records_if_it_is_on_one_line() -> None:
    assert records(" ".join(DOCUMENT.split())) == records(DOCUMENT) == [(64, 1500.0), (128, 2250.0)]


def test_documents_can_follow_each_other_with_other_text_in_between() -> None:
    text = f"started\n{DOCUMENT}\n# done\n{DOCUMENT}"

    assert records(text) == [(64, 1500.0), (128, 2250.0)] * 2
    assert {1, 17}.isdisjoint({line.number for item in findings(text) for line in (item.line, *item.also) if line})


@pytest.mark.parametrize("garbled", ['"size" : 6\x004,', '"size" 64,', '"size" : : 64,', '"size" : 1e,', "\x00", '"size" : 64, "size" : 65,'])
def test_garbled_line_without_brackets_affects_only_its_result(garbled: str) -> None:
    assert records(DOCUMENT.replace('"size" : 64,', garbled)) == [(128, 2250.0)]


def test_json_with_a_missing_bracket_gives_no_records() -> None:
    text = DOCUMENT.replace("    },\n", "")

    assert records(text) == []
    assert [line for line, _ in broken(text)] == [5, 7]
    assert [item.what.status for item in findings(text) if isinstance(item.what, Facts) and item.what.status] == ["truncated"]


def test_log_that_ends_within_a_result_keeps_the_earlier_results() -> None:
    text = DOCUMENT.partition("2.25")[0] + "2"

    assert records(text) == [(64, 1500.0)]
    assert [line for line, _ in broken(text, whole=False)] == [11]  # The log ends at line 11.


@pytest.mark.parametrize("value", ['"64"', "true", "null", "64.0", "18446744073709551616", "[64]"])
def test_member_is_unknown_if_its_value_has_not_the_expected_type(value: str) -> None:
    assert records(DOCUMENT.replace('"size" : 64', f'"size" : {value}'))[0][0] is None


def test_number_below_zero_is_impossible() -> None:
    first = next(item.what for item in findings(DOCUMENT.replace("1.50", "-1.50")) if isinstance(item.what, Record))

    assert (first.numbers[0].value, first.numbers[0].marks, first.numbers[0].line) == (None, ("impossible",), 6)


def test_member_whose_name_contains_a_slash_is_not_read_as_a_path() -> None:
    text = '{\n"jobs": [ {\n"us/mean": 7,\n"us": { "mean": 1.5 },\n"size": 64\n} ]\n}'

    assert records(text) == [(64, 1500.0)]


def test_deep_and_unclosed_documents_are_read_in_limited_memory() -> None:
    assert records('{"jobs": ' * 2000) == []
    endless = '{"jobs": [{\n' + '"size": 1,\n' * 10_000
    assert records(endless) == []
    assert sum(len(item.also) for item in findings(endless)) < 4096


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', "[1]", '{"a": ', "{" * 100_000, ""])
def test_text_that_is_not_a_valid_json_object_is_parsed_as_none(text: str) -> None:
    assert parse_json(text) is None


def test_text_with_a_number_out_of_range_is_parsed_as_none() -> None:
    assert parse_json('{"a": 1e99999999999999999999}', parse_float=Decimal) is None


def test_text_of_a_json_object_is_parsed() -> None:
    assert parse_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
