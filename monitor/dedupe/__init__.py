"""One document in many places: which items are the same, and which explains which."""
