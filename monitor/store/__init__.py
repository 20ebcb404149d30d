"""Tables to queries; nothing else touches SQL."""

from monitor.store.database import Store

__all__ = ["Store"]
