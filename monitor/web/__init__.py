"""The web part: pages and HTTP API."""
