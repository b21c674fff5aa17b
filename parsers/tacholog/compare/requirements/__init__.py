"""Requirements: limits that a team sets for its own numbers, such as "p99 at 1 KiB stays under 5 us", and whether runs show that they hold.

`file` reads them, `judge` finds the rows that each names, `absolute` and `relative` judge these, `interval` says within which range the median of the
runs lies, and `result` is what they say. docs/requirements.md has the rules.
"""
