"""From a url to a Page."""
