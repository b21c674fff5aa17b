"""Patterns read fields from paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.patterns import ROLES, Disagreement, PatternField, read_pattern
from tacholog.runs.importing.rules import LogFields, read_rules


@pytest.mark.parametrize(
    ("pattern", "path", "values"),
    [
        (
            "{label.test}/{label.plugin}/test-{repetition}/rtiperftest-{role}{participant}.log",
            "latency-test/flannel-hostgw-dds-secure-tcp/test-4/rtiperftest-pub0.log",
            {"label.test": "latency-test", "label.plugin": "flannel-hostgw-dds-secure-tcp", "repetition": "4", "role": "pub", "participant": "0"},
        ),
        ("{role}.log", "publisher.log", {"role": "publisher"}),
        ("{role}-{label.x}.log", "pub-lisher.log", {"role": "pub", "label.x": "lisher"}),
        ("{role}{label.x}.log", "publishers.log", {"role": "publisher", "label.x": "s"}),  # "publisher" is longer than "pub".
        ("{transport}-{label.x}.log", "udp-a-b.log", {"transport": "udp", "label.x": "a-b"}),  # The first field takes as few characters as possible.
        ("{transport}{repetition}.log", "udp12.log", {"transport": "udp", "repetition": "12"}),
        ("{repetition}{label.x}", "12b3", {"repetition": "12", "label.x": "b3"}),
        ("{label.x}.log", "a.log.log", {"label.x": "a.log"}),
        ("{label.x}.log", "a/b.log", None),
        ("run-{repetition}/pub.log", "run-1/pub.log.gz", {"repetition": "1"}),
        ("run-{repetition}/{label.x}.log", "run-1/a.log.xz", {"repetition": "1", "label.x": "a"}),
        ("{label.x}.log", "a.log.zst", {"label.x": "a"}),
        ("{label.x}", "a.log.gz", {"label.x": "a.log.gz"}),  # The pattern matches the whole path, so the value contains .gz.
        ("{label.x}.log.gz", "a.log", None),
        ("{label.x}.log", "a.log.zip", None),
        ("{label.x}.log", ".log", None),
        ("{*}/{_date}-{label.x}.log", "anything/2024-x.log", {"label.x": "x"}),
        ("{_x}/{_x}.log", "a/b.log", {}),
        ("./{label.x}", "a", {"label.x": "a"}),
        ("{{{label.x}}}", "{a}", {"label.x": "a"}),
        ("test-{repetition}", "test-x", None),
        ("test-{repetition}", "test-٣", None),  # This character is a digit of another script.
        ("{repetition}", "1234567890123456789", None),
        ("{label.x}/{label.x}.log", "a/a.log", {"label.x": "a"}),
        ("{label.p}/{label.t}-{label.p}.log", "a-b/t-1-a-b.log", {"label.p": "a-b", "label.t": "t-1"}),
        ("{label.p}-{label.p}", "a-a", {"label.p": "a"}),
    ],
)
def test_pattern_reads_fields_from_a_path(pattern: str, path: str, values: dict[str, str] | None) -> None:
    assert read_pattern(pattern, "--map").match(path) == values


@pytest.mark.parametrize(
    ("pattern", "path", "field"),
    [("{label.x}/{label.x}.log", "a/b.log", "label.x"), ("{label.x}-{label.x}", "a-b", "label.x"), ("{role}/{role}.log", "pub/sub.log", "role")],
)
def test_field_that_occurs_twice_in_a_pattern_must_have_equal_values(pattern: str, path: str, field: str) -> None:
    found = read_pattern(pattern, "--map").match(path)

    assert isinstance(found, Disagreement)
    assert found.field == field


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{label.a}{label.b}", "nothing stands between {label.a} and {label.b}"),
        ("{repetition}{participant}", "nothing stands between {repetition} and {participant}"),
        ("{repetition}0.log", "a digit follows {repetition}"),
        ("{label.a", "a brace without a matching one"),
        ("label.a}", "a brace without a matching one"),
        ("a{}b", "{} has no name"),
        ("a//b", "the name of a folder or of the file is empty"),
        ("/a/{label.x}", "does not begin with a slash"),
        ("", "the name of a folder or of the file is empty"),
        ("/".join(["{*}"] * 65), "more than 64 fields"),
    ],
)
def test_ambiguous_pattern_is_refused(pattern: str, words: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        read_pattern(pattern, "--map")

    assert words in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{plugin}.log", "there is no field 'plugin'"),
        ("{plugin}.log", "for a label of your own, write label.plugin"),
        ("{repitition}.log", "(is repetition"),  # codespell:ignore repitition
        ("{playload_bytes}.log", "(is payload_bytes"),
        ("{conditions.transprt}.log", "conditions.transport"),  # codespell:ignore transprt
        ("{label.1st}.log", "'label.1st' is not the name of a label"),
        ("{label.}.log", "'label.' is not the name of a label"),
    ],
)
def test_unknown_field_is_refused_and_similar_fields_are_named(pattern: str, words: str) -> None:
    with pytest.raises(UnreadableInput) as error:
        read_rules([pattern], None, [])

    assert words in str(error.value)


TEXT = st.text(alphabet="abcXYZ_+ é", min_size=1, max_size=8)
VALUES = {"repetition": st.integers(0, 10**17).map(str), "participant": st.integers(0, 99).map(str), "role": st.sampled_from(sorted(ROLES))}


@st.composite
def patterns_with_values(draw: st.DrawFn) -> tuple[str, str, dict[str, str]]:
    """Draw a pattern, a matching path, and the values in it. The text between two fields has a character that no value has."""
    names = draw(st.permutations(["repetition", "participant", "role", "label.a", "label.b", "transport", "_c"]).map(lambda found: found[:5]))
    values = {name: draw(VALUES.get(name, TEXT)) for name in names}
    pattern, path = "", ""
    for place, name in enumerate(names):
        between = "" if place == 0 else draw(st.sampled_from(["/", "-", ".log-", "=/=", "{{-"]))
        pattern += f"{between}{{{name}}}"
        path += between.replace("{{", "{") + values[name]
    return pattern, path, {name: value for name, value in values.items() if not name.startswith("_")}


@given(patterns_with_values())
def test_pattern_reads_the_values_in_a_path(case: tuple[str, str, dict[str, str]]) -> None:
    pattern, path, values = case

    assert read_pattern(pattern, "--map").match(path) == values


PIECES = st.sampled_from(["{label.a}", "{label.b}", "{*}", "{repetition}", "{role}", "-", ".", "a", "pub", "/", "1"])


@given(st.lists(PIECES, min_size=1, max_size=9).map("".join), st.text(alphabet="apub-./1", max_size=60))
def test_values_occur_in_the_path_in_the_order_of_the_pattern(text: str, path: str) -> None:
    try:
        pattern = read_pattern(text, "--map")
    except UnreadableInput:
        return
    found = pattern.match(path)
    if not isinstance(found, dict):
        return
    rest = path
    tokens = [token for place, segment in enumerate(pattern.segments) for token in (*(["/"] if place else []), *segment)]
    for token in tokens:
        value = token if isinstance(token, str) else found.get(token.name, "")
        assert value in rest
        rest = rest[rest.index(value) + len(value) :] if not isinstance(token, PatternField) or not token.is_ignored else rest
    assert not any("/" in value for value in found.values())


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("-".join(f"{{label.f{number}}}" for number in range(30)) + "x", "-" * 4000),
        ("-".join(f"{{label.f{number}}}" for number in range(30)) + "x", "a-" * 2000),
        ("{repetition}".join(f"{{label.f{number}}}" for number in range(9)) + "x", "1a" * 2000),
        ("{role}".join(f"{{label.f{number}}}" for number in range(9)) + "x", "pub" * 1300),
    ],
)
def test_hostile_path_is_matched_in_limited_time(pattern: str, path: str) -> None:
    # With a regular expression, this would take longer than the age of the universe.
    assert read_pattern(pattern, "--map").match(path) is None


@pytest.mark.parametrize(("text", "size"), [("64", 64), ("64B", 64), ("64KiB", 65536), ("1MiB", 1048576)])
def test_size_in_a_path_can_have_an_unambiguous_unit(text: str, size: int) -> None:
    stated = read_rules(["tcp-{payload_bytes}/{*}.txt"], None, []).of_log(f"tcp-{text}/a.txt")

    assert isinstance(stated, LogFields)
    assert stated.values == {"conditions.payload_bytes": size}


@pytest.mark.parametrize(("text", "example"), [("64k", 65536), ("1K", 1024), ("1M", 1048576), ("4kB", 4096), ("1GB", 1073741824)])
def test_size_with_an_ambiguous_unit_is_refused_with_advice(text: str, example: int) -> None:
    refusal = read_rules(["tcp-{payload_bytes}.txt"], None, []).of_log(f"tcp-{text}.txt")

    assert refusal == (
        f"in the path, payload_bytes = {text!r} may use units of 1000 or of 1024. State the size in bytes: "
        f"if 1024 is meant, write set = {{ payload_bytes = {example} }} into a rule for this path"
    )


@pytest.mark.parametrize("unit", ["k", "K", "M", "kB", "Ki", "KiB"])
def test_pattern_with_a_unit_directly_after_the_field_payload_bytes_is_refused(unit: str) -> None:
    with pytest.raises(UnreadableInput, match=f"{unit} follows {{payload_bytes}}, so the number would be read as bytes"):
        read_pattern(f"tcp-{{payload_bytes}}{unit}/{{*}}.txt", "--map")


@pytest.mark.parametrize("text", ["B", "-byte", "_k", "bytes", "messages", ".gz"])
def test_pattern_may_have_other_text_after_the_field_payload_bytes(text: str) -> None:
    assert read_pattern(f"tcp-{{payload_bytes}}{text}", "--map").match(f"tcp-64{text}") == {"payload_bytes": "64"}
