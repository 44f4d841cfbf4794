"""Possible worlds of a release: values drawn jointly, so that pairs of columns and rules hold."""
