"""The default for sensitive values: blocks in buckets, and a permutation of buckets."""
