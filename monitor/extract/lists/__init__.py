"""monitor.extract.lists."""
