"""Words for people: messages as codes, and the one catalogue in which both languages have their words."""
