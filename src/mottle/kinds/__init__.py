"""Kinds of columns, one module each, and the forms in which their cells are published.

A *kind* (number, date, ordered, category, hierarchy, set, prefix) says how values become codes and
what they mean; a *form* (range, set, node, worlds; `mottle.kinds.forms`) is the shape of published
cells. Adding a kind means adding one module here that registers it; nothing else names all kinds.

This package lies below the schema, so that a schema accepts every kind, and imports no Numba when
it is loaded. Layers above pass in what kinds and forms need from them: the originals behind a cell
(`mottle.kinds.forms.base.Preimages`), a database's layout, a query engine's view.
"""
