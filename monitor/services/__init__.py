"""monitor.services."""
