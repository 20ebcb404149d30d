"""A scripted language model that answers every prompt of the program by rule."""
