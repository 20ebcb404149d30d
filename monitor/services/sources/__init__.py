"""monitor.services.sources."""
