"""The queries of the database, one class a subject; each method is one short transaction."""
