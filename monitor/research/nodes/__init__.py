"""The nodes of a research: each asks the model for one thing, and has a fallback of its own."""
