"""How good a release is: query workloads, learning tasks, comparison with the original."""
