"""monitor.db.queries."""
