"""monitor.config."""
