"""Requirements: limits that a team sets for its own numbers, such as "p99 at 1 KiB stays under 5 us", and whether runs show that they hold.

`file` reads them, `select` finds the rows that one names, `interval` says within which range the median of the runs lies, `absolute` and `relative`
judge, and `result` is what they say. docs/requirements.md has the rules.
"""
