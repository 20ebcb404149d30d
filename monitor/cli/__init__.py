"""The console: one module per command group; parses, calls, prints."""
