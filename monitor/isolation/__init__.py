"""Runs work on untrusted bytes in sandboxed processes that can be killed."""
