"""monitor.fetch.browser."""
