"""What may be published, and what replaces everything else.

Start with `redact`, which redacts a whole dataset. `classes` defines for each field whether it may be published, `logs` redacts raw logs line by line
(`native_log` the logs of our own tool), and `redactor` single texts. `find_names` finds names, `known_names` collects them, and `free_text` masks
words that are not known to be public. `settings` is the table ``[privacy]`` of ``site.toml``.
"""
