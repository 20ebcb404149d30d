"""monitor.search.backends."""
