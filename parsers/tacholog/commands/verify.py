"""Verify that a site or a folder of runs agrees with its logs.

Nothing is downloaded, and no number is taken from the build.

For a folder of runs, every log is read again, and its SHA-256 is compared with run.toml.

For a site (built or published), the raw logs that it offers are read again. Every row of the Parquet file for download, and every number on a page
that leads to a log line, is compared with them. If a published log was redacted, its SHA-256 is compared with the SHA-256 that the site states. Logs
that the site marks as changed since they were recorded are named too. All other files of a built site are compared with its list of files. A
published site has no such list: its CSV and JSON lines are compared with the Parquet file, and results/latest.json with the logs. The newest version
of a published site is checked; to check another one, name its folder versions/LABEL.

\b
Exit codes:
  0  everything agrees
  2  wrong usage, or there is nothing to verify
  3  something is not what the logs say: it is named
"""  # noqa: D301 - click takes the sign itself for "leave these lines as they are"

from __future__ import annotations

import sys
from pathlib import Path

import click

from tacholog import terminal
from tacholog.commands.shared.arguments import Folder
from tacholog.commands.shared.messages import Progress
from tacholog.errors import UnreadableInput

_WRONG = 3


@click.command(help=__doc__)
@click.argument("folder", metavar="SITE_OR_DATA", type=Folder(exists=True))
@click.option("--format", "output", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to print the receipt.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="How many findings the text lists; 0: all.")
def verify(folder: Path, output: str, limit: int) -> None:
    """Verify a site or a folder of runs, and print the receipt."""
    from tacholog.site.verification.receipt import reasons, text, verify_data
    from tacholog.site.verification.site import as_json, is_site, verify_site

    receipt = verify_site(folder) if is_site(folder) else verify_data(folder, Progress())
    if not receipt.logs and receipt.findings:
        raise UnreadableInput(f"{folder}: no log could be read: {reasons(receipt)}")
    if not receipt.logs:
        raise UnreadableInput(f"{folder}: neither a site nor a folder of runs: there is no run.toml below it, and it offers no raw logs")
    if output == "json":
        terminal.data(as_json(receipt))
    else:
        click.echo(text(receipt, limit), nl=False)
    sys.exit(_WRONG if receipt.findings else 0)
