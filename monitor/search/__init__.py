"""monitor.search."""
