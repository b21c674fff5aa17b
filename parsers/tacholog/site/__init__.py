"""The site: from folders of runs to a folder of pages, and from there to published versions.

Start with the module `build`, which performs the whole build with the help of these modules:

- `output_folder` checks that the folder belongs to Tacholog. `stamp` checks whether anything is new.
- `whole` makes a new site. The module `prepare` returns the redacted dataset. The module `data` returns the values that pages derive from this
  dataset. The module `pages` returns the list of pages.
- Sphinx makes the pages of prose. It also collects the pages from the module `generated_pages`. Each of these pages is an object of the module
  `page`. A template fills this object with blocks from the module `blocks`. The module `log_pages` shows the logs, line by line.
- The modules `downloads` and `for_programs` write the other files. Then `output_folder` moves the new site into its folder, and `stamp` declares the
  site finished.

The directives of `tacholog.sphinx` put the same blocks into the pages of other projects. `settings` reads ``site.toml``. `publish` adds a finished
site to its older versions, and `verification` reads the logs of a site again.
"""
