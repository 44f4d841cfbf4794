"""Sets of items: how likely uncertain items are held, and between which bounds."""
