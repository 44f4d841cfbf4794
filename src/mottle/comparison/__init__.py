"""Methods and guarantees compared on the user's own table."""
