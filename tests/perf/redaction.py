"""The cost of redaction: the bytes of text that are searched for names and redacted per CPU second, and the time for very long lines.

CPU time is measured because the machine is shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from perf_table import Effort, Goal, Row

from tacholog.privacy.free_text import WORDS_FILE
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.native_log import native_line
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy

ROOT = Path(__file__).parent.parent.parent
TEXT_BYTES = 4_000_000
LONG_LINE = 1 << 20
GOAL_BYTES_A_CPU_SECOND, GOAL_LONG_LINE_NS = 20e6, 1e9
PIECES = ("a+", "a", "/a ", "a.com ", "a@", "::", "1.1.1.1 ", "host=a ", "ssh ", "a\\b ", "~a ", "file:///a ", "ghp_", "\u00e9", "\x00", " ", 'a="')


def measure(effort: Effort) -> Iterator[Row]:
    """Measure each kind of text. Then measure long lines: each is 1 MiB and repeats one of `PIECES`."""
    native = (ROOT / "tests/formats/native/throughput-probes-shm.log").read_text()
    kinds = {
        "native log": (native, native_line),
        "RTI's summaries": (_summaries(), _text),
        "prose (docs/native-log.md)": ((ROOT / "docs/native-log.md").read_text(), _text),
        "public words": ("\n".join(" ".join(WORDS_FILE.read_text().split()[at : at + 12]) for at in range(0, 3000, 12)), _free),
    }
    for name, (text, make) in kinds.items():
        lines = (text * (TEXT_BYTES // len(text) + 1)).split("\n")
        size = sum(map(len, lines))
        names = KnownNames(Privacy(), {"buildbox": "host-0a1b2c"})
        redactor = Redactor(names)
        for what, do in (("learned", partial(_learn, names)), ("shown", lambda line, make=make, redactor=redactor: make(line, redactor))):
            cost = min(_cost(do, lines) for _ in range(effort.rounds))
            yield Row(f"{name}, {what}, a CPU-second", size / cost, "B/s", "aim", GOAL_BYTES_A_CPU_SECOND, Goal(">=", 1))
    for piece in PIECES:
        line = (piece * LONG_LINE)[:LONG_LINE]
        names = KnownNames(Privacy(), {})
        cost = _cost(partial(_learn, names), [line]) + _cost(Redactor(names).free, [line])
        yield Row(f"1 MiB of {piece!r}", cost * 1e9, "ns", "aim", GOAL_LONG_LINE_NS, Goal("<=", 1))


def _learn(names: KnownNames, line: str) -> None:
    names.add(names.found_in([line]))


def _cost(do: Callable[[str], object], lines: list[str]) -> float:
    began = time.process_time()
    for line in lines:
        do(line)
    return time.process_time() - began


def _text(line: str, redactor: Redactor) -> str:
    return redactor.text(line)


def _free(line: str, redactor: Redactor) -> str:
    return redactor.free(line)


def _summaries() -> str:
    line = "Length: {0:5d}  Packets: {1:8d}  Packets/s(ave): {2:7d}  Mbps(ave): {3:7.1f}  Lost: {4:5d} (0.00%)\n"
    return "".join(line.format(size, size * 977, size * 31, size / 7, size % 7) for size in range(32, 65536, 37))
