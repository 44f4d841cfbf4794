"""What each column is: roles, kinds, and the file `mottle.toml`."""
