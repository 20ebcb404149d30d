"""monitor.notify."""
