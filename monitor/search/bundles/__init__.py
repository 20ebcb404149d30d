"""Bundles of search results: built, scored, kept as files and read under a cursor."""
