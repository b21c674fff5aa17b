"""The site: from folders of runs to a folder of pages, and from there to published versions.

Start with `build`, which does the whole build in order: `output_folder` (is this folder ours?), `inputs` (is anything new?), then `whole`: `prepare`
(the dataset, redacted), `data` (what pages ask of it), `pages` (which pages there are), and Sphinx, which makes the prose and collects `made_pages`:
each is a template and a `page` on which it puts `blocks`. Large `parts` of pages get files of their own. Then come the files that are no pages, such
as `downloads`, and at last `stamp`. The directives of `tacholog.sphinx` put the same blocks into the pages of other projects. `settings` reads
``site.toml``.
`publish` puts a finished site beside its older versions, and `switch` makes that one step.
"""
