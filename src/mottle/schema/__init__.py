"""The schema of a table: roles and kinds of its columns, and the file `mottle.toml`."""
