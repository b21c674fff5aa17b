"""The site: from folders of runs to a folder of pages, and from there to published versions.

Start with `build`, which performs the whole build:

- `output_folder` checks that the folder belongs to Tacholog. `stamp` checks whether anything is new.
- `whole` makes a new site. `prepare` returns the redacted dataset, `data` the values that pages derive from it, and `pages` the list of pages. Sphinx
  makes the pages of prose, and collects the `generated_pages`. Each of these is a `page`, on which a template puts `blocks`. `log_pages` shows the
  logs, line by line.
- Then the other files are written: `downloads`, and the files `for_programs`. `output_folder` moves the new site into its folder, and `stamp`
  declares it finished.

The directives of `tacholog.sphinx` put the same blocks into the pages of other projects. `settings` reads ``site.toml``. `publish` adds a finished
site to its older versions, and `verification` reads the logs of a site again.
"""
