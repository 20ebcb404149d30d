"""One document, many places: which items are one document, and which explains which."""

from monitor.briefing.grouping.clusters import Group, group

__all__ = ["Group", "group"]
