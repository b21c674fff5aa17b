"""Log formats, one module each, found by the entry-point group ``tacholog.formats``.

What a format module holds is written down in `tacholog.formats.registry.Format`; `tacholog.formats.rti` is a good example.
"""
