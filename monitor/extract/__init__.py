"""monitor.extract."""
