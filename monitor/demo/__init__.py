"""The sample sites, for `monitor demo`, the desk and the tests."""
