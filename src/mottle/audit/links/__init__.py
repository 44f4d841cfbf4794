"""The owner's links between originals and published records, by which adversaries are judged."""
