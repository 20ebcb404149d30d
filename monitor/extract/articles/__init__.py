"""monitor.extract.articles."""
