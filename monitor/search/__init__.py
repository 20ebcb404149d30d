"""web.search: one tool, many backends (contracts, section 5)."""
