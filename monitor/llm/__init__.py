"""monitor.llm."""
