"""Folders of runs: their manifests, their hosts, the conditions that a manifest states, and the problems of a folder."""
