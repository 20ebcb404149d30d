"""The order of importance: by a model, by rule, and after feedback of readers."""
