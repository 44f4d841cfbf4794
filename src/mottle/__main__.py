"""``python -m mottle``."""

from mottle.cli.app import main

main()
