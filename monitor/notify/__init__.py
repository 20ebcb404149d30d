"""Notifications and the channels that deliver them: mail, webhooks and chat services."""
