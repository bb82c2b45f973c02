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
