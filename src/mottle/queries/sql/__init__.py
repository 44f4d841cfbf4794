"""SQL on a release: parsed by DuckDB, answered by estimates."""
