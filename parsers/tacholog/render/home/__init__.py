"""The home page: a figure of small panels and a table of choices for each machine."""
