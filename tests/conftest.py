"""What all tests share."""

from hypothesis import settings

# How long an example takes says more about the machine than about the program: speed is measured by `monitor bench`.
settings.register_profile("monitor", deadline=None)
settings.load_profile("monitor")
