"""Measure in about one minute the smallest change that this machine can show.

The same build is measured as both sides of a comparison, in interleaved pairs. The differences of the pairs show the noise. From the noise,
the command computes, for several numbers of pairs, the smallest change that tacholog diff and tacholog ab would find.

Without CAMPAIGN, perftest measures its own transports shm and tcp: the latency of 64 bytes and the rate of 16 KiB, in short runs. With the campaign
that you will use for comparisons, the answer is more exact, and takes longer: at least 6 pairs are made. The runs are not kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import msgspec

from tacholog import terminal
from tacholog.campaign.builds import Build
from tacholog.campaign.campaign_file import Campaign, read_campaign
from tacholog.campaign.campaign_folder import failure_reason
from tacholog.campaign.pairs import Pairs, start_pairs
from tacholog.campaign.preview import preview
from tacholog.campaign.programs import find_programs
from tacholog.commands.diff import band_roots
from tacholog.commands.shared.campaigns import measure_all
from tacholog.commands.shared.messages import counted, duration
from tacholog.compare.policy import MIN_RUNS, Policy
from tacholog.compare.result import Comparison
from tacholog.errors import TachologError
from tacholog.installation import checkout
from tacholog.runs.host import this_host
from tacholog.runs.manifest import RUN_FILE, read_manifest

CAMPAIGN = """
system = "Tacholog perftest"
tool = "perftest"
version_command = ["perftest", "--version"]
format = "native"
repetitions = 1

[[runs]]
name = "latency-shm"
command = [
  "perftest", "--test", "latency", "--transport", "shm", "--role", "both", "--sizes", "{sizes_bytes}", "--duration", "{duration_s}",
  "--warmup", "{warmup_s}", "--touch", "write+read", "--cpu-pub", "{cpu_pub}", "--cpu-sub", "{cpu_sub}", "--output", "-",
]
options = { sizes_bytes = [64], duration_s = 0.3, warmup_s = 0.1 }
conditions = { transport = "shm", load_mode = "closed", payload_touched = "write+read", publishers = 1, subscribers = 1 }

[[runs]]
name = "latency-tcp"
command = [
  "perftest", "--test", "latency", "--transport", "tcp", "--role", "both", "--sizes", "{sizes_bytes}", "--duration", "{duration_s}",
  "--warmup", "{warmup_s}", "--touch", "write+read", "--cpu-pub", "{cpu_pub}", "--cpu-sub", "{cpu_sub}", "--output", "-",
]
options = { sizes_bytes = [64], duration_s = 1.0, warmup_s = 0.1 }
conditions = { transport = "tcp", load_mode = "closed", payload_touched = "write+read", publishers = 1, subscribers = 1 }

[[runs]]
name = "rate-{transport}"
command = [
  "perftest", "--test", "throughput", "--transport", "{transport}", "--role", "both", "--sizes", "{sizes_bytes}", "--duration", "{duration_s}",
  "--warmup", "{warmup_s}", "--touch", "write+read", "--cpu-pub", "{cpu_pub}", "--cpu-sub", "{cpu_sub}", "--output", "-",
]
vary.transport = ["shm", "tcp"]
options = { sizes_bytes = [16384], duration_s = 0.3, warmup_s = 0.1 }
conditions = { transport = "{transport}", load_mode = "max-rate", payload_touched = "write+read", publishers = 1, subscribers = 1 }
"""
_METRICS = ("latency:p50", "latency:p99", "goodput")  # p99.9 needs longer runs


@click.command(help=__doc__)
@click.argument("campaign", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--perftest", type=click.Path(path_type=Path), help="The perftest to run.  [default: the build in the checkout, else on the PATH]")
@click.option(
    "--minutes", type=click.FloatRange(min=0, min_open=True), default=1, show_default=True, help="How long to measure. At least 6 pairs are measured."
)
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", show_default=True, help="How to print the result.")
def noise(*, campaign: Path | None, perftest: Path | None, minutes: float, output_format: str) -> None:
    """Measure pairs of one build, and print what they show."""
    from tacholog.compare.noise import machine_facts, noise_rows
    from tacholog.render import noise as words
    from tacholog.render.diff.words import remark
    from tacholog.view.names import row_name

    tools = find_programs(perftest, checkout())
    with tempfile.TemporaryDirectory(prefix="tacholog-noise-") as name:
        path = campaign or Path(name) / "noise.toml"
        if campaign is None:
            path.write_text(CAMPAIGN, encoding="utf-8")
        planned = read_campaign(path)
        build = Build("one build", tools)
        begun = start_pairs(path, Path(name) / "runs", (build, build), _pairs_in_time(planned, path, tools, minutes))
        runs = [run for plan in begun.plans for run in plan.runs]
        about = duration(sum(run.expected_s for run in runs))
        terminal.remark(f"{counted(begun.record.pairs, 'pair')} of one build with itself: {len(runs)} runs, about {about}.")
        measure_all(begun.tasks(), begun.record.runs)
        report = _compared(begun, Policy(metrics=() if campaign else _METRICS))
        manifests = [
            read_manifest(folder / run.folder / RUN_FILE) for folder, plan in zip(begun.sides, begun.plans, strict=True) for run in plan.runs
        ]
        rows = noise_rows(report)
        if not rows:
            why = failure_reason(begun.sides[0], begun.plans[0].runs[0]) or "; ".join(remark(row) for row in report.rows[:1]) or "no results"
            raise TachologError(f"no row of {path.name} could be judged ({why})")
    facts = machine_facts(this_host(), [manifest.environment for manifest in manifests])
    untested = [f"No figure for {row_name(row.key)}: {remark(row)}." for row in report.rows if row.key not in {judged.key for judged in rows}]
    if output_format == "json":
        document = {"schema": "noise/1", "answer": words.answer(rows), "advice": words.advice(rows, facts), "machine": facts, "rows": rows}
        terminal.data(msgspec.json.format(msgspec.json.encode(document)).decode() + "\n")
    else:
        click.echo(words.text(rows, facts, untested), nl=False)


def _pairs_in_time(planned: Campaign, path: Path, tools: dict[str, Path], minutes: float) -> int:
    repetition = preview(msgspec.structs.replace(planned, repetitions=1), path.stem, tools).plan.runs
    return max(MIN_RUNS, int(60 * minutes / (2 * sum(run.expected_s for run in repetition))))


def _compared(begun: Pairs, policy: Policy) -> Comparison:
    from tacholog.compare import bands
    from tacholog.compare.diff.compare import compare
    from tacholog.compare.sides import find

    sides = [find(str(folder), ()) for folder in begun.sides]
    return compare(sides[0], sides[1], policy, measured=bands.find_same_build(sides, band_roots()))
