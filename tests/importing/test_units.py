"""Rates, times and shares can have units in paths, settings and rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.runs.importing.fields import typed
from tacholog.runs.importing.patterns import read_pattern
from tacholog.runs.importing.rules import LogFields, read_rules


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("network_bandwidth_bit_per_s", "100M", 1e8),
        ("network_bandwidth_bit_per_s", "100Mbit", 1e8),
        ("network_bandwidth_bit_per_s", "100mbit", 1e8),
        ("network_bandwidth_bit_per_s", "5.5 Mbit/s", 5.5e6),
        ("link_bit_per_s", "1G", 1e9),
        ("link_bit_per_s", "64K", 64e3),
        ("link_bit_per_s", "10000000000", 1e10),
        ("network_delay_ns", "10ms", 10_000_000),
        ("network_delay_ns", "0ms", 0),
        ("network_jitter_ns", "250us", 250_000),
        ("network_jitter_ns", "1.5µs", 1500),
        ("network_loss_percent", "2%", 2.0),
        ("network_loss_percent", "0.1%", 0.1),
        ("offered_rate_per_s", "10k", 1e4),
        ("offered_rate_per_s", "1.2kHz", 1200.0),
    ],
)
def test_number_of_a_condition_may_have_a_suitable_unit(name: str, text: str, value: float) -> None:
    assert typed(f"conditions.{name}", text) == value


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("network_bandwidth_bit_per_s", "100MB", "a number above 0, such as 54000000, 54M or 54Mbit/s"),
        ("link_bit_per_s", "1Gi", "a number above 0, such as 1000000000, 1G or 1Gbit/s"),
        ("network_delay_ns", "10m", "a whole number that is not negative, such as 10000000, 10ms or 250us"),
        ("network_delay_ns", "0.5ns", "a whole number that is not negative, such as 10000000, 10ms or 250us"),
        ("network_loss_percent", "2ms", "a number that is not negative, such as 2 or 2%"),
    ],
)
def test_units_that_a_quantity_does_not_accept_are_refused(name: str, text: str, wanted: str) -> None:
    with pytest.raises(ValueError, match="is not") as refused:
        typed(f"conditions.{name}", text)

    assert str(refused.value) == f"{name} = {text!r} is not {wanted}"


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        ("bw-{network_bandwidth_bit_per_s}M.log", "M"),
        ("bw-{network_bandwidth_bit_per_s}Mbit-{repetition}.log", "Mbit"),
        ("{conditions.network_delay_ns}ms/a.log", "ms"),
        ("{offered_rate_per_s}kHz.log", "kHz"),
    ],
)
def test_pattern_with_a_unit_directly_after_a_field_is_refused(pattern: str, unit: str) -> None:
    with pytest.raises(UnreadableInput, match=f"{unit} follows .*; leave out {unit}: the field reads the unit with the number"):
        read_pattern(pattern, "--map")


@pytest.mark.parametrize(
    "pattern", ["{network_loss_percent}%.log", "{offered_rate_per_s}Hz.log", "{network_delay_ns}ns.log", "{link_bit_per_s}Mixed.log"]
)
def test_pattern_may_have_a_base_unit_or_another_word_after_a_field(pattern: str) -> None:
    assert read_pattern(pattern, "--map").fields


def test_units_are_read_in_paths_settings_and_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(
        '[[rule]]\npath = "bw-{network_bandwidth_bit_per_s}/{offered_rate_per_s}-{network_loss_percent}.log"\nset = { network_delay_ns = "10ms" }\n'
    )
    rules = read_rules((), tmp_path / "rules.toml", ("network_jitter_ns=250us",))

    fields = rules.of_log("bw-54Mbit/10k-2%.log")

    assert isinstance(fields, LogFields)
    assert fields.values == {
        "conditions.network_bandwidth_bit_per_s": 54e6,
        "conditions.offered_rate_per_s": 1e4,
        "conditions.network_loss_percent": 2.0,
        "conditions.network_delay_ns": 10_000_000,
        "conditions.network_jitter_ns": 250_000,
    }
