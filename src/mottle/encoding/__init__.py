"""Arrow columns as small integer codes and their domains."""
