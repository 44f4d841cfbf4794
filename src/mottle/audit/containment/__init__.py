"""Which originals fit the cells of which published records."""
