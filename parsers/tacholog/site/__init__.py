"""The site: from folders of runs to a folder of pages, and from there to published versions.

Start with `build`, which does the whole build in order:

- `output_folder`: is this folder ours? `stamp`: is anything new?
- `whole` makes a new site. `prepare` gives the dataset, redacted; `data` what pages ask of it; `pages` the list of pages. Sphinx makes the prose, and
  collects the `generated_pages`: each is a template and a `page`, on which the template puts `blocks`. `log_pages` shows the logs, line by line.
- Then come the files that are no pages: `downloads`, and the files `for_programs`. `output_folder` moves the new site into its folder, and `stamp`
  declares it finished.

The directives of `tacholog.sphinx` put the same blocks into the pages of other projects. `settings` reads ``site.toml``. `publish` puts a finished
site beside its older versions, and `verification` reads the logs of a site again.
"""
