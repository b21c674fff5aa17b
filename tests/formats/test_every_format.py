"""What holds for every format, our own and those that other packages add: a new one is held to it by being there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats
from tacholog.formats.source import LogText
from tacholog.records import METRICS, Record

NAMES = sorted(formats())
SAMPLES = {name: sorted(path for path in (Path(__file__).parent / name).iterdir() if path.name != "README.md") for name in NAMES}
WORDS = ["Length:", "Packets:", "Latency: Ave", "us", "Mbps(ave):", "Lost:", "99.9999% (\u03bcs)", "Sample Size (Bytes)", "\u2022 Reliable"]
WORDS += ["latency", "payload_bytes=64", "histogram", "bins=1:2:3", "end", "status=ok", 'text="', "\\", "(0.00%)"]
WORDS += ["1", "0", "3.5", "-1", "\x00", "\x1b[0m", "\n", "\r\n", " "]


def scanned(data: bytes, name: str) -> tuple[Scan, list[Event]]:
    """A log read in the format of that name."""
    scan = Scan(LogText(io.BytesIO(data)), name)
    return scan, list(scan)


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_reads(name: str) -> None:
    module = formats()[name]

    assert (module.__doc__ or "").strip().endswith(".")
    assert "Source:" in (module.__doc__ or "")
    assert all(dialect.name and dialect.versions and dialect.evidence for dialect in module.DIALECTS)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_sample_logs_and_knows_its_own(name: str) -> None:
    assert SAMPLES[name]
    for path in SAMPLES[name]:
        assert formats()[name].detect(path.read_text(errors="replace")).fits, path


@pytest.mark.parametrize("name", NAMES)
def test_nobody_elses_log_is_taken_for_its_own(name: str) -> None:
    for other in set(NAMES) - {name}:
        assert not any(formats()[name].detect(path.read_text(errors="replace")).fits for path in SAMPLES[other])


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_a_sample_is_in_one_class(name: str) -> None:
    for path in SAMPLES[name]:
        scan, events = scanned(path.read_bytes(), name)

        numbers = sorted(number for event in events for number in event.lines)
        assert numbers == list(range(1, scan.account.total + 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_of_a_known_metric_and_every_definition_is_defined(name: str) -> None:
    for path in SAMPLES[name]:
        for event in scanned(path.read_bytes(), name)[1]:
            if isinstance(event.what, Record):
                assert {number.metric for number in event.what.numbers} <= METRICS.keys()
                assert event.what.conditions.definition in formats()[name].DEFINITIONS


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=300, deadline=None)
@given(data=st.one_of(st.binary(max_size=2000), st.lists(st.sampled_from(WORDS), max_size=80).map(lambda words: " ".join(words).encode())))
def test_any_bytes_are_accounted_for(name: str, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return  # UTF-16 is refused with a message, see test_source.py
    scan, events = scanned(data, name)

    text = data.removeprefix(b"\xef\xbb\xbf") if not data.startswith(b"\x1f\x8b") else b""
    expected = text.count(b"\n") + bool(text.rsplit(b"\n", 1)[-1])
    assert scan.account.total == expected
    assert sum(len(event.lines) for event in events) == expected


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=200, deadline=None)
@given(where=st.floats(0, 1))
def test_a_log_cut_anywhere_yields_no_record_that_the_whole_log_does_not_hold(name: str, where: float) -> None:
    for path in SAMPLES[name]:
        data = path.read_bytes()
        whole = [event.what for event in scanned(data, name)[1] if isinstance(event.what, Record)]

        cut = [event.what for event in scanned(data[: int(where * len(data))], name)[1] if isinstance(event.what, Record)]

        assert cut == whole[: len(cut)]
