"""When and where things run."""
