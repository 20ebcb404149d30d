"""The web application: sign-in, pages, HTTP API, feeds and metrics."""
