"""``python -m mottle``."""

from mottle.cli import main

main()
