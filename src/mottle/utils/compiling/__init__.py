"""Compile kernels once, and in several processes."""
