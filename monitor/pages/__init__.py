"""From a url to a parsed page: how to fetch it, and its text form for a model."""
