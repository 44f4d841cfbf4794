"""Options that several commands have, each declared once, by the panel of --help they stand in."""
