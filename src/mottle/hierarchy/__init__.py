"""Generalization hierarchies: the tree, its file formats and its validation."""
