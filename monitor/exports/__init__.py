"""Documents and tables written as files, one module for each format."""
