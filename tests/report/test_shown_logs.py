"""A build keeps the redacted logs that it still shows, and deletes the other redacted logs of earlier builds."""

from __future__ import annotations

from pathlib import Path

from tacholog.privacy.logs import LogFolder, line_classes_file


def build(folder: Path, runs: dict[str, list[str]]) -> None:
    """Write redacted logs for each run, as a build of a site writes them."""
    shown = LogFolder(folder)
    for run, logs in runs.items():
        of_run = shown.of_run(run)
        for path in (*(of_run / log for log in logs), *(Path(line_classes_file(str(of_run), log)) for log in logs)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(run)
        shown.keep(of_run, logs)
    shown.close()


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def test_log_that_is_no_longer_shown_is_deleted(tmp_path: Path) -> None:
    build(tmp_path / "shown", {"a": ["pub.log", "sub.log"], "b": ["sub.log"]})
    assert len(files(tmp_path / "shown")) == 6

    build(tmp_path / "shown", {"a": ["sub.log"]})

    assert [Path(path).name for path in files(tmp_path / "shown") if path.endswith(".log")] == ["sub.log"]
    assert len(files(tmp_path / "shown")) == 2  # The log and the classes of its lines.
    assert len(list((tmp_path / "shown").iterdir())) == 2


def test_files_of_a_stopped_build_are_deleted(tmp_path: Path) -> None:
    build(tmp_path / "shown", {"a": ["sub.log"]})
    stopped = LogFolder(tmp_path / "shown")
    (stopped.of_run("a") / "half.log").write_text("of a name that is private now")

    build(tmp_path / "shown", {"a": ["sub.log"]})

    assert [Path(path).name for path in files(tmp_path / "shown") if path.endswith(".log")] == ["sub.log"]
    assert len(files(tmp_path / "shown")) == 2
