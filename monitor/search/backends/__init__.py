"""The search services, one module each; all behind `ports.SearchBackend`."""
