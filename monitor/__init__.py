"""Monitor: watches official sites and briefs the analysts who need to know."""

__version__ = "0.1.0"
