"""What is published: the table, its columns, its certificate, the owner's links."""
