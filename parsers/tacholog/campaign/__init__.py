"""Campaigns: read the campaign file, plan the runs, do them, and keep all logs.

A campaign file (``bench/campaigns/*.toml``, `tacholog.campaign.campaign_file`) has blocks of runs. Each combination of the lists under a block's
``vary`` is one variant. The block's command, conditions, labels and name may contain placeholders. For example, ``{transport}`` is replaced by the
value of ``transport`` in ``vary`` or ``options``. The placeholders ``{cpu_pub}`` and ``{cpu_sub}`` are replaced by CPUs, and ``{b.address}`` is
replaced by the address of host ``b``. A command is a list of arguments, and no shell interprets it.

A block has a ``command``, whose output is the log of the run, or several ``processes``, each with its own log. The processes are started in order:
each starts when the previous process is ready (`tacholog.campaign.execution`). The resources that they used are in the ``resources.log`` of the run.

Before the first run, ``plan.toml`` is written into the folder of the campaign. It lists all runs in their order, and the random seed of the order.
The last step of each run writes its ``run.toml`` atomically. So a run without ``run.toml`` has not been done yet, and this is the only state that is
needed to resume a campaign.

Processes run on machines (`tacholog.campaign.machines`): on this machine, on this machine behind a prefix for each command, or on a host over ssh.

`tacholog.campaign.pairs` runs one campaign with two builds, in interleaved pairs.
"""
