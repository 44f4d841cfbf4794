"""The forms of published cells, one module each: range, set of values, node, worlds."""
