"""HET: heterogeneous generalization that protects sensitive values."""
