"""monitor.web.api."""
