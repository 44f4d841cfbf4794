"""Makes checked releases from data: in memory, in chunks on one machine, and on Spark."""
