"""Turns bytes into values, without network or database: pages, lists, articles, feeds and documents."""
