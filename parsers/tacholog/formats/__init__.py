"""Log formats, one module each, found by the entry-point group ``tacholog.formats``.

`tacholog.formats.registry.Format` describes what a format module must contain; `tacholog.formats.rti` is a good example.
"""
