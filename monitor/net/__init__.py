"""The one way out."""
