"""monitor.exports."""
