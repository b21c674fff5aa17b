"""The site: its settings, pages, build and publication. `build` is the only module here that runs Sphinx."""
