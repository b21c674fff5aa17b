"""What is shown as tables. Start with `tables` (the numbers of one series) and `plain` (tables of words)."""
