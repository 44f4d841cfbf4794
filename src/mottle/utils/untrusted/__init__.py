"""Files that others may have written: read within limits, and checked before they are used."""
