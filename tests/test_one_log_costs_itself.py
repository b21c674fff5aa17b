"""Numbers that no column can store affect at most their own log: each command processes the other logs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tests.command import run_tacholog_text
from tests.depth import tries
from tests.samples import FORMATS

SAMPLES = tries(
    ("performance_test/layout-subscriber-only.log", "native/latency-udp.log", "iperf3/udp.json", "sockperf/no-server.log"),
    tuple(
        f"{path.parent.name}/{path.name}"
        for name in ("native", "performance_test", "iperf3", "ddsperf")
        for path in sorted((FORMATS / name).glob("*.*"))
    ),
)
LARGE = tries((2**63 - 1, 10**30), (2**63 - 1, 2**63, 2**64, 10**30))
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?![\w.])")
_COUNT_IN_A_ROW = re.compile(r"(\n[0-9.]+,\s+[0-9.]+,\s+)[0-9]+,")
_PLACES = tries(20, 100)


def written(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "a.log").write_text(text, encoding="utf-8")
    digest = hashlib.sha256((folder / "a.log").read_bytes()).hexdigest()
    (folder / "run.toml").write_text(f'system = "S"\n\n[[logs]]\nfile = "a.log"\nsha256 = "{digest}"\n')


def test_number_that_is_too_large_affects_at_most_its_own_log(tmp_path: Path) -> None:
    written(tmp_path / "data" / "good", (FORMATS / "iperf3" / "tcp.log").read_text())
    for at, name in enumerate(SAMPLES):
        text = (FORMATS / name).read_text(encoding="utf-8", errors="replace")
        for number in LARGE:
            written(tmp_path / "data" / f"all-{at}-{number}", _NUMBER.sub(str(number), text))
            written(tmp_path / "data" / f"row-{at}-{number}", _COUNT_IN_A_ROW.sub(rf"\g<1>{number},", text, count=1))
            places = [*_NUMBER.finditer(text)]
            for place in places[:: max(1, len(places) // _PLACES)][: 2 * _PLACES]:
                changed = f"{text[: place.start()]}{number}{text[place.end() :]}"
                written(tmp_path / "data" / f"one-{at}-{number}-{place.start()}", changed)

    for words in (["check", "data"], ["export", "data", "--output", "out.csv"], ["diff", "data/good", "data"]):
        done = run_tacholog_text(*words, cwd=tmp_path)
        assert "Traceback" not in done.stderr, words
    assert "good" in (tmp_path / "out.csv").read_text()
