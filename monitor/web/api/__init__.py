"""The HTTP API: routers and the schemas of what they take and answer."""
