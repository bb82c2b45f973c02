"""The version of the package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("livegraph")
except PackageNotFoundError:  # run from the sources
    __version__ = "0.0.0+source"

USER_AGENT = f"livegraph-python/{__version__}"
