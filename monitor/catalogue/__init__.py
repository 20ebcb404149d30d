"""The catalogue of public bodies whose sites can be watched: its facts, and how one of them is found."""
