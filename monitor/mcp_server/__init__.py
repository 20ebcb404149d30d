"""monitor.mcp_server."""
