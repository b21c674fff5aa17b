"""A name of both a folder and a release is read as the folder, and a message states this."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tests.command import run_tacholog_text

LOG = Path(__file__).parent.parent / "formats" / "iperf3" / "tcp.log"


def run(folder: Path, release: str) -> None:
    folder.mkdir(parents=True)
    shutil.copy(LOG, folder / "a.log")
    digest = hashlib.sha256(LOG.read_bytes()).hexdigest()
    (folder / "run.toml").write_text(f'system = "S"\nrelease = "{release}"\n\n[[logs]]\nfile = "a.log"\nsha256 = "{digest}"\n')


def test_folder_with_the_name_of_a_release_is_reported(tmp_path: Path) -> None:
    for release in ("a", "b"):
        run(tmp_path / "data" / release, release)
    run(tmp_path / "b" / "1", "other")

    hidden = run_tacholog_text("diff", "a", "b", "--data", "data", cwd=tmp_path)
    plain = run_tacholog_text("diff", "a", "./b", "--data", "data", cwd=tmp_path)

    words = "b: this is read as the folder ./b, not as the release b in data; write ./b for the folder, or call the command from another folder"
    assert words in hidden.stderr
    assert "this is read as" not in plain.stderr


def test_shell_completion_of_an_option_value_prints_the_values(tmp_path: Path) -> None:
    asked = {"_TACHOLOG_COMPLETE": "bash_complete", "COMP_WORDS": "tacholog diff 1.0 1.1 --format ", "COMP_CWORD": "5"}

    done = run_tacholog_text(cwd=tmp_path, environment=asked)

    assert "Traceback" not in done.stderr
    assert done.stdout.split() == ["plain,text", "plain,markdown", "plain,json", "plain,html", "plain,github", "plain,comment"]
