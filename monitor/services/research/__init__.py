"""monitor.services.research."""
