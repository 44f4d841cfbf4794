"""HKA15: Greedy, SortGreedy and Hungarian matching."""
