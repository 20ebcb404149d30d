"""monitor.db.tables."""
