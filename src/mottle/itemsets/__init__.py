"""Set-valued data: each record is a set of items, with or without a sensitive label."""
