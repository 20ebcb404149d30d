"""One source, once: navigate, crawl, summarise, rank, then a look back at earlier items."""
