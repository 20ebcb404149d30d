"""Items to something that people read."""
