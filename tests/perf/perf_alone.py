"""Run a command and write down what it cost: ``perf_alone.py RESULT WORD...``, RESULT being a file that is made.

It is a process of its own, and a small one: Linux counts what a process held when it started a command as if the command had held it,
and a benchmark that has made long logs holds more than many commands do.
"""

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    _, status, used = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)
    cost = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    Path(sys.argv[1]).write_text(json.dumps(cost), "utf-8")
