"""monitor.sweep."""
