"""Campaigns: what to measure, in which order, and each run kept as it came out.

A campaign file (``bench/campaigns/*.toml``) has blocks of runs. In a block the lists under ``vary`` multiply; ``{words}`` in its command,
conditions and name stand for those values, for its ``options`` and for ``{cpu_pub}``, ``{cpu_sub}``. A command is a list of arguments and
never meets a shell; what the process prints is the run's log.

A campaign's folder begins with ``plan.toml``: every run in its order, with the seed that drew it. A run's ``run.toml`` is written last,
whole or not at all, so a run without one is still to be done: that is all that resuming needs to know.

`tacholog.campaign.pairs` makes two campaigns of one: two builds, run in interleaved pairs.
"""

from tacholog.campaign.plan import Campaign, Plan, PlannedRun, read_campaign, schedule_runs
from tacholog.campaign.runs import campaign_folders, copy_to_data, failure_reason, measure, newest_unfinished, pending, release_folder, resume, start
from tacholog.campaign.tools import find_programs
from tacholog.runs.manifest import PLAN_FILE

__all__ = [
    "PLAN_FILE",
    "Campaign",
    "Plan",
    "PlannedRun",
    "campaign_folders",
    "copy_to_data",
    "failure_reason",
    "find_programs",
    "measure",
    "newest_unfinished",
    "pending",
    "read_campaign",
    "release_folder",
    "resume",
    "schedule_runs",
    "start",
]
