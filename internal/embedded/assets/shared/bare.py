"""Packages of which only some modules are used."""

import importlib.util
import sys
import types


def import_bare(name):
    """Makes the modules of a package importable without running the package's __init__, and
    returns the package."""
    spec = importlib.util.find_spec(name)
    package = types.ModuleType(name)
    package.__spec__, package.__path__ = spec, list(spec.submodule_search_locations)
    sys.modules[name] = package
    return package


class Hidden:
    """A finder of modules for which a package is not installed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def hide(name):
    """Lets a package appear not to be installed, for libraries that import it if it is. A None in
    sys.modules would do for Python, but compiled modules take it for the package."""
    sys.meta_path.insert(0, Hidden(name))
