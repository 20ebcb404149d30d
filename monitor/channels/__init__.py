"""Ways by which letters reach people: mail, webhooks, chat services."""
