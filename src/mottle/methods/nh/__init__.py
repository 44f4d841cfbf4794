"""NH10: non-homogeneous generalization by rings."""
