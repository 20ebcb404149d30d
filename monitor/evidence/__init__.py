"""What we saw, and whether a claim rests on it."""
