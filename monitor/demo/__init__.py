"""monitor.demo."""
