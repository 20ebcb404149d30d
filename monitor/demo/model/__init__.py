"""monitor.demo.model."""
