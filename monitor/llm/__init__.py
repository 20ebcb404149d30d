"""The language model: client, answers, usage."""
