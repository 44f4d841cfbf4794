"""What a release publishes about sensitive values, and how well they are guessed."""
