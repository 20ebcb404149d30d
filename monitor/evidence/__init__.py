"""monitor.evidence."""
