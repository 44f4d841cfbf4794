"""HET: heterogeneous generalization with sensitive values in mind."""
