"""Webhooks: who is told of events, what an event says, and how it gets there."""
