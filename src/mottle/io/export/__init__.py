"""Releases as files of other programs: workbooks, SPSS, Stata.

A cell is what it is in ``release.csv``. Ranges of numbers and days are two columns, so that they
can be calculated with. In SPSS and Stata other generalized cells and categories are codes with
value labels, whose text is the cell.
"""
