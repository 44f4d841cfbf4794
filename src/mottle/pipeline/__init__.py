"""From data to a checked release: in memory, in chunks of a stream, on Spark."""
