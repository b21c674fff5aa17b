"""Publish a built site, and keep its older versions.

The newest version is at the root of the output folder. Each version also stays at versions/LABEL/.

SITE is the folder of a complete site that tacholog report built.  [default: build/site]

Pages that were published before are not changed. If the newest version no longer has a page, the old address leads to the last version with this
page. The new content is written next to the output folder and then replaces it in one step: either everything is published or nothing.

Exit code 2: nothing was published, or the branch was committed but not pushed. The message states which of the two, and the reason. After a failed
push, the same command pushes the existing commit.
"""

from __future__ import annotations

import html
import os
from pathlib import Path

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder, home


@click.command(help=__doc__)
@click.argument("site", required=False, type=click.Path(path_type=Path))
@click.option("--release", "label", required=True, metavar="LABEL", help="The name of this version.")
@click.option("--output", metavar="DIR", type=Folder(), help="The folder for the published versions.")
@click.option("--branch", metavar="NAME", help="Publish on a git branch instead, such as gh-pages.")
@click.option("--push", is_flag=True, help="Push the branch to origin.")
@click.option("--replace", is_flag=True, help="Replace a version that was published before.")
@click.option("--incomplete", is_flag=True, help="Publish even if some runs, logs or folders could not be read, or are not what was recorded.")
def publish(*, site: Path | None, label: str, output: Path | None, branch: str | None, push: bool, replace: bool, incomplete: bool) -> None:
    """Publish into a folder or on a branch, and summarise what changed."""
    from tacholog.site.publish import publish as publish_folder
    from tacholog.site.publish import publish_branch
    from tacholog.site.stamp import large_of

    if (output is None) == (branch is None):
        raise click.UsageError("give either --output DIR or --branch NAME")
    built = (site or home() / "build" / "site").resolve()
    for sentence in large_of(built):
        terminal.line(f"tacholog: {sentence}", err=True)
    if branch is not None:
        publish_branch(built, branch, label, replace=replace, incomplete=incomplete, push=push)
        click.echo(f"{label} is on the branch {branch}{' of origin' if push else '; not pushed (git push origin ' + branch + ')'}")
    elif output is not None:
        version = publish_folder(built, output, label, replace=replace, incomplete=incomplete)
        click.echo(f"{label} is in {version}, and at the root of {output}")
    _summarise(built)


def _summarise(built: Path) -> None:
    """Print the changes of the newest release. In a GitHub job, the job summary gets the complete comparison."""
    from tacholog.site.whole import LATEST_DIFF

    path = built / LATEST_DIFF
    if not path.is_file():
        return
    comparison = path.read_text(encoding="utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(comparison)
    for heading in (line for line in comparison.splitlines() if line.startswith("### ")):
        terminal.remark(f"what changed: {html.unescape(heading.lstrip('# '))} ({path})", err=False)
