"""monitor.dedupe."""
