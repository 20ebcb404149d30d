"""monitor.dates."""
