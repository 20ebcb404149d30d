"""The services for assistants, over the Model Context Protocol."""
