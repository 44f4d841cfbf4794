"""SQL on a release: parsed by DuckDB, answered with estimates."""
