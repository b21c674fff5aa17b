"""Machines and the processes on them.

A `LocalMachine` is this machine, with or without a prefix of each command. A `RemoteMachine` is a host that is reached over ssh. Both have the same
public methods, which `LocalMachine` and `LocalProcess` describe. A run opens its machines, starts its processes on them in order, waits, and collects
their logs. Then it closes the machines, so that a lost connection costs one run and not the campaign.
"""

from tacholog.campaign.machines.local import LocalMachine, LocalProcess
from tacholog.campaign.machines.remote import RemoteMachine, RemoteProcess

Machine = LocalMachine | RemoteMachine
#: A process that was started. Only its method ``collect`` blocks.
RunningProcess = LocalProcess | RemoteProcess
