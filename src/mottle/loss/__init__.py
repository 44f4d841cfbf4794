"""Information loss: NCP and GCP of tables, measures on graphs, errors of published sets."""
