"""Published cells as distributions over elementary values."""
