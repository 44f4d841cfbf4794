"""Information loss: NCP and GCP, measures on graphs, errors of sets."""
