"""monitor.research."""
