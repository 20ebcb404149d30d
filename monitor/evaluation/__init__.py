"""Compares models, and wordings of prompts, on what earlier runs recorded."""
