"""The use cases, by name: what console, web and work call."""
