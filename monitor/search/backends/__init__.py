"""The search backends, one module each, named as in the settings."""
