"""What a release promises: one module per guarantee, found by name in `base.GUARANTEES`."""
