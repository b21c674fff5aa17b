"""What may be published, and what replaces the rest.

Start with `redact`, which redacts a whole dataset. `classes` says of each field whether it may be published, `logs` redacts raw logs line by line
(`native_log` those of our own tool), and `redactor` the single texts. Names are found by `find_names`, with the patterns in `looks`, and collected
in `known_names`; `free_text` masks words that are not known to be public. `settings` is the table ``[privacy]`` of ``site.toml``.
"""
