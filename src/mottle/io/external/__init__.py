"""Reading releases that other tools wrote."""
