"""The steps of a diff: match, check, estimate, decide, report."""
