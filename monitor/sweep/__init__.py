"""One source, once."""
