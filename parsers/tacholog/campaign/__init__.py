"""Campaigns: read what to measure, plan the runs, do them, and keep every log.

A campaign file (``bench/campaigns/*.toml``, `tacholog.campaign.campaign_file`) has blocks of runs. Each combination of the lists under a block's
``vary`` is one variant. A placeholder such as ``{transport}`` in the block's command, conditions, labels or name is replaced by the value of that
name: from ``vary``, from ``options``, ``{cpu_pub}`` and ``{cpu_sub}``, or ``{b.address}`` of a host. A command is a list of arguments, and no shell
reads it.

A block has a ``command``, whose output is the log of the run, or several ``processes``, each with its own log. They are started in order, each when
the one before it is ready (`tacholog.campaign.execution`). What they used is in the run's ``resources.log``.

Before the first run, ``plan.toml`` is written into the campaign's folder. It lists all runs in their order, and the random seed of that order.
The last step of each run writes its ``run.toml``, complete or not at all. So a run without ``run.toml`` has not been done yet. To resume a campaign,
nothing else must be known.

Processes run on machines (`tacholog.campaign.machines`): on this machine, on this machine behind a prefix for each command, or on a host over ssh.

`tacholog.campaign.pairs` runs one campaign with two builds, in interleaved pairs.
"""
