"""Expressions over the columns of a record: OR, CASE, arithmetic and code lists, with bounds."""
