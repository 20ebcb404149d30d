"""monitor.web.ui."""
