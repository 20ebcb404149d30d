"""Items become a document that people read: selected, ordered, composed, laid out."""
