"""monitor.search.bundles."""
