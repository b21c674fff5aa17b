"""Run a command and write its resources to a new file: ``perf_alone.py RESULT WORD...``.

This must be a small process: Linux counts the memory of the process that starts a command as memory of the command. A benchmark that has made long
logs has more memory than many commands.
"""

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    _, status, used = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)
    cost = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    Path(sys.argv[1]).write_text(json.dumps(cost), "utf-8")
