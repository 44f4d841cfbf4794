"""The owner's links between originals and published records, as adversaries are judged by them."""
