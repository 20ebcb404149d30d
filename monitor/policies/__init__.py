"""Policies: what documents say of themselves, which ones belong together, and what a change means."""
