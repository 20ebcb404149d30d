"""Settings: their model, how they are loaded, and what the Settings page stored."""
