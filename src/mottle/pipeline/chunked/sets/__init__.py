"""Sets of items in chunks: their input, one chunk of them, and their certificate."""
