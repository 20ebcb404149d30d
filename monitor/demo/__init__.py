"""The sample sites and the scripted model, for `monitor demo`, the desk and the tests."""
