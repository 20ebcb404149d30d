"""The pages: routers that render templates, and the assets that browsers load."""
