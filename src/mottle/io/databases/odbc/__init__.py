"""What databases have in common that are reached through ODBC: addresses, connections, reading."""
