"""The generalization graph: which originals a published record may stand for."""
