"""Checks statements against what they cite: figures, dates, names, and injected instructions."""
