"""monitor.web."""
