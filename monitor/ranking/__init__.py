"""monitor.ranking."""
