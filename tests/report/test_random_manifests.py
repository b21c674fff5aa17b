"""A manifest with any content affects at most its own run: invisible names are refused, and redacted manifests are valid."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import tomli_w
from tests.command import run_tacholog_text
from tests.depth import tries

from tacholog.errors import UnreadableInput
from tacholog.privacy.classes import published_manifest
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Manifest, read_manifest

LOG = Path(__file__).parent.parent / "formats" / "iperf3" / "tcp.log"
SHA256 = hashlib.sha256(LOG.read_bytes()).hexdigest()
UNSEEN = ("\x1b]x\x07", "\x1b]0;x", "\x1b[31m", "\u200b", "\u0301\u0301", "\u202e \ufeff", "\x00", " \t\u00ad")
#: Texts with a meaning in one of the steps from a manifest to a page.
PIECES = (
    *UNSEEN,
    *("a", "x" * 80, "node1", "publisher", "ok", "10.9.8.7", "aa:bb:cc:dd:ee:ff", "/home/bob/x", "bob@acme.com", "ssh -l bob h", "--password=p"),
    *(
        "é",
        "e\u0301",
        "日本",
        "\U0001f600",
        "\ud7ff",
        "<b>",
        "&amp;",
        "{{ x }}",
        "`",
        "|",
        "\n",
        "\r",
        "\\",
        '"',
        "..",
        ".",
        "%s",
        "-",
        "_",
        "0",
        "=",
        "K",
        "\u212a",
    ),
)


def texts(chance: random.Random) -> str:
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 4)))


def value(chance: random.Random, depth: int = 0) -> object:
    kinds: list[Callable[[], object]] = [lambda: texts(chance), lambda: chance.choice((0, -1, 2**63 - 1, 1.5, True)), lambda: [texts(chance)]]
    kinds += [lambda: {texts(chance): value(chance, depth + 1)}] if depth < 3 else []
    return chance.choice(kinds)()


def manifest(chance: random.Random) -> dict[str, object]:
    found: dict[str, object] = {"system": texts(chance), "logs": [{"file": "a.log", "sha256": SHA256}]}
    for name in ("tool", "tool_version", "release", "host", "session", "campaign", "reason", "start_time", "system_version"):
        if chance.random() < 0.3:
            found[name] = texts(chance)
    if chance.random() < 0.5:
        found["labels"] = {chance.choice(("a", "b", "node1", "x" * 64)): texts(chance)[:200] for _ in range(3)}
    for name in ("options", "environment"):
        if chance.random() < 0.3:
            found[name] = {texts(chance): value(chance) if name == "options" else texts(chance)}
    if chance.random() < 0.3:
        found["notes"] = [texts(chance)]
    if chance.random() < 0.3:
        found["commands"] = [{"role": texts(chance), "argv": [texts(chance), texts(chance)], "host": texts(chance)}]
    if chance.random() < 0.2:
        found["status"] = chance.choice(("ok", "failed", "nothing"))
    return found


def written(folder: Path, content: dict[str, object]) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.log").write_bytes(LOG.read_bytes())
    (folder / "run.toml").write_text(tomli_w.dumps(content), encoding="utf-8")
    return folder / "run.toml"


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("field", ["system", "release", "host", "labels.a"])
def test_invisible_name_is_refused_like_a_blank_name(tmp_path: Path, field: str, unseen: str) -> None:
    named = {"labels": {"a": unseen}} if field == "labels.a" else {field: unseen}
    path = written(tmp_path / "run", {"system": "S", "logs": [{"file": "a.log", "sha256": SHA256}], **named})

    with pytest.raises(UnreadableInput) as error:
        read_manifest(path)
    assert f"{path}: {field} is blank" in str(error.value) or "a name that is not empty or blank" in str(error.value)


def test_each_of_ten_thousand_manifests_is_refused_or_shown(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311
    path = tmp_path / "run.toml"
    shown = 0
    for number in range(tries(500, 10_000)):
        names = KnownNames(Privacy(hide=tuple(chance.sample(("publisher", "ok", "node1", "bob", "a"), 2))), {})
        path.write_text(tomli_w.dumps(manifest(chance)), encoding="utf-8")
        try:
            found = read_manifest(path)
        except UnreadableInput:
            continue
        text = msgspec.json.encode(published_manifest(found, Redactor(names)))
        assert msgspec.json.decode(text, type=Manifest).logs[0].sha256 == SHA256, number
        shown += 1

    assert shown > tries(200, 4000)


def test_site_leaves_out_only_the_runs_of_invalid_manifests(tmp_path: Path) -> None:
    chance = random.Random(2)  # noqa: S311
    written(tmp_path / "data" / "good", {"system": "Good", "logs": [{"file": "a.log", "sha256": SHA256}]})
    written(tmp_path / "data" / "unseen", {"system": "\x1b]x\x07", "logs": [{"file": "a.log", "sha256": SHA256}]})
    written(tmp_path / "data" / "label", {"system": "S", "labels": {"a": "\x1b]0;x\x07"}, "logs": [{"file": "a.log", "sha256": SHA256}]})
    for number in range(tries(10, 300)):
        written(tmp_path / "data" / f"run{number}", manifest(chance))

    checked = run_tacholog_text("check", tmp_path / "data")
    built = run_tacholog_text("report", tmp_path / "data", "--output", tmp_path / "site")

    assert "unseen/run.toml: system is blank" in checked.stdout
    assert "label/run.toml: labels.a is blank" in checked.stdout
    assert "Traceback" not in checked.stderr + built.stderr
    assert (tmp_path / "site" / "index.html").is_file(), built.stderr
    assert "Good" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
