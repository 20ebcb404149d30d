"""monitor.fetch."""
