"""The default method for sensitive values: blocks of buckets, and a permutation of buckets."""
