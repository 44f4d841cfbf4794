"""The adversaries, one module each; each registers itself and works only from its `View`."""
