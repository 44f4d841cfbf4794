"""Projects and scripts of other tools: what they say about a table, as mottle writes it."""
