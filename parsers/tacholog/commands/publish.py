"""Publish a built site beside its older versions.

The newest version is at the root. Each release also stays at versions/LABEL/.

SITE is a folder in which tacholog report built a whole site.  [default: build/site]

Published pages stay as they were. If the newest version no longer has an address, that address leads to the version that had it.
The new content is written beside the folder and then takes its place in one step, so everything is published or nothing.
Exit code 2: nothing was published; the message says why.
"""

from __future__ import annotations

import html
import os
from pathlib import Path

import click

from tacholog.commands._paths import Folder
from tacholog.extras import require
from tacholog.resources import checkout


@click.command(help=__doc__)
@click.argument("site", required=False, type=click.Path(path_type=Path))
@click.option("--release", "label", required=True, metavar="LABEL", help="What this version is called.")
@click.option("--output", metavar="DIR", type=Folder(), help="The folder of published versions.")
@click.option("--branch", metavar="NAME", help="A branch to publish on instead, such as gh-pages.")
@click.option("--push", is_flag=True, help="Push the branch to origin.")
@click.option("--replace", is_flag=True, help="Publish again a release that was published before.")
@click.option("--incomplete", is_flag=True, help="Publish although some runs, logs or folders could not be read.")
def publish(*, site: Path | None, label: str, output: Path | None, branch: str | None, push: bool, replace: bool, incomplete: bool) -> None:
    """Publish the site to a folder or a branch."""
    from tacholog.site.publish import publish as publish_folder
    from tacholog.site.publish import publish_branch

    if (output is None) == (branch is None):
        raise click.UsageError("say where: either --output DIR or --branch NAME")
    built = (site or (checkout() or Path.cwd()) / "build" / "site").resolve()
    if branch is not None:
        require("site", "tacholog publish --branch")
        publish_branch(built, branch, label, replace=replace, incomplete=incomplete, push=push)
        click.echo(f"{label} is on the branch {branch}{' of origin' if push else '; not pushed (git push origin ' + branch + ')'}")
    elif output is not None:
        version = publish_folder(built, output, label, replace=replace, incomplete=incomplete)
        click.echo(f"{label} is in {version}, and at the root of {output}")
    _summarise(built)


def _summarise(built: Path) -> None:
    """Print what changed with the newest release. In a job on GitHub, also append it to the summary of the job."""
    from tacholog.site.build import LATEST_DIFF

    found = built / LATEST_DIFF
    if not found.is_file():
        return
    summary_text = found.read_text(encoding="utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(summary_text)
    click.echo(f"what changed: {html.unescape(summary_text.partition(chr(10))[0].lstrip('# '))} ({found})")
