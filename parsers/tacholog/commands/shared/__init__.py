"""What several commands share: how results, plans, progress and complaints are printed, and how paths are checked."""
