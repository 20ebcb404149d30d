"""A sample site and a scripted model, to try the program without the world."""
