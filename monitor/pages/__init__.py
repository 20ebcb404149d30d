"""monitor.pages."""
