"""The same decisions for a table that lies in partitions."""
