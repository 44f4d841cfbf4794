"""What a release promises: k-anonymity, l-diversity, beta-likeness, caps."""
