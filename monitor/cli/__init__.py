"""monitor.cli."""
