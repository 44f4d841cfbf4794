"""The command line: parse options, call the library, format results; no algorithms."""
