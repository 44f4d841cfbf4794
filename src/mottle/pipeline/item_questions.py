"""What a release answers about the items of its sets: the methods of `mottle.Release` for these."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from mottle.queries import items as questions
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate


class ItemQuestions:
    """Questions about a column of sets."""

    def queries(self, fit: str = "fitted") -> Queries:
        """Prepare for queries."""
        raise NotImplementedError

    def items(self, column: str | None = None, *, fit: str = "fitted") -> pa.Table:
        """List all items with the estimated number of sets that hold them.

        Parameters
        ----------
        column : str, optional
            The column of sets, if there are several.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pyarrow.Table
            ``item``, ``expected``, ``certain``, ``possible``, ``error`` and ``base_sets``: how many
            base sets hold it.

        Examples
        --------
        >>> import mottle
        >>> release = mottle.anonymize_sets([{"tea"}, {"tea", "rum"}], mottle.KAnonymity(2), seed=1)
        >>> release.items().select(["item", "certain", "possible", "base_sets"]).to_pylist()[0]
        {'item': 'rum', 'certain': 1.0, 'possible': 1.0, 'base_sets': 0}
        """
        return questions.item_table(self.queries(fit), column)

    def count_items(
        self,
        items: Iterable[object],
        *,
        without: Iterable[object] = (),
        column: str | None = None,
        fit: str = "fitted",
    ) -> Estimate:
        """Estimate how many sets hold all of some items and none of others.

        Parameters
        ----------
        items : iterable of str
            Items that have to be held.
        without : iterable of str
            Items that must not be held.
        column : str, optional
            The column of sets, if there are several.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        Estimate
            Expected value, bounds that hold for certain, and standard error.

        Examples
        --------
        >>> import mottle
        >>> release = mottle.anonymize_sets([{"tea"}, {"tea", "rum"}], mottle.KAnonymity(2), seed=1)
        >>> release.count_items(["tea"], without=["rum"])
        Estimate(expected=1.0, certain=1.0, possible=1.0, error=0.0)
        """
        return questions.count_items(self.queries(fit), items, without, column)

    def frequent_itemsets(
        self, support: float, *, size: int = 3, column: str | None = None, fit: str = "fitted"
    ) -> pa.Table:
        """Find sets of items that are expected in at least a given share of the records.

        Parameters
        ----------
        support : float
            The smallest share of the records, above 0 and at most 1.
        size : int
            The largest number of items, from 1 to 12.
        column : str, optional
            The column of sets, if there are several.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pyarrow.Table
            ``items`` and ``support`` with its bounds and error, as shares of the records.

        Raises
        ------
        UsageError
            An option is not valid, or too many sets may be frequent.

        Examples
        --------
        >>> import mottle
        >>> release = mottle.anonymize_sets([{"tea"}, {"tea", "rum"}], mottle.KAnonymity(2), seed=1)
        >>> release.frequent_itemsets(0.9).to_pylist()[0]["items"]
        ['tea']
        """
        return questions.frequent_itemsets(self.queries(fit), support, size, column)

    def association_rules(
        self,
        support: float,
        confidence: float,
        *,
        size: int = 3,
        column: str | None = None,
        fit: str = "fitted",
    ) -> pa.Table:
        """Find rules "who holds these items also holds that one", with bounds.

        Parameters
        ----------
        support : float
            The smallest expected share of the records that hold all items of a rule.
        confidence : float
            The smallest expected share, among those who hold the first items, of those who hold
            the last one too.
        size : int
            The largest number of items of a rule, from 2 to 12.
        column : str, optional
            The column of sets, if there are several.
        fit : {"fitted", "uniform"}
            As for `count`.

        Returns
        -------
        pyarrow.Table
            ``if``, ``then``, ``support`` and ``confidence`` with their bounds and errors, ``lift``.

        Raises
        ------
        UsageError
            An option is not valid, or too many sets may be frequent.

        Examples
        --------
        >>> import mottle
        >>> release = mottle.anonymize_sets([{"tea"}, {"tea", "rum"}], mottle.KAnonymity(2), seed=1)
        >>> release.association_rules(0.5, 0.9).to_pylist()[0]["then"]
        'tea'
        """
        return questions.association_rules(self.queries(fit), support, confidence, size, column)
