"""The use cases, one module for each subject; every face calls them."""
