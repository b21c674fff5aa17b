"""The site: from folders of runs to a folder of pages, and from there to published versions.

Start with `build`, which does the whole build in order: `output_folder` (is this folder ours?), `unchanged` (what has changed?), `prepare` (the
dataset, redacted), `pages` (which pages there are), `sources` (the folder that Sphinx reads), then Sphinx with the directives of `tacholog.sphinx`,
then what `output` and `downloads` write beside Sphinx, and at last `stamp`. The directives use `logpage`, `offered`, `script` and `bundle`, and the
dataset that `shown` keeps open. `settings` reads ``site.toml``.
`publish` puts a finished site beside its older versions, and `switch` makes that one step.
"""
