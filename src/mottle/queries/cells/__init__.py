"""Published cells as distributions over the atoms of their column."""
