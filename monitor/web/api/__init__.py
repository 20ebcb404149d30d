"""The HTTP API: one module an area, JSON only."""
