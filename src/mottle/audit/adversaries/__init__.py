"""One file per adversary; each registers itself and sees only what that adversary sees."""
