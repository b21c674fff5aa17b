"""Folders of runs: their manifests and hosts, the conditions that a manifest states, and the problems of a folder."""
