"""monitor.briefing."""
