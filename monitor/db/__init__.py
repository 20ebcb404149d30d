"""monitor.db."""
