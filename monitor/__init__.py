"""Monitor: watches official sites and briefs the analysts who need to know."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("monitor-briefings")
except PackageNotFoundError:  # run from a checkout that nobody installed
    __version__ = "0.2.0.dev0"
