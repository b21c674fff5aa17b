"""Tables of a dataset. Start with `results`, which makes the tables of numbers. `tacholog.render.table` makes the tables of words."""
