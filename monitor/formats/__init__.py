"""A neutral document to bytes."""
