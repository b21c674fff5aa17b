"""Machines and the processes on them.

A `LocalMachine` is this machine, with or without a prefix before each command. A `RemoteMachine` is a host that is reached over ssh. Both have the
same public methods; the docstrings of `LocalMachine` and `LocalProcess` describe them. A run opens its machines, starts its processes in order,
waits, and collects their logs. Then it closes the machines. So a lost connection affects only one run of the campaign.
"""

from tacholog.campaign.machines.local import LocalMachine, LocalProcess
from tacholog.campaign.machines.remote import RemoteMachine, RemoteProcess

Machine = LocalMachine | RemoteMachine
#: A started process. Its method ``collect`` waits; all other methods return immediately.
RunningProcess = LocalProcess | RemoteProcess
