"""What was seen: records of responses, the passages in them, and how pages changed."""
