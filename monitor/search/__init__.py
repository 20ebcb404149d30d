"""web.search and web.fetch: the search backends, their merging, and the bundles of results."""
