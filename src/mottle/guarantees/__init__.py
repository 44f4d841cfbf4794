"""The guarantees of a release: one module each, found by name in `base.GUARANTEES`."""
