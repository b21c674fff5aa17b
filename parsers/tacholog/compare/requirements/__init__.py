"""Requirements: limits that a team sets for its own numbers, such as "p99 at 1 KiB stays under 5 us", and whether runs show that they hold.

`file` reads them, `judge` finds and judges the rows that each of them names, and `result` holds the verdicts. docs/requirements.md has the rules.
"""
