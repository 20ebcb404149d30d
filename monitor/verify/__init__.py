"""monitor.verify."""
