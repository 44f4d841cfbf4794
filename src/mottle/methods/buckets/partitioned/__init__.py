"""The decisions of `buckets` for a table that is read region by region."""
