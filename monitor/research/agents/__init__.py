"""The four agents of a research, each behind one `run(query, context, options, on_token)`."""
