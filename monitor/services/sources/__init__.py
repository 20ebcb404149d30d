"""The sources that are watched: edited, listed, imported and tried out."""
