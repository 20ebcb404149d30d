"""monitor.jobs."""
